"""The audit log as commands read it: through the daemon if one runs, else from the disk."""

import asyncio
from collections.abc import Iterator
from typing import TypeVar

from msgspec import Struct

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.approving.team_state import opened_audit
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer
from switchboard.control.answers import AuditRows
from switchboard.control.records import audit_answer
from switchboard.control.requests import AuditAfterRequest, AuditQuestion

T = TypeVar("T", bound=Struct)


def audit_pages(
    request: CommandRequest, fields: dict[str, str], after: int = 0
) -> Iterator[AuditRows]:
    """All records after one, some at a time, oldest first."""
    while True:
        found = audit_answer_to(request, AuditAfterRequest(after=after, **fields), AuditRows)
        yield found
        if found.end == after:
            return
        after = found.end


def audit_answer_to(request: CommandRequest, wanted: AuditQuestion, kind: type[T]) -> T:
    """What the daemon says if one runs, else what lies on disk."""
    answer = daemon_answer(request, wanted, kind)
    if answer is None:
        answer = asyncio.run(_own_answer(request, wanted))
    assert isinstance(answer, kind)
    return answer


async def _own_answer(request: CommandRequest, wanted: AuditQuestion) -> Struct:
    log = opened_audit(request)
    try:
        return await audit_answer(log, wanted)
    finally:
        await log.aclose()
