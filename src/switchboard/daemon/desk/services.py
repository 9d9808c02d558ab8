"""Services of the local runtime for the page, told and changed by its own program."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterable

import msgspec
from msgspec import Raw, Struct

from switchboard.config.environ import process_environ
from switchboard.control.answers import ServicesAnswer
from switchboard.control.requests import ServicesRequest
from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.desk.reports import ServedFolder, report_in
from switchboard.procs.trial import trial

# What runs something that a file of the project says.
STARTING = frozenset({"up", "restart"})
_FILE = "switchyard.toml"
_LIMIT_S = 120.0
_LINES = 300
_FRESH_S = 1.0


class _Row(Struct, frozen=True):
    root: str = ""


class _Listed(Struct, frozen=True):
    services: tuple[_Row, ...] = ()


class LocalServices:
    """The local runtime of one user, as its program shows it."""

    def __init__(self, folders: Callable[[], Iterable[ServedFolder]]) -> None:
        self._folders = folders
        self._turn = asyncio.Lock()
        # What was listed last, and when: many pages look at the same.
        self._listed: tuple[float, Raw] = (0.0, Raw(b"{}"))

    async def answer(self, request: ServicesRequest) -> ServicesAnswer:
        """What it tells, or did. Raises a fault when it knows no such project."""
        listed = await self._list()
        roots = await asyncio.to_thread(self._roots)
        if request.action == "list":
            return ServicesAnswer(report=listed, roots=roots)
        known = {each.root for each in msgspec.json.decode(listed, type=_Listed).services}
        if request.root not in known.union(roots):
            raise Fault(
                FaultCode.NOT_FOUND, "unknown-workspace", "no client works in this folder now"
            )
        report = await self._run(*_words(request), root=request.root)
        self._listed = (0.0, listed)
        return ServicesAnswer(report=report)

    async def _list(self) -> Raw:
        at, listed = self._listed
        if time.monotonic() - at > _FRESH_S:
            listed = await self._run("ps")
            self._listed = (time.monotonic(), listed)
        return listed

    async def _run(self, *words: str, root: str = "") -> Raw:
        # Where all are listed, the runtime is the one that the clients know.
        known = (each.environ for each in self._folders() if root in {"", each.workspace})
        env = {**process_environ(), **dict(next(known, ()))}
        command = [sys.executable, "-m", "switchyard", *words, "--json"]
        command += ["--cwd", root] if root else []
        async with self._turn:
            told = await asyncio.to_thread(trial, command, timeout_s=_LIMIT_S, env=env)
        return report_in(told, f"switchyard {words[0]}")

    def _roots(self) -> tuple[str, ...]:
        found = {each.workspace for each in self._folders()}
        return tuple(sorted(each for each in found if os.path.isfile(f"{each}/{_FILE}")))


def _words(request: ServicesRequest) -> list[str]:
    """The command line; a name that looks like an option is none."""
    if request.branch.startswith("-") or request.service.startswith("-"):
        raise Fault(FaultCode.INVALID_ARGUMENT, "name-refused", "no name begins with `-`")
    if request.action == "about":
        return ["doctor"]
    if request.action == "logs":
        names = [request.service, request.branch] if request.service else []
        return ["logs", *names, "--lines", str(_LINES)]
    # A service is named after its branch, and nothing is the branch of the folder.
    names = (request.branch, request.service) if request.branch else ()
    words = [request.action, *filter(None, names)]
    return [*words, "--no-wait"] if request.action == "up" else words
