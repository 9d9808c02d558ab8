"""The versions of the runners that configured servers are started with, as `doctor` shows them."""

import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from switchboard.children.schema import ServerEntry
from switchboard.children.starting.runners import is_python, name_of
from switchboard.procs.trial import trial
from switchkit.commands import resolved_command, search_path

# What each runner needs beside itself: most servers complain of the version of that.
_BESIDE = {
    **dict.fromkeys(("npx", "npm", "pnpm", "pnpx", "yarn", "corepack"), ("node",)),
    "uvx": ("uv",),
}
_KNOWN = frozenset((*_BESIDE, "node", "bun", "bunx", "deno", "uv", "pipx", "docker", "podman"))
_VERSION = re.compile(r"(?<!\d)\d{1,9}(?:\.\d{1,9}){1,3}")
_PATIENCE_S = 10.0
_NOT_FOUND = "not found"


def runner_versions(servers: Iterable[ServerEntry], environ: Mapping[str, str]) -> dict[str, str]:
    """The version of each runner that a server names; what does not answer says nothing."""
    names: dict[str, None] = {}
    for entry in servers:
        for word in (entry.command, *entry.args) if entry.transport == "stdio" else ():
            name = name_of(word)
            if name in _KNOWN or (word == entry.command and is_python(word)):
                names.update(dict.fromkeys((*_BESIDE.get(name, ()), name)))
    if not names:
        return {}
    with ThreadPoolExecutor(len(names)) as side_by_side:
        found = side_by_side.map(partial(_version, environ=environ), names)
        return {name: version for name, version in zip(names, found, strict=True) if version}


def _version(name: str, environ: Mapping[str, str]) -> str:
    try:
        program = resolved_command(name, cwd="/", path=search_path(environ.get("PATH", "")))
    except OSError:
        return _NOT_FOUND
    try:
        told = trial((program, "--version"), timeout_s=_PATIENCE_S, env=environ)
    except OSError:
        return ""
    version = _VERSION.search(told.stdout)
    return version[0] if version is not None else ""
