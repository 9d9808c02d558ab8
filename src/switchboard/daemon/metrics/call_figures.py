"""What is counted of calls, sessions, servers and runs, as they happen in this process.

Labels are words of ours or of the configuration: nothing that a client says becomes one.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterator

from switchboard.core.catalog.names import fold
from switchboard.core.events import (
    AuditFailed,
    AuditRecovered,
    CallFinished,
    CallNarrowed,
    CallStarted,
    ChildExited,
    ChildFailed,
    ChildStarted,
    Event,
    RunEnded,
    SessionClosed,
    SessionOpened,
)
from switchboard.core.faults import FaultCode
from switchboard.daemon.metrics.exposition import Histogram, Labels, MetricFamily, single
from switchboard.settings.sections import Settings
from switchboard.settings.validate import shown_name

# In seconds: what a child answers at once, what takes a while, what an agent does.
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_OUTCOMES = frozenset({"ok", "error", *FaultCode})
# Of what is not in the configuration, whatever a client has called it.
OTHER = "other"
_HEARD = (
    *(CallStarted, CallNarrowed, CallFinished, SessionOpened, SessionClosed),
    *(ChildStarted, ChildExited, ChildFailed, RunEnded, AuditFailed, AuditRecovered),
)


class CallFigures:
    """A subscriber of events, which adds them up."""

    def __init__(
        self, settings: Callable[[], Settings], tools: Callable[[], Container[str]]
    ) -> None:
        """`settings` and `tools` are those of the board as it is now."""
        self._settings = settings
        self._tools = tools
        self._calls: Counter[Labels] = Counter()
        self._times: dict[Labels, float | Histogram] = {}
        self._waited_s = 0.0
        self._suites: dict[str, str] = {}
        self._open: set[str] = set()
        self._sessions: set[str] = set()
        self._children: Counter[str] = Counter()
        self._lost: Counter[Labels] = Counter()
        self._runs: Counter[Labels] = Counter()
        self._audit_fails = False
        self._named: tuple[Settings | None, dict[str, str]] = (None, {})

    def hears(self, kind: type[Event]) -> bool:
        """Whether an event of this kind counts."""
        return kind in _HEARD

    def __call__(self, event: Event, /) -> None:
        match event:
            case CallStarted():
                self._open.add(event.call_id)
            case CallNarrowed():
                self._suites[event.call_id] = event.suite
            case CallFinished():
                self._end_call(event)
            case SessionOpened():
                self._sessions.add(event.session_id)
            case SessionClosed():
                self._sessions.discard(event.session_id)
            case ChildStarted() | ChildExited() | ChildFailed():
                self._note_child(event)
            case RunEnded():
                self._runs[("state", event.state),] += 1
            case AuditFailed() | AuditRecovered():
                self._audit_fails = isinstance(event, AuditFailed)
            case _:
                return

    def _end_call(self, event: CallFinished) -> None:
        self._open.discard(event.call_id)
        server = self._server(self._suites.pop(event.call_id, event.tool))
        outcome = event.outcome if event.outcome in _OUTCOMES else OTHER
        self._calls[("server", server), ("outcome", str(outcome))] += 1
        times = self._times.setdefault((("server", server),), Histogram(_BOUNDS))
        assert isinstance(times, Histogram)
        # Persons take minutes, and that is no fault of a server.
        times.observe(max(event.duration_s - event.human_s, 0.0))
        self._waited_s += event.human_s

    def _note_child(self, event: ChildStarted | ChildExited | ChildFailed) -> None:
        if isinstance(event, ChildStarted):
            self._children[event.child] += 1
            return
        if isinstance(event, ChildExited):
            self._children[event.child] -= 1
            if event.expected:
                return
        self._lost[("server", self._server(event.child)),] += 1

    def _server(self, name: str) -> str:
        """The server, or the tool of ours, that a name belongs to."""
        settings = self._settings()
        if self._named[0] is not settings:
            self._named = settings, _names(settings)
        names = self._named[1]
        return names.get(fold(name)) or (name if name in self._tools() else OTHER)

    def families(self) -> Iterator[MetricFamily]:
        """Everything as it is now."""
        yield MetricFamily("switchboard_calls_total", "counter", "Calls that ended.", self._calls)
        yield MetricFamily(
            "switchboard_call_seconds",
            "histogram",
            "How long calls took, without the time of persons who were asked.",
            self._times,
        )
        yield MetricFamily(
            "switchboard_call_person_seconds_total",
            "counter",
            "How long calls waited for persons who were asked.",
            single(self._waited_s),
        )
        for name, about, value in (
            ("calls_in_flight", "Calls that are under way.", len(self._open)),
            ("sessions", "Sessions of clients of the handshake era.", len(self._sessions)),
            ("children", "Servers that run.", sum(self._children.values())),
            ("audit_failing", "1 while the audit log cannot be written.", int(self._audit_fails)),
        ):
            yield MetricFamily(f"switchboard_{name}", "gauge", about, single(value))
        yield MetricFamily(
            "switchboard_child_failures_total",
            "counter",
            "Servers that ended unasked, or did not start.",
            self._lost,
        )
        yield MetricFamily(
            "switchboard_runs_ended_total", "counter", "Runs that ended.", self._runs
        )


def _names(settings: Settings) -> dict[str, str]:
    """Which server a suite belongs to."""
    names: dict[str, str] = {}
    for entry in settings.servers:
        for each in (entry.name, shown_name(entry, settings.suites)):
            names[fold(each)] = entry.name
    return names
