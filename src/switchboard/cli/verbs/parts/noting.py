"""Writes down what a person decided of a changed tool: no call is there to be told of it."""

from switchboard.approvals.approver import Approver
from switchboard.audit.store import SqliteAudit
from switchboard.cli.request import Request
from switchboard.core.audit import AuditApproval, new_record
from switchboard.core.stores import Held
from switchboard.ipc.paths import places_from


async def note_decision(
    request: Request, held: Held, approver: Approver, *, approves: bool
) -> None:
    """Put a decision on disk. Raises a fault; what cannot be noted is not acted on."""
    record = new_record(
        "approval.decided",
        tool=held.tool,
        server=held.server,
        approval=AuditApproval(
            decision="approved" if approves else "denied",
            id=held.id,
            mode="definition",
            channel="cli",
            chain=str(approver),
        ),
    )
    log = SqliteAudit(places_from(dict(request.environ)).home)
    try:
        await log.append(record)
    finally:
        await log.aclose()
