"""Writes down what servers left behind. A command tool has a record of its call for that."""

from collections.abc import Callable

from switchboard.core.audit import appeared_note, new_record
from switchboard.core.events import Event, ProtectedFilesAppeared
from switchboard.core.ports import Events
from switchboard.core.stores import AuditStore


class SandboxTrail:
    """Passes the events of servers on, and puts what they left behind into the audit log."""

    def __init__(self, events: Events, audit: Callable[[], AuditStore | None]) -> None:
        self._events = events
        self._audit = audit

    def emit(self, event: Event, /) -> None:
        self._events.emit(event)
        if isinstance(event, ProtectedFilesAppeared) and (audit := self._audit()) is not None:
            note = appeared_note(event.names)
            audit.post(new_record("sandbox.protected_files", server=event.source, note=note))
