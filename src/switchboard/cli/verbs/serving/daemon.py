"""`switchboard daemon`: start, stop and restart it, read its log, or be it."""

import time
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec.structs import replace

from switchboard.cli.render import hint
from switchboard.cli.report import Report, Silent
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.starting import start
from switchboard.control.client import draining_daemons, running_daemon
from switchboard.control.requests import DrainRequest
from switchboard.control.status import RunStatus, Stopping
from switchboard.core.faults import Fault, FaultCode
from switchboard.ipc.paths import DaemonPlaces, places_from
from switchkit.cli.columns import counted
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError, Word
from switchkit.exits import has_ended

# A daemon with nothing open ends in about a second.
_HANDING_BACK_S = 5.0
_ACTIONS = ("start", "stop", "restart", "logs", "run")
_LINES = 50

USAGE = Usage(
    verb="daemon",
    summary="Start, stop or restart the daemon, or show its log.",
    words=(Word(name="ACTION", about="what to do", choices=_ACTIONS),),
    options=(
        Option(name="lines", value="N", about=f"how many lines of the log ({_LINES})"),
        Option(name="drain", about="stop: let the clients that are there finish first"),
    ),
    details=(
        "`switchboard mcp` starts the daemon when it is needed, and it ends itself when it has had"
        " no client for a while; these are for looking after it by hand. `run` is the daemon"
        " itself, in the foreground."
    ),
    examples=("switchboard daemon restart", "switchboard daemon logs --lines 200"),
)


class DaemonReport(Report, frozen=True, kw_only=True, tag="switchboard.daemon/1"):
    """What has become of the daemon."""

    state: Literal["started", "running", "stopped", "draining", "absent"]
    home: str
    pid: int = 0
    # Those that were draining beside it, and have been stopped too.
    others: tuple[int, ...] = ()
    # The runs of agents that ended with it, or that it waits for.
    runs: tuple[str, ...] = ()
    # The one before, which still works on what its clients have open.
    finishing: int = 0
    # Older ones beside it that clients still hold on to.
    older: tuple[int, ...] = ()
    # Whether it did not answer, so that it could not end its runs itself.
    was_killed: bool = False

    @property
    def waits(self) -> bool:
        """Whether a daemon lets its runs come to their end."""
        return self.state == "draining" or bool(self.finishing)

    def lines(self, style: Style) -> Iterator[str]:
        del style
        where = f"process {self.pid}"
        yield {
            "started": f"the daemon has started, {where}",
            "running": f"the daemon is running already, {where}",
            "stopped": f"the daemon has stopped, {where}",
            "draining": f"the daemon ends with its last client, {where}",
            "absent": "no daemon was running",
        }[self.state]
        for pid in self.others:
            yield f"one that was draining has stopped, process {pid}"
        if self.finishing:
            yield f"the one before ends when nothing is open any more, process {self.finishing}"
        for pid in self.older:
            yield f"an older one still serves hosts, process {pid}"
        if self.runs:
            what = "waits for" if self.waits else "ended"
            yield f"it {what} {counted(len(self.runs), 'run')} of agents: {', '.join(self.runs)}"

    def notes(self, style: Style) -> Iterator[str]:
        if self.older:
            yield "hosts move when their open calls have ended; those of an old version cannot"
            yield hint(style, "start those hosts again, or: switchboard daemon stop")
        if self.was_killed:
            yield (
                "it did not answer and was killed: runs of agents that it had are for the next"
                " daemon, as `on_crash` of the agent says"
            )
            yield hint(style, "switchboard runs")
        elif self.runs and not self.waits:
            yield "a run that was stopped is not taken up again, whatever its agent's `on_crash`"
            yield hint(style, f"switchboard runs show {self.runs[0]}")


class LogReport(Report, frozen=True, kw_only=True, tag="switchboard.daemon-log/1"):
    """The end of the daemon's log."""

    path: str
    text: tuple[str, ...]

    def lines(self, style: Style) -> Iterator[str]:
        del style
        yield from self.text

    def notes(self, style: Style) -> Iterator[str]:
        yield hint(style, f"tail -F {self.path}")


def run(request: CommandRequest) -> Report:
    places = places_from(dict(request.environ))
    match request.arguments.word(0):
        case "start":
            return _start(places, request)
        case "stop":
            return _stop(places, drain=request.arguments.has("drain"))
        case "restart":
            return _restart(places, request)
        case "logs":
            return _logs(places, request)
        case _:
            return _run(request)


def _start(places: DaemonPlaces, request: CommandRequest) -> DaemonReport:
    client = running_daemon(places)
    if client is not None:
        client.close()
        return DaemonReport(state="running", home=places.home, pid=client.pid)
    pid = start(places, request.environ)
    return DaemonReport(state="started", home=places.home, pid=pid)


def _restart(places: DaemonPlaces, request: CommandRequest) -> DaemonReport:
    """Start another daemon, and have every one before it leave its clients to it.

    Those that drain already as well: after an upgrade it is them who have the clients.
    """
    before = running_daemon(places)
    waits_for = Stopping()
    stopped = None
    if before is not None:
        try:
            waits_for = before.answer(DrainRequest(), Stopping) or waits_for
        except Fault:
            # It does not answer, or is ending.
            stopped = before.stop()
    started = _start(places, request)
    left = _handed_back(places)
    if stopped is not None:
        started = replace(started, runs=_ids(stopped.runs), was_killed=stopped.was_killed)
    elif before is not None and before.pid in left:
        started = replace(started, finishing=before.pid, runs=_ids(waits_for.runs))
    return replace(started, older=tuple(pid for pid in left if pid != started.finishing))


def _handed_back(places: DaemonPlaces) -> tuple[int, ...]:
    """Have all that drain leave their clients to the one that runs; gives those that stay."""
    draining = draining_daemons(places)
    for each in draining:
        try:
            each.answer(DrainRequest(hands_back=True), Stopping)
        except Fault:
            # A frozen one keeps its clients, and must not keep those of others.
            continue
        finally:
            each.close()
    until = time.monotonic() + _HANDING_BACK_S
    return tuple(
        each.pid for each in draining if not has_ended(each.pid, max(until - time.monotonic(), 0.0))
    )


def _stop(places: DaemonPlaces, *, drain: bool = False) -> DaemonReport:
    client = running_daemon(places)
    others = draining_daemons(places)
    if client is None:
        if not others:
            return DaemonReport(state="absent", home=places.home)
        client = others.pop(0)
    if drain:
        waits_for = client.answer(DrainRequest(), Stopping) or Stopping()
        return DaemonReport(
            state="draining", home=places.home, pid=client.pid, runs=_ids(waits_for.runs)
        )
    stopped = [each.stop() for each in (client, *others)]
    return DaemonReport(
        state="stopped",
        home=places.home,
        pid=client.pid,
        others=tuple(each.pid for each in others),
        runs=tuple(run_id for each in stopped for run_id in _ids(each.runs)),
        was_killed=any(each.was_killed for each in stopped),
    )


def _ids(runs: Iterable[RunStatus]) -> tuple[str, ...]:
    return tuple(run.id for run in runs)


def _logs(places: DaemonPlaces, request: CommandRequest) -> Report:
    wanted = request.arguments.one("lines") or str(_LINES)
    if not wanted.isdigit():
        raise UsageError("`--lines` must be a whole number")
    try:
        with open(places.log, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise Fault(
            FaultCode.NOT_FOUND,
            "log-missing",
            f"the log `{places.log}` cannot be read ({error.strerror})",
            hint="switchboard daemon start",
        ) from None
    return LogReport(path=places.log, text=tuple(lines[max(0, len(lines) - int(wanted)) :]))


def _run(request: CommandRequest) -> Report:
    # The daemon's own half is large, and the other actions do without it.
    from switchboard.daemon.main import run_daemon  # noqa: PLC0415
    from switchboard.daemon.serve import run as run_loop  # noqa: PLC0415

    return Silent(code=run_loop(run_daemon(request.environ)))
