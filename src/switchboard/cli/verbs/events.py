"""`switchboard events`: what has happened in the daemon, and what happens now."""

import time
from collections.abc import Iterator
from typing import Any, ClassVar

from switchboard.cli.render import as_json, hint
from switchboard.cli.report import Report, Silent
from switchboard.cli.request import CommandRequest
from switchboard.control.client import running_daemon
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.text.stamps import stamped
from switchboard.ipc.paths import places_from
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError

_LAST = 20

USAGE = Usage(
    verb="events",
    summary="Show what has happened in the daemon: calls, sessions, children, configuration.",
    options=(
        Option(name="follow", short="-f", about="stay, and show each event when it happens"),
        Option(name="last", value="N", about=f"how many past events ({_LAST})"),
    ),
    details="With --json, --follow prints one event a line; without --follow it is one document.",
    examples=("switchboard events --follow", "switchboard events --last 200 --json"),
)


class EventsReport(Report, frozen=True, kw_only=True, tag="switchboard.events/1"):
    """The latest events, oldest first."""

    events: tuple[dict[str, Any], ...]

    def lines(self, style: Style) -> Iterator[str]:
        for event in self.events:
            yield _shown(event, style)

    def notes(self, style: Style) -> Iterator[str]:
        if not self.events:
            yield "nothing has happened yet"
            yield hint(style, "switchboard events --follow")


class EventReport(Report, frozen=True, kw_only=True, tag="switchboard.event/1"):
    """One event, when it happens."""

    one_of_many: ClassVar[bool] = True
    event: dict[str, Any]

    def lines(self, style: Style) -> Iterator[str]:
        yield _shown(self.event, style)


def run(request: CommandRequest) -> Report:
    last = request.arguments.one("last") or str(_LAST)
    if not last.isdigit():
        raise UsageError("`--last` must be a whole number")
    client = running_daemon(places_from(dict(request.environ)))
    if client is None:
        raise Fault(
            FaultCode.UNAVAILABLE,
            "no-daemon",
            "no daemon is running, so there is nothing to show",
            hint="switchboard daemon start",
        )
    follow = request.arguments.has("follow")
    events = client.events(last=int(last), follow=follow)
    if not follow:
        return EventsReport(events=tuple(map(_dated, events)))
    for event in events:
        request.show(EventReport(event=_dated(event)))
    return Silent()


def _dated(event: dict[str, Any]) -> dict[str, Any]:
    """The event with its time as other reports write it, beside the number."""
    return {**event, "time": stamped(float(event["at"]))}


def _value(value: Any) -> str:
    if isinstance(value, float):
        # Nobody reads more than thousandths.
        value = round(value, 3)
    return value if isinstance(value, str) else as_json(value)


def _shown(event: dict[str, Any], style: Style) -> str:
    named = {"at", "time", "event", "workspace"}
    rest = " ".join(f"{name}={_value(value)}" for name, value in event.items() if name not in named)
    seconds = float(event["at"])
    clock = time.strftime("%H:%M:%S", time.localtime(seconds)) + f".{int(seconds * 1000) % 1000:03}"
    return f"{style.dim(clock)} {style.bold(str(event['event']))} {rest}"
