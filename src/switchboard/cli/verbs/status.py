"""`switchboard status`: who is connected to the daemon, and what runs behind it."""

from collections.abc import Iterator, Sequence

import msgspec

from switchboard import __version__
from switchboard.cli.render import columns, hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.auth.login_table import login_rows
from switchboard.control.client import DaemonClient, draining_daemons, running_daemon
from switchboard.control.requests import StatusRequest
from switchboard.control.status import (
    ChildStatus,
    DaemonStatus,
    RunStatus,
    SessionStatus,
    little_known,
    read_status,
)
from switchboard.core.faults import Fault
from switchboard.ipc.paths import places_from
from switchboard.ipc.protocol import ABI
from switchkit.cli.columns import counted
from switchkit.cli.style import Style
from switchkit.cli.usage import Usage

USAGE = Usage(
    verb="status",
    summary="Show the daemon: its sessions, its boards, and the children behind them.",
    details="Without a daemon it says so; the next `switchboard mcp` starts one.",
)

_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 86400
_MB = 1024 * 1024
_ERROR_CHARS = 60


class StatusReport(Report, frozen=True, kw_only=True, tag="switchboard.status/1"):
    """The daemon of this home, if one runs, and those that end with their last client."""

    is_running: bool
    home: str
    daemon: DaemonStatus | None = None
    draining: tuple[DaemonStatus, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        is_first = True
        for daemon in self._daemons:
            if not is_first:
                yield ""
            is_first = False
            yield from _daemon_lines(daemon, style)

    def notes(self, style: Style) -> Iterator[str]:
        if self.daemon is None:
            yield "no daemon takes new clients" if self.draining else "no daemon is running"
            yield hint(style, "switchboard daemon start")
        elif self.daemon.abi != ABI:
            yield (
                f"the daemon is of {_named(self.daemon.version)}, and this is {__version__}:"
                " the next client gets a daemon of its own, and this one ends with its last"
            )
            yield hint(style, "switchboard daemon restart")
        runs = [run for daemon in self._daemons for run in daemon.runs]
        asking = sum(run.state == "asking" for run in runs)
        if asking:
            yield f"{counted(asking, 'run')} wait{'s' if asking == 1 else ''} for your answer"
            yield hint(style, "switchboard approvals")

    @property
    def _daemons(self) -> tuple[DaemonStatus, ...]:
        return (*([self.daemon] if self.daemon else []), *self.draining)


def _named(version: str) -> str:
    """A daemon of another protocol may have our number, as between two releases."""
    return f"another build of version {version}" if version == __version__ else f"version {version}"


def run(request: CommandRequest) -> Report:
    places = places_from(dict(request.environ))
    client = running_daemon(places)
    daemon = None
    if client is not None:
        daemon = read_status(client.ask(StatusRequest()), client.pid)
        client.close()
    return StatusReport(
        is_running=daemon is not None,
        home=places.home,
        daemon=daemon,
        draining=tuple(_draining(client) for client in draining_daemons(places)),
    )


def _draining(client: DaemonClient) -> DaemonStatus:
    try:
        found = read_status(client.ask(StatusRequest()), client.pid)
    except Fault as fault:
        # One that is frozen must not hide the others.
        found = little_known(client.pid, fault.message)
    client.close()
    return msgspec.structs.replace(found, is_draining=True)


def _daemon_lines(daemon: DaemonStatus, style: Style) -> Iterator[str]:
    state = ", draining" if daemon.is_draining else ""
    if daemon.problem:
        yield f"daemon {daemon.version}, process {daemon.pid}{state}: {daemon.problem}"
        return
    yield (
        f"daemon {daemon.version}, process {daemon.pid}, up {_span(daemon.age_s)},"
        f" {_memory(daemon.memory_bytes)}{state}"
    )
    if daemon.sessions:
        yield ""
        yield from _session_rows(daemon.sessions, style)
    for board in daemon.boards:
        yield ""
        yield (
            f"board {board.number} {style.paths(board.workspace)}:"
            f" {counted(board.servers, 'server')},"
            f" {counted(board.sessions, 'session')}"
        )
        if board.differs:
            yield (
                f"  differs from another board of this folder in {', '.join(board.differs)};"
                " servers that see none of it are shared"
            )
        if board.problem:
            yield f"  its files cannot be used now: {board.problem}"
        yield from (f"  left out: {name}: {why}" for name, why in board.left_out.items())
    if daemon.children:
        yield ""
        yield from _child_rows(daemon.children, style)
    if daemon.vault == "locked":
        yield ""
        yield f"{style.yellow('the vault is locked:')} servers that need its secrets do not start"
        yield hint(style, "switchboard vault unlock")
    if daemon.logins:
        yield ""
        yield from login_rows(daemon.logins, style)
    if daemon.runs:
        yield ""
        yield from _run_rows(daemon.runs, style)


def _session_rows(sessions: Sequence[SessionStatus], style: Style) -> Iterator[str]:
    heads = ("SESSION", "CLIENT", "PID", "AGE", "CALLS", "UNDER WAY", "WORKSPACE", "LAST FAILURE")
    rows = [
        (
            each.id,
            each.client or "-",
            str(each.pid),
            _span(each.age_s),
            str(each.calls),
            str(each.under_way),
            style.paths(each.workspace),
            each.last_failure[:_ERROR_CHARS] or "-",
        )
        for each in sessions
    ]
    yield from columns(heads, rows, style, right=(2, 4, 5), elastic=(1, 6, 7), spare=(7, 5))


def _child_rows(children: Sequence[ChildStatus], style: Style) -> Iterator[str]:
    heads = ("CHILD", "SCOPE", "OF", "PID", "SANDBOX PID", "AGE", "MEMORY", "CALLS", "LAST ERROR")
    rows = [
        (
            f"{each.name} as {each.account}" if each.account else each.name,
            f"{each.scope} {each.session}".strip(),
            _whose(each),
            (str(each.pid) if each.pid else "remote") if each.is_running else "not running",
            each.weaker_sandbox or (str(each.sandbox_pid) if each.sandbox_pid else "-"),
            _span(each.age_s) if each.is_running else "-",
            _memory(each.memory_bytes) if each.pid else "-",
            str(each.calls),
            each.last_error[:_ERROR_CHARS] or "-",
        )
        for each in children
    ]
    yield from columns(heads, rows, style, right=(6, 7), elastic=(0, 1, 2, 8), spare=(4, 6))
    apart = [each for each in children if each.apart]
    for each in apart:
        whose = f" of {_whose(each)}" if each.boards else ""
        yield f"{each.name}{whose} is a process of its own by {', '.join(each.apart)}"
    if apart:
        yield hint(style, '`share = "loose"` in an entry has all sessions use one process of it')


def _whose(child: ChildStatus) -> str:
    """The boards that use it, and who is there."""
    numbers = ", ".join(map(str, child.boards))
    words = (f"board {numbers}" if numbers else "", ", ".join(child.clients))
    return ": ".join(filter(None, words)) or "-"


def _run_rows(runs: Sequence[RunStatus], style: Style) -> Iterator[str]:
    heads = ("RUN", "AGENT", "ENGINE", "STATE", "AGE", "WORKSPACE", "DOING")
    rows = [
        (
            *(each.id, each.agent, each.engine, each.state, _span(each.age_s)),
            style.paths(each.workspace),
            each.doing or "-",
        )
        for each in runs
    ]
    yield from columns(heads, rows, style, elastic=(1, 5, 6), spare=(2, 5))


def _span(seconds: float) -> str:
    if seconds < _MINUTE_S:
        return f"{seconds:.0f} s"
    if seconds < _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    if seconds < _DAY_S:
        return f"{seconds / _HOUR_S:.1f} h"
    return f"{seconds / _DAY_S:.1f} d"


def _memory(size: int) -> str:
    return f"{size / _MB:.0f} MB"
