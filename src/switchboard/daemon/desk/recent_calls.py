"""The calls that ended lately, by the events that told of them."""

from collections.abc import Iterable
from typing import Any

from switchboard.control.call_desk import CallStatus
from switchboard.core.events import CallFinished, CallNarrowed, CallStarted, Event
from switchboard.core.faults import FaultCode


def recent_calls(events: Iterable[tuple[float, str, Event]]) -> dict[str, CallStatus]:
    """By their ids. Each event comes with its time, and with the workspace of its board."""
    begun: dict[str, dict[str, Any]] = {}
    ended: dict[str, CallStatus] = {}
    for at, workspace, event in events:
        match event:
            case CallStarted(call_id=call_id):
                begun[call_id] = {"tool": event.tool, "client": event.client, "came_at": at}
            case CallNarrowed(call_id=call_id):
                # Its beginning may be forgotten by now.
                begun.setdefault(call_id, {}).update(tool=event.tool, suite=event.suite)
            case CallFinished(call_id=call_id):
                about: dict[str, Any] = {"tool": event.tool, "came_at": at - event.duration_s}
                about |= begun.pop(call_id, {})
                ended[call_id] = CallStatus(
                    id=call_id,
                    session=event.session_id,
                    workspace=workspace,
                    ended_at=at,
                    state=event.outcome,
                    reason=event.reason,
                    queue_s=round(event.queue_s, 4),
                    work_s=round(event.work_s, 4),
                    human_s=round(event.human_s, 4),
                    answer=_answer(event),
                    **about,
                )
            case _:
                pass
    return ended


def _answer(event: CallFinished) -> str:
    """How far it got, unless the book knows better.

    It remembers each one that was not read at once.
    """
    if event.outcome == FaultCode.CANCELLED:
        return "none"
    return "delivered" if event.is_followed else ""
