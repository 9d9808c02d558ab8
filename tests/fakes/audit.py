"""An audit log in memory, which can be made to fail."""

import asyncio
from collections.abc import Callable

from switchboard.core.audit import AuditRecord
from switchboard.core.faults import Fault, FaultCode


class MemoryAudit:
    """Keeps every record, and in which way it was handed in."""

    def __init__(self) -> None:
        self.records: list[AuditRecord] = []
        self.awaited: list[AuditRecord] = []
        self.is_unwritable = False
        # Whoever waits for the disk waits for this.
        self.disk = asyncio.Event()
        self.disk.set()

    async def append(self, record: AuditRecord, /) -> None:
        if self.is_unwritable:
            raise Fault(FaultCode.UNAVAILABLE, "audit-unwritable", "full", hint="free some space")
        await self.disk.wait()
        self.awaited.append(record)
        self.records.append(record)

    def post(self, record: AuditRecord, /) -> None:
        self.records.append(record)

    def note(self, make: Callable[[], AuditRecord], /) -> None:
        self.records.append(make())

    def fingerprint(self, payload: bytes, /) -> str:
        return f"salted:{bytes(payload).hex()}"

    @property
    def events(self) -> list[str]:
        return [record.event for record in self.records]
