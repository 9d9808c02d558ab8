"""A process of its own that writes a chain, and says what it was told is on disk.

team_scribbler.py URL CHAIN CALLERS
"""

import asyncio
import sys

from switchboard.audit.key import AuditKey
from switchboard.audit.postgres.store import PostgresAudit
from switchboard.core.audit import AuditRecord
from switchboard.core.faults import Fault
from switchboard.core.text.stamps import stamp
from switchboard.postgres.address import DatabaseAddress


async def main() -> None:
    url, chain, callers = sys.argv[1:]
    store = PostgresAudit(DatabaseAddress(url), chain, AuditKey(b"k" * 32), anchor_s=0.05)

    async def caller(number: int) -> None:
        turn = 0
        while True:
            turn += 1
            call = f"{chain}-{number}-{turn}"
            note = "x" * 200
            record = AuditRecord(
                ts=stamp(), event="tool.call.started", correlation_id=call, note=note
            )
            try:
                await store.append(record)
            except Fault:
                # The database is away; others may go on once it is back.
                continue
            # Whole lines: whoever kills this process must not read half a name.
            sys.stdout.write(f"{call}\n")
            sys.stdout.flush()

    await asyncio.gather(*(caller(number) for number in range(int(callers))))


asyncio.run(main())
