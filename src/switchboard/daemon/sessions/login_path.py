"""The search path that a person has at a terminal, for hosts that were started without it.

A host that a desktop started knows few folders. The login shell is asked at most once for a home,
and only when a program was not found; what it says only adds folders at the end.
"""

import asyncio
import os
import pwd
from collections.abc import Iterable, Mapping

from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault
from switchboard.core.privacy.secrets import NO_SECRETS
from switchkit.commands import resolved_command, search_path
from switchkit.reaper_client import Reaper

# A client waits for its board no longer than this; who comes later has what was said since.
_WAIT_S = 2.0
_LONGEST_S = 15.0
_MARK = "--switchboard-path--"
_KEPT = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR")
_PLAIN_SHELL = "/bin/sh"
# Those of accounts that nobody logs in to.
_NO_SHELLS = frozenset({"false", "nologin", "true"})


def login_shell() -> str:
    """The shell of the account, as the system has it.

    Not by `SHELL`: a client takes that from files of the folder that it was opened in, too.
    """
    try:
        shell = pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:
        return _PLAIN_SHELL
    is_one = os.path.isabs(shell) and os.access(shell, os.X_OK)
    return shell if is_one and os.path.basename(shell) not in _NO_SHELLS else _PLAIN_SHELL


class LoginPath:
    """Asks the login shell, once for each shell and home."""

    def __init__(self, reaper: Reaper) -> None:
        self._reaper = reaper
        self._asked: dict[tuple[str, str], asyncio.Task[str]] = {}

    async def longer(self, servers: Iterable[ServerEntry], environ: Mapping[str, str]) -> str:
        """The search path of an environment, with more at its end where a program is missing."""
        path = environ.get("PATH", "")
        if not any(_is_missing(entry, path) for entry in servers):
            return path
        shell = login_shell()
        key = shell, environ.get("HOME", "")
        if key not in self._asked:
            self._asked[key] = asyncio.ensure_future(self._ask(shell, environ))
        asking = self._asked[key]
        await asyncio.wait({asking}, timeout=_WAIT_S)
        if not asking.done() or asking.cancelled():
            return path
        folders = dict.fromkeys(filter(None, path.split(os.pathsep)))
        folders.update(dict.fromkeys(filter(None, asking.result().split(os.pathsep))))
        return os.pathsep.join(folders)

    async def _ask(self, shell: str, environ: Mapping[str, str]) -> str:
        # Few hosts are started without a search path, and every client waits for what is loaded.
        from switchboard.procs.run import ProcessRun  # noqa: PLC0415
        from switchboard.procs.spawn import SpawnSpec  # noqa: PLC0415

        # Interactive: that is where most people's tools put their folders into the path.
        script = f"printf '%s' \"{_MARK}$PATH{_MARK}\""
        spec = SpawnSpec(
            argv=(shell, "-i", "-l", "-c", script),
            cwd=environ.get("HOME") or "/",
            env={
                **{name: environ[name] for name in _KEPT if name in environ},
                "SHELL": shell,
                "PATH": os.defpath,
                "TERM": "dumb",
            },
        )
        try:
            async with asyncio.timeout(_LONGEST_S):
                run = ProcessRun(spec, NO_SECRETS)
                end = await run.to_end(reaper=self._reaper, start_s=_LONGEST_S)
        except (Fault, OSError, TimeoutError):
            return ""
        # Its files may print whatever they like before.
        _, _, said = end.stdout.partition(_MARK)
        path, mark, _ = said.partition(_MARK)
        return search_path(path) if mark else ""

    async def aclose(self) -> None:
        """End a shell that still thinks."""
        for each in self._asked.values():
            each.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)


def _is_missing(entry: ServerEntry, path: str) -> bool:
    """Whether a server wants a program by its name alone, and there is none of that name."""
    if entry.transport != "stdio" or os.sep in entry.command or "PATH" in entry.env:
        return False
    try:
        resolved_command(entry.command, cwd="/", path=path)
    except OSError:
        return True
    return False
