"""What of a session's environment a server could see, and what of that keeps two sessions apart.

A pool is given exactly what `seen_by` says, so that nothing else can make a difference to a child.
"""

import os
from collections.abc import Mapping

from switchboard.children.accounts.acting_for import OF_THE_USER
from switchboard.children.environment import searched, usual_names
from switchboard.children.http.proxy import PROXY_NAMES
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.texts import references_of
from switchboard.children.starting.runners import Run, runs
from switchkit.commands import resolved_command

# Two sessions that agree in it may use one process of a server. Names, and what counts of a value.
Likeness = frozenset[tuple[str, str]]

# By these we ourselves find the home, its vault and whom to believe on the way to a server.
_OURS = (*OF_THE_USER, "SWITCHBOARD_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR")
_VAULT_TOKEN = "VAULT_TOKEN"  # noqa: S105 - the name of a variable

# Of a search path counts what is found by it: what an entry names, and what that is run by. Every
# host adds folders for itself, others with each version of it, and no list of those lasts.
_NODE = ("node", "npm", "npx", "pnpm", "yarn", "bun", "deno")
_PYTHON = ("python", "python3", "pip", "pipx", "uv", "uvx")
_STARTED: dict[Run, tuple[str, ...]] = {
    "nothing": (),
    "node": _NODE,
    "python": _PYTHON,
    # A shell, or what reads from a file what to do.
    "anything": (
        *("sh", "bash", "env", "git", "gh", "make", "rg", "ssh"),
        *_NODE,
        *_PYTHON,
        *("cargo", "dotnet", "go", "java", "php", "ruby"),
        *("docker", "kubectl", "podman", "chromium", "google-chrome"),
    ),
}
# Longer ones are no names of files.
_LONGEST = 255
# Of the first line of a script.
_LINE_BYTES = 256


def seen_by(entry: ServerEntry, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a server is given, or that decide how it is started or reached."""
    if entry.transport == "stdio" and entry.inherit_env:
        return dict(environ)
    names = {*_OURS}
    if entry.transport == "stdio":
        # What the entry sets itself is never taken from a session. Nobody sees its terminal either.
        own = {*entry.env, *entry.secret_env, "TERM"}
        names.update(usual_names(entry, environ) - own)
        if entry.sandbox_profile != "none":
            # The folders of programs are opened to it, whatever its own search path is.
            # And these decide what is hidden from it.
            names.update(("PATH", "AGH_HOME"))
    if entry.transport != "stdio" or entry.egress:
        names.update(PROXY_NAMES)
    for reference in references_of(entry):
        kind, _, name = reference.partition(":")
        names.add(name if kind == "env" else _VAULT_TOKEN)
    return {name: environ[name] for name in names if name in environ}


class Likenesses:
    """Tells what of environments counts. Looks each program up once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], str] = {}

    def of(self, entry: ServerEntry, seen: Mapping[str, str]) -> Likeness:
        """What two sessions have to agree in for this server. `seen` is what it sees of one."""
        pairs = dict(seen)
        if "PATH" in pairs:
            path = searched(entry.env.get("PATH") or pairs["PATH"], entry.apart_from)
            cwd = entry.cwd or os.sep
            words = {entry.command, *entry.args}
            words |= {name for each in words for name in _STARTED[runs(each)]}
            programs = [self._program(each, cwd, path) for each in sorted(words)]
            programs.append(self._interpreter(entry.command, cwd, path))
            pairs["PATH"] = os.pathsep.join(programs)
        return frozenset(pairs.items())

    def _program(self, word: str, cwd: str, path: str) -> str:
        """The program that a word names, if it does."""
        if os.sep in word or len(word) > _LONGEST:
            return ""
        key = word, cwd, path
        if key not in self._found:
            self._found[key] = _resolved(word, cwd, path)
        return self._found[key]

    def _interpreter(self, command: str, cwd: str, path: str) -> str:
        """The program that a script is run by, where its first line leaves that to the path."""
        script = _resolved(command, cwd, path)
        return self._program(_named_interpreter(script), cwd, path) if script else ""


def _resolved(command: str, cwd: str, path: str) -> str:
    try:
        return resolved_command(command, cwd=cwd, path=path)
    except (OSError, ValueError):
        return ""


def _named_interpreter(script: str) -> str:
    """What stands behind `env` in the first line; empty for anything else."""
    try:
        handle = os.open(script, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        line = os.read(handle, _LINE_BYTES).partition(b"\n")[0]
    except OSError:
        return ""
    finally:
        os.close(handle)
    program, *words = os.fsdecode(line.removeprefix(b"#!")).split() or ("",)
    if not line.startswith(b"#!") or os.path.basename(program) != "env":
        return ""
    return next((each for each in words if not each.startswith("-") and "=" not in each), "")


def differing(one: Likeness, other: Likeness) -> tuple[str, ...]:
    """The names of the variables that two sessions do not agree in."""
    return tuple(sorted({name for name, _ in one ^ other}))
