"""Records of the audit log that somebody asks for."""

from collections import deque
from contextlib import aclosing

from switchboard.audit.filter import AuditFilter, record_in
from switchboard.control.answers import AuditRows
from switchboard.control.requests import AuditRequest
from switchboard.core.audit import AuditRow
from switchboard.core.stores import AuditStore


async def read_records(log: AuditStore, request: AuditRequest) -> AuditRows:
    """The records of one call or number, or the latest ones that are wanted."""
    told: list[str] = []
    if request.which:
        found = await log.find(request.which, tell=told.append)
        return AuditRows(rows=tuple(found), unreadable=tuple(told))
    wanted = filter_of(request)
    newest: deque[AuditRow] = deque()
    end = 0
    async with aclosing(log.read(newest_first=True, tell=told.append)) as rows:
        async for row in rows:
            end = max(end, row.seq)
            if len(newest) >= request.last:
                break
            if is_wanted(row, wanted):
                newest.appendleft(row)
    return AuditRows(rows=tuple(newest), unreadable=tuple(told), end=end)


def filter_of(request: AuditRequest) -> AuditFilter:
    """Which records the fields of a request want."""
    return AuditFilter(
        tool=request.tool, session=request.session, since=request.since, outcome=request.outcome
    )


def is_wanted(row: AuditRow, wanted: AuditFilter) -> bool:
    """Whether a row is among them; one that cannot be read is, where everything is."""
    record = record_in(row)
    return wanted == AuditFilter() if record is None else wanted.wants(record)
