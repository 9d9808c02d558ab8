"""A process of its own that writes to a log, and says what it was told is on disk.

scribbler.py HOME NAME COUNT CALLERS SEGMENT_BYTES
"""

import asyncio
import sys
from pathlib import Path

from switchboard.audit.paths import AuditPaths
from switchboard.audit.writer import AuditWriter
from switchboard.core.audit import AuditRecord
from switchboard.core.faults import Fault
from switchboard.core.text.stamps import stamp


async def main() -> None:
    home, name, count, callers, segment_bytes = sys.argv[1:]
    writer = AuditWriter(AuditPaths(Path(home)), segment_bytes=int(segment_bytes))

    async def caller(number: int) -> None:
        for turn in range(int(count)):
            call = f"{name}-{number}-{turn}"
            record = AuditRecord(
                ts=stamp(), event="tool.call.started", correlation_id=call, note="x" * 200
            )
            try:
                await writer.append(record)
            except Fault as fault:
                sys.stdout.write(f"! {fault.reason} {fault.message} {fault.hint}\n")
                sys.stdout.flush()
                return
            # Whole lines: whoever kills this process must not read half a name.
            sys.stdout.write(f"{call}\n")
            sys.stdout.flush()

    await asyncio.gather(*(caller(number) for number in range(int(callers))))
    writer.close()


asyncio.run(main())
