"""Reports of commands for the page, made by the commands themselves.

What a command reads and counts for a person in a terminal is the same for one at the page. It runs
in a process of its own: nothing of it is loaded here, and it takes no time of anybody's calls.
"""

import asyncio
import sys
from collections.abc import Callable, Iterable

import msgspec
from msgspec import Raw, Struct

from switchboard.config.environ import process_environ
from switchboard.control.answers import ReportAnswer
from switchboard.control.requests import ReportRequest
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.tasks import TaskSet
from switchboard.procs.trial import Trial, trial

_LIMIT_S = 60.0
_COMMANDS: dict[str, tuple[str, ...]] = {
    "usage": ("usage",),
    "config-show": ("config", "show"),
    "config-check": ("config", "check"),
    "doctor": ("doctor",),
    "trust": ("trust",),
}


class ServedFolder(Struct, frozen=True, kw_only=True):
    """A folder that clients work in, and what its configuration hangs on."""

    workspace: str
    config: str
    environ: frozenset[tuple[str, str]]


class _Head(Struct, frozen=True):
    schema: str


class CommandReports:
    """The reports of one home. Whoever asks while one is made gets the same."""

    def __init__(self, home: str, folders: Callable[[], Iterable[ServedFolder]]) -> None:
        self._home = home
        self._folders = folders
        self._tasks = TaskSet()
        self._under_way: dict[ReportRequest, asyncio.Task[ReportAnswer]] = {}
        # One after the other: they are looked at, and not waited for by a program.
        self._turn = asyncio.Lock()

    async def answer(self, request: ReportRequest) -> ReportAnswer:
        """The report on a folder that is served. Raises a fault."""
        named = (each for each in self._folders() if each.workspace == request.workspace)
        folder = next(named, None)
        if folder is None:
            raise Fault(
                FaultCode.NOT_FOUND, "unknown-workspace", "no client works in this folder now"
            )
        task = self._under_way.get(request)
        if task is None:
            task = self._under_way[request] = self._tasks.start(self._made(request, folder))
            task.add_done_callback(lambda _: self._under_way.pop(request, None))
        return await asyncio.shield(task)

    async def _made(self, request: ReportRequest, folder: ServedFolder) -> ReportAnswer:
        words = [*_COMMANDS[request.report], "--json", "--workspace", folder.workspace]
        words += ["--config", folder.config] if folder.config else []
        if request.report == "usage":
            words += ["--days", str(request.days)]
        command = [sys.executable, "-m", "switchboard", *words]
        env = {**process_environ(), **dict(folder.environ), "SWITCHBOARD_HOME": self._home}
        async with self._turn:
            told = await asyncio.to_thread(trial, command, timeout_s=_LIMIT_S, env=env)
        return ReportAnswer(report=report_in(told, f"switchboard {words[0]}"))


def report_in(told: Trial, command: str) -> Raw:
    """What a command printed as its report. Raises a fault."""
    text = told.stdout.encode()
    try:
        msgspec.json.decode(text, type=_Head)
    except msgspec.MsgspecError:
        raise Fault(
            FaultCode.UNAVAILABLE,
            "no-report",
            f"`{command}` said nothing that can be shown",
            hint=command,
            private=told.stderr,
        ) from None
    return Raw(text)
