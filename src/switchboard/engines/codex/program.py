"""Which Codex is started: the native program, its version, and whether that version will do."""

import os
import platform
import re
import shutil
from collections.abc import Mapping

from msgspec import Struct

from switchboard.core.faults import Fault
from switchboard.core.privacy.secrets import KnownSecrets
from switchboard.procs.run import ProcessRun
from switchboard.procs.spawn import SpawnSpec
from switchkit.commands import search_path
from switchkit.platform.paths import true_path
from switchkit.reaper_client import Reaper

# The oldest version whose app-server the tests have driven, and the newest.
OLDEST = (0, 153, 4)
NEWEST_TESTED = (0, 166, 0)
_ASK_S = 20.0
_TRIPLES = {
    ("Linux", "x86_64"): ("linux-x64", "x86_64-unknown-linux-musl"),
    ("Linux", "aarch64"): ("linux-arm64", "aarch64-unknown-linux-musl"),
    ("Darwin", "x86_64"): ("darwin-x64", "x86_64-apple-darwin"),
    ("Darwin", "arm64"): ("darwin-arm64", "aarch64-apple-darwin"),
}


class CodexProgram(Struct, frozen=True, kw_only=True):
    """A program that was found."""

    path: str
    # Where Codex keeps helpers that its launcher would put on the search path; may be empty.
    helpers: str = ""


def find_program(wanted: str, env: Mapping[str, str]) -> CodexProgram | None:
    """The Codex that the user named, else the one on the search path. Reads the disk.

    The npm package brings a launcher in JavaScript. Where Node cannot become another program it
    stays as the parent, and killing it leaves Codex and all its shells running; so what it would
    start is started directly.
    """
    path = search_path(env.get("PATH", os.defpath)) or os.defpath
    found = shutil.which(os.path.expanduser(wanted or "codex"), path=path)
    if found is None:
        return None
    real = true_path(found)
    if not real.endswith(".js"):
        return _native(real)
    names = _TRIPLES.get((platform.system(), platform.machine()))
    if names is None:
        return CodexProgram(path=found)
    package, triple = names
    folder = os.path.dirname(real)
    while True:
        for root in (f"{folder}/node_modules/@openai/codex-{package}", folder):
            for place in (
                f"{root}/vendor/{triple}/bin/codex",
                f"{root}/vendor/{triple}/codex/codex",
            ):
                if os.access(place, os.X_OK):
                    return _native(place)
        above = os.path.dirname(folder)
        if above == folder:
            return CodexProgram(path=found)
        folder = above


def _native(path: str) -> CodexProgram:
    root = os.path.dirname(os.path.dirname(path))
    places = (f"{root}/codex-path", f"{root}/path")
    return CodexProgram(path=path, helpers=next(filter(os.path.isdir, places), ""))


def program_state(program: CodexProgram) -> tuple[str, int, int, int]:
    """What is another once the program is: its version, too, as long as nobody forges times."""
    found = os.stat(program.path)
    return program.path, found.st_ino, found.st_mtime_ns, found.st_size


async def ask_version(program: CodexProgram, env: Mapping[str, str], reaper: Reaper) -> str:
    """What it says of its version; empty when it says none. Starts it for that."""
    spec = SpawnSpec(argv=(program.path, "--version"), cwd="/", env=env)
    try:
        ended = await ProcessRun(spec, KnownSecrets()).to_end(reaper=reaper, start_s=_ASK_S)
    except Fault:
        return ""
    found = re.search(r"\b\d+\.\d+\.\d+\b", ended.stdout)
    return found[0] if found else ""


def parts(version: str) -> tuple[int, ...]:
    """A version as numbers that compare."""
    return tuple(int(part) for part in version.split("."))
