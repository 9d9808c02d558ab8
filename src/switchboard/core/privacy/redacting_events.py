"""What happens, and what goes wrong, told without the secrets that are known by value.

The one place in front of everybody who is told: the log, followers of events, telemetry, clients.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from switchboard.core.events import (
    AuditFailed,
    AuditFlooded,
    AuditRecovered,
    CallFinished,
    CallNarrowed,
    ChildExited,
    ChildFailed,
    ConfigLoaded,
    ConfigRejected,
    Event,
    NamesClashed,
    RunEnded,
)
from switchboard.core.faults import Fault
from switchboard.core.ports import Events
from switchboard.core.privacy.secrets import Redact, without_secrets

# Where events carry words of others. A call that goes well has none but a name.
_WORDS: dict[type[Any], tuple[str, ...]] = {
    CallNarrowed: ("tool",),
    CallFinished: ("private",),
    ChildExited: ("reason", "stderr_tail"),
    ChildFailed: ("message",),
    NamesClashed: ("message",),
    ConfigLoaded: ("warnings",),
    ConfigRejected: ("problems",),
    AuditFailed: ("message",),
    AuditRecovered: ("message",),
    AuditFlooded: ("message",),
    RunEnded: ("private",),
}


class DiscreetEvents:
    """Passes events on once no text in them holds a secret."""

    def __init__(self, events: Events, hide: Redact) -> None:
        self._events = events
        self._hide = hide
        # As subscribers of a bus have it: what nobody hears needs no look.
        self._hears: Callable[[type[Event]], bool] | None = getattr(events, "hears", None)

    def emit(self, event: Event, /) -> None:
        fields = _WORDS.get(type(event))
        if fields is None:
            self._events.emit(event)
        elif self._hears is None or self._hears(type(event)):
            self._events.emit(self._discreet(event, fields))

    def _discreet(self, event: Event, fields: tuple[str, ...]) -> Event:
        for field in fields:
            if words := getattr(event, field):
                told = self._hide(words) if type(words) is str else self._all(words)
                if told != words:
                    event = msgspec.structs.replace(event, **{field: told})
        return event

    def _all(self, words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self._hide, words))


def discreet_fault(fault: Fault, hide: Redact) -> Fault:
    """The fault itself, or another without the secrets that are in it."""
    said = (fault.message, fault.hint, fault.private)
    told = tuple(map(hide, said))
    details = without_secrets(dict(fault.details), hide)
    owner = without_secrets(dict(fault.owner), hide)
    if told == said and details == fault.details and owner == fault.owner:
        return fault
    message, hint, private = told
    other = Fault(
        fault.code,
        fault.reason,
        message,
        hint=hint,
        details=details,
        private=private,
        owner=owner,
    )
    other.__cause__ = fault.__cause__
    return other
