"""Calls that the daemon does not remember, as the audit log tells of them."""

import os
import time
from collections.abc import Callable
from contextlib import aclosing
from datetime import datetime

from switchboard.audit.filter import record_in
from switchboard.control.call_desk import NOT_RUN, CallList, CallStatus, wanted_calls
from switchboard.control.requests import CallsRequest
from switchboard.core.audit import AuditRecord, AuditRow
from switchboard.core.stores import AuditStore
from switchkit.processes import living

# How far back is looked at most, so that an answer does not take longer as the log grows.
_MOST_ROWS = 4_000
# Of a process that runs now, and has the number of one that began a call so long ago, it is no
# longer believed that it is the same.
_LONGEST_S = 86_400.0
_ENDS = frozenset({"tool.call.finished", "tool.call.refused"})
_ASKED = "approval.requested"
UNKNOWN = "unknown"


# Whether whoever wrote a record may still be at its call, which began at that time.
GoesOn = Callable[[AuditRow, AuditRecord, float], bool]


async def with_past(
    known: CallList, audit: AuditStore, request: CallsRequest, goes_on: GoesOn | None = None
) -> CallList:
    """The calls that are known, and those of before; what is known of one outdoes its records.

    Without `goes_on` all of them are of processes of this machine.
    """
    found: dict[str, CallStatus] = {}
    ids = {each.id for each in known.calls}
    looked_at = 0
    async with aclosing(audit.read(newest_first=True)) as rows:
        async for row in rows:
            looked_at += 1
            if looked_at > _MOST_ROWS or (request.last and len(found) >= request.last):
                break
            if not row.call or row.call in ids or (record := record_in(row)) is None:
                continue
            status = _status(row, record, goes_on or _is_at_it)
            # The newest record of a call says how it ended, if it did.
            ids |= {row.call} if status is not None else set()
            if status is not None and wanted_calls((status,), request):
                found[row.call] = status
    return CallList(calls=wanted_calls((*known.calls, *found.values()), request))


def _status(row: AuditRow, record: AuditRecord, is_at_it: GoesOn) -> CallStatus | None:
    """What a record says of its call, if it says anything."""
    has_ended = record.event in _ENDS
    is_open = record.event in ("tool.call.started", _ASKED)
    is_ours = is_at_it is _is_at_it and record.pid == os.getpid()
    if not has_ended and (not is_open or is_ours):
        # Of what this process began it knows itself whether it has ended.
        return None
    queue_s, human_s = (record.queue_ms or 0) / 1000, (record.human_ms or 0) / 1000
    began_at = _moment(record.started or record.ts)
    state = {"tool_error": "error"}.get(record.status, record.status)
    if not has_ended:
        goes_on = time.time() - began_at < _LONGEST_S and is_at_it(row, record, began_at)
        was_asked = record.event == _ASKED
        state = ("waiting" if was_asked else "working") if goes_on else UNKNOWN
        # A decided one has a newer record.
        has_ended, state = (True, NOT_RUN) if was_asked and not goes_on else (False, state)
    return CallStatus(
        id=record.correlation_id,
        session=record.session_id,
        client=record.client,
        workspace=record.workspace,
        tool=record.tool,
        suite=record.via,
        came_at=began_at - queue_s - human_s,
        ended_at=_moment(record.ended or record.ts) if has_ended else 0.0,
        state=state,
        reason=record.reason,
        queue_s=queue_s,
        work_s=(record.work_ms or 0) / 1000,
        human_s=human_s,
        answer="lost" if state == UNKNOWN else "",
    )


def _is_at_it(row: AuditRow, record: AuditRecord, began_at: float) -> bool:
    """Whether the process that began a call may still be at it, as a daemon that drains is."""
    del row, began_at
    return record.pid > 0 and living(record.pid) is not None


def _moment(stamp: str) -> float:
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return 0.0
