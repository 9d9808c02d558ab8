"""An audit log in memory, which can be made to fail. It keeps to the contract of the real one."""

import asyncio
from collections.abc import AsyncGenerator, Callable

import msgspec

from switchboard.audit.chain import NOTHING, hash_of
from switchboard.core.audit import (
    AuditMark,
    AuditRecord,
    AuditRow,
    Verification,
    VerificationFinding,
)
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import Recorded


class MemoryAudit:
    """Keeps every record, and in which way it was handed in."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.records: list[AuditRecord] = []
        self.awaited: list[AuditRecord] = []
        self.is_unwritable = False
        self._failure = failure
        self._is_closed = False
        # Whoever waits for the disk waits for this.
        self.disk = asyncio.Event()
        self.disk.set()

    async def append(self, record: Recorded, /) -> None:
        if self._failure is not None:
            raise self._failure
        if self.is_unwritable or self._is_closed:
            raise Fault(FaultCode.UNAVAILABLE, "audit-unwritable", "full", hint="free some space")
        await self.disk.wait()
        self.awaited.append(self._keep(record))

    def post(self, record: Recorded, /) -> None:
        if not self._is_closed:
            self._keep(record)

    async def flush(self) -> None:
        await self.disk.wait()

    def fingerprint(self, payload: bytes, /) -> str:
        return f"salted:{bytes(payload).hex()}"

    async def read(
        self,
        *,
        after: int = 0,
        newest_first: bool = False,
        tell: Callable[[str], None] = lambda _: None,
    ) -> AsyncGenerator[AuditRow]:
        del tell
        rows = [row for row in self.rows() if row.seq > after]
        for row in reversed(rows) if newest_first else rows:
            yield row

    async def find(
        self, which: str, /, *, tell: Callable[[str], None] = lambda _: None
    ) -> list[AuditRow]:
        del tell
        rows = [row for row in self.rows() if row.call == which]
        return rows or [row for row in self.rows() if str(row.seq) == which]

    async def verify(self, *, expect: AuditMark | None = None) -> Verification:
        rows = self.rows()
        known = {row.seq: row.hash.hex() for row in rows}
        is_met = expect is None or known.get(expect.seq, "").startswith(expect.hash)
        lost = VerificationFinding(
            kind="unexpected", seq=expect.seq if expect else 0, says="it is not there"
        )
        return Verification(
            records=len(rows),
            segments=1,
            first=1,
            last=len(rows),
            hash=rows[-1].hash.hex() if rows else "",
            findings=() if is_met else (lost,),
        )

    async def aclose(self) -> None:
        self._is_closed = True

    def rows(self) -> list[AuditRow]:
        rows: list[AuditRow] = []
        prev = NOTHING
        for seq, record in enumerate(self.records, 1):
            body = msgspec.json.encode(record)
            found = hash_of(seq, prev, body)
            rows.append(AuditRow(seq, record.correlation_id, body, prev, found))
            prev = found
        return rows

    @property
    def events(self) -> list[str]:
        return [record.event for record in self.records]

    def _keep(self, record: Recorded) -> AuditRecord:
        made = record if isinstance(record, AuditRecord) else record()
        self.records.append(made)
        return made
