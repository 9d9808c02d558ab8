"""Writes down what a person decided of a changed tool: no call is there to be told of it."""

import asyncio
from pathlib import Path

from switchboard.approvals.approver import Approver
from switchboard.approvals.pins import Held
from switchboard.audit.paths import AuditPaths
from switchboard.audit.writer import AuditWriter
from switchboard.cli.request import Request
from switchboard.core.audit import AuditApproval, new_record
from switchboard.ipc.paths import places_from


def note_decision(request: Request, held: Held, approver: Approver, *, approves: bool) -> None:
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
    writer = AuditWriter(AuditPaths(Path(places_from(dict(request.environ)).home)))
    try:
        asyncio.run(writer.append(record))
    finally:
        writer.close()
