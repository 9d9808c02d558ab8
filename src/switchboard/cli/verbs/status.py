"""`switchboard status`: who is connected to the daemon, and what runs behind it."""

import shlex
import time
from collections.abc import Iterator, Sequence

import msgspec

from switchboard import __version__
from switchboard.cli.render import columns, hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.auth.login_table import login_rows
from switchboard.cli.verbs.parts.doctor.promises import ShownPromise, shown_promises
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
from switchboard.core.faults import Fault, FaultCode
from switchboard.ipc.paths import places_from
from switchboard.ipc.protocol import ABI
from switchkit.cli.columns import counted
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, Word
from switchkit.suggest import suggestion

USAGE = Usage(
    verb="status",
    summary="Show the daemon: its sessions, its boards, and the children behind them.",
    words=(Word(name="NAME", about="all that is known of one server", optional=True),),
    options=(Option(name="verbose", about="also what does not run, with scopes and sandboxes"),),
    details="Without a daemon it says so; the next `switchboard mcp` starts one.",
    examples=("switchboard status", "switchboard status time"),
)

_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 86400
_MB = 1024 * 1024
_ERROR_CHARS = 60
# Of variables that keep processes apart so many are named.
_MOST_NAMES = 4


class StatusReport(Report, frozen=True, kw_only=True, tag="switchboard.status/1"):
    """The daemon of this home, if one runs, and those that end with their last client."""

    is_running: bool
    home: str
    daemon: DaemonStatus | None = None
    draining: tuple[DaemonStatus, ...] = ()
    # The server that is told of alone, and whether everything is told of all.
    name: str = ""
    is_verbose: bool = False
    # What holds on this system, and how far.
    promises: tuple[ShownPromise, ...] = msgspec.field(default_factory=shown_promises)

    def lines(self, style: Style) -> Iterator[str]:
        if self.name:
            for index, child in enumerate(self._named_children()):
                yield from ("",) if index else ()
                yield from _child_lines(child, style)
            return
        is_first = True
        for daemon in self.daemons:
            if not is_first:
                yield ""
            is_first = False
            yield from _daemon_lines(daemon, style, is_verbose=self.is_verbose)

    def _named_children(self) -> Iterator[ChildStatus]:
        found = (child for daemon in self.daemons for child in daemon.children)
        return (child for child in found if child.name == self.name)

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
        for each in self.draining:
            if self.daemon is not None and each.sessions:
                hosts = counted(len(each.sessions), "host")
                what = f"version {each.version}" if each.abi == ABI else _named(each.version)
                yield (
                    f"an older daemon ({what}, process {each.pid}) still serves"
                    f" {hosts}: what you change, restart or start here does not reach them"
                )
                yield hint(style, "switchboard daemon restart")
        failed = [
            child for daemon in self.daemons for child in daemon.children if _has_failed(child)
        ]
        for name, child in {child.name: child for child in failed}.items():
            yield f"{name}: {_error(child, whole=True)}"
            yield hint(style, f"switchboard logs {shlex.quote(name)}")
        runs = [run for daemon in self.daemons for run in daemon.runs]
        asking = sum(run.state == "asking" for run in runs)
        if asking:
            yield f"{counted(asking, 'run')} wait{'s' if asking == 1 else ''} for your answer"
            yield hint(style, "switchboard approvals")

    @property
    def daemons(self) -> tuple[DaemonStatus, ...]:
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
    report = StatusReport(
        is_running=daemon is not None,
        home=places.home,
        daemon=daemon,
        draining=tuple(_draining(client) for client in draining_daemons(places)),
        name=request.arguments.word(0),
        is_verbose=request.arguments.has("verbose"),
    )
    if report.name and report.daemons:
        known = {child.name for each in report.daemons for child in each.children}
        if report.name not in known:
            # Not by the configuration: a daemon is asked without loading what servers are.
            raise Fault(
                FaultCode.NOT_FOUND,
                "unknown-server",
                f"the daemon has no server `{report.name}`",
                hint=suggestion(report.name, known) or "switchboard list",
            )
    return report


def _draining(client: DaemonClient) -> DaemonStatus:
    try:
        found = read_status(client.ask(StatusRequest()), client.pid)
    except Fault as fault:
        # One that is frozen must not hide the others.
        found = little_known(client.pid, fault.message)
    client.close()
    return msgspec.structs.replace(found, is_draining=True)


def _daemon_lines(daemon: DaemonStatus, style: Style, *, is_verbose: bool) -> Iterator[str]:
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
        rows = _all_child_rows if is_verbose else _child_rows
        yield from rows(daemon.children, style)
        yield from _apart_lines(daemon, style)
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
    """Those that run or failed; a client asks for many servers and uses few."""
    shown = [each for each in children if each.is_running or each.last_error]
    heads = ["CHILD", "PID", "AGE", "MEMORY", "CALLS", "OF", "LAST ERROR"]
    rows = [
        [
            _named_child(each),
            _pid(each),
            _span(each.age_s) if each.is_running else "-",
            _memory(each.memory_bytes) if each.pid else "-",
            str(each.calls),
            _whose(each),
            _error(each),
        ]
        for each in shown
    ]
    if any(each.weaker_sandbox for each in shown):
        heads.insert(2, "SANDBOX")
        for row, each in zip(rows, shown, strict=True):
            row.insert(2, each.weaker_sandbox or "-")
    last = len(heads) - 1
    if rows:
        right = (last - 3, last - 2)
        yield from columns(heads, rows, style, right=right, elastic=(0, last - 1, last), spare=(3,))
    idle: dict[tuple[int, ...], dict[str, None]] = {}
    for each in children:
        if each not in shown:
            idle.setdefault(each.boards, {})[_named_child(each)] = None
    boards = {each.boards for each in children}
    for numbers, names in idle.items():
        # What does not run for one board may run for another.
        of = f" for {_boards(numbers)}" if len(boards) > 1 and numbers else ""
        yield f"not running{of}: {', '.join(names)}"
    if idle:
        yield hint(style, "switchboard status --verbose")


def _has_failed(child: ChildStatus) -> bool:
    return bool(child.last_error) and not child.is_running


def _error(child: ChildStatus, *, whole: bool = False) -> str:
    """What went wrong last, and how long ago."""
    if not child.last_error:
        return "-"
    told = child.last_error if whole else child.last_error[:_ERROR_CHARS]
    age_s = max(time.time() - child.last_error_at, 0.0)
    return f"{_span(age_s)} ago: {told}" if child.last_error_at else told


def _child_lines(child: ChildStatus, style: Style) -> Iterator[str]:
    """Everything that is known of one server."""
    state = "not running"
    if child.is_running:
        what = f"process {child.pid}, {_memory(child.memory_bytes)}" if child.pid else "remote"
        state = f"running, {what}, up {_span(child.age_s)}"
    around = f"process {child.sandbox_pid}" if child.sandbox_pid else "none"
    told = {
        "state": state,
        "scope": f"{child.scope} {child.session}".strip(),
        "of": _whose(child),
        "folder": style.paths(child.workspace),
        "transport": child.transport,
        "sandbox": child.weaker_sandbox or (around if child.transport == "stdio" else ""),
        "calls": f"{child.calls}, {child.under_way} under way",
        "apart by": ", ".join(child.apart),
        "last error": _error(child, whole=True) if child.last_error else "",
    }
    yield style.bold(_named_child(child))
    yield from (f"  {name:<10}  {value}" for name, value in told.items() if value)


def _pid(child: ChildStatus) -> str:
    return (str(child.pid) if child.pid else "remote") if child.is_running else "not running"


def _all_child_rows(children: Sequence[ChildStatus], style: Style) -> Iterator[str]:
    heads = ("CHILD", "SCOPE", "OF", "PID", "SANDBOX PID", "AGE", "MEMORY", "CALLS", "LAST ERROR")
    rows = [
        (
            _named_child(each),
            f"{each.scope} {each.session}".strip(),
            _whose(each),
            _pid(each),
            each.weaker_sandbox or (str(each.sandbox_pid) if each.sandbox_pid else "-"),
            _span(each.age_s) if each.is_running else "-",
            _memory(each.memory_bytes) if each.pid else "-",
            str(each.calls),
            # A pipe has room for all of it.
            _error(each, whole=not style.columns),
        )
        for each in children
    ]
    yield from columns(heads, rows, style, right=(6, 7), elastic=(0, 1, 2, 8), spare=(4, 6))


def _apart_lines(daemon: DaemonStatus, style: Style) -> Iterator[str]:
    """Servers that run twice, and what keeps their processes apart."""
    differs = {board.number: board.differs for board in daemon.boards}
    apart: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}
    for each in daemon.children:
        if each.apart:
            is_all = any(each.apart == differs.get(number) for number in each.boards)
            # Names that the board was told to differ in are not told again for each server.
            by = () if is_all and each.boards else each.apart
            apart.setdefault((_boards(each.boards), by), {})[_named_child(each)] = None
    for (boards, by), names in apart.items():
        of = f" of {boards}" if boards else ""
        have = "has a process of its own" if len(names) == 1 else "have processes of their own"
        more = f" and {len(by) - _MOST_NAMES} more" if len(by) > _MOST_NAMES else ""
        told = f"because of {', '.join(by[:_MOST_NAMES])}{more}"
        yield f"{', '.join(names)}{of} {have} {told if by else 'for the same reason'}"
    if apart:
        yield hint(style, '`share = "loose"` in an entry has all sessions use one process of it')


def _named_child(child: ChildStatus) -> str:
    """Its name, and which of several it is: by the login, or by the worktree."""
    if child.account:
        return f"{child.name} as {child.account}"
    place = child.worktree or child.root
    return f"{child.name} in {place}" if place else child.name


def _whose(child: ChildStatus) -> str:
    """The boards that use it, and who is there."""
    return ": ".join(filter(None, (_boards(child.boards), ", ".join(child.clients)))) or "-"


def _boards(numbers: Sequence[int]) -> str:
    return f"board {', '.join(map(str, numbers))}" if numbers else ""


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
