"""Records of the audit log that somebody asks for."""

from collections import deque
from contextlib import aclosing

from switchboard.audit.filter import AuditFilter, record_in
from switchboard.control.answers import AuditRows
from switchboard.control.requests import (
    AuditAfterRequest,
    AuditQuestion,
    AuditRequest,
    FilterRequest,
    VerifyRequest,
)
from switchboard.core.audit import AuditMark, AuditRow, Verification
from switchboard.core.stores import AuditStore

# So that an answer stays small, and others are answered in between.
_AT_ONCE = 256


async def audit_answer(log: AuditStore, request: AuditQuestion) -> AuditRows | Verification:
    """What a log says to a request."""
    match request:
        case AuditRequest():
            return await _latest(log, request)
        case AuditAfterRequest():
            return await _after(log, request)
        case VerifyRequest():
            noted = AuditMark(seq=request.seq, hash=request.hash)
            return await log.verify(expect=noted if request.hash else None)


async def _latest(log: AuditStore, request: AuditRequest) -> AuditRows:
    """The records of one call or number, or the latest ones that are wanted."""
    told: list[str] = []
    if request.which:
        found = await log.find(request.which, tell=told.append)
        return AuditRows(rows=tuple(found), unreadable=tuple(told))
    wanted = _filter_of(request)
    newest: deque[AuditRow] = deque()
    end = 0
    async with aclosing(log.read(newest_first=True, tell=told.append)) as rows:
        async for row in rows:
            end = max(end, row.seq)
            if len(newest) >= request.last:
                break
            if _is_wanted(row, wanted):
                newest.appendleft(row)
    return AuditRows(rows=tuple(newest), unreadable=tuple(told), end=end)


async def _after(log: AuditStore, request: AuditAfterRequest) -> AuditRows:
    told: list[str] = []
    wanted = _filter_of(request)
    rows: list[AuditRow] = []
    end = request.after
    looked_at = 0
    async with aclosing(log.read(after=request.after, tell=told.append)) as found:
        async for row in found:
            end = row.seq
            if _is_wanted(row, wanted):
                rows.append(row)
            looked_at += 1
            if looked_at >= _AT_ONCE:
                break
    return AuditRows(rows=tuple(rows), unreadable=tuple(told), end=end)


def _filter_of(request: FilterRequest) -> AuditFilter:
    """Which records the fields of a request want."""
    return AuditFilter(
        tool=request.tool, session=request.session, since=request.since, outcome=request.outcome
    )


def _is_wanted(row: AuditRow, wanted: AuditFilter) -> bool:
    """Whether a row is among them; one that cannot be read is, where everything is."""
    record = record_in(row)
    return wanted == AuditFilter() if record is None else wanted.wants(record)
