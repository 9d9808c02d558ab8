"""The audit log of a home behind its port: written on one thread, read on another."""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

from switchboard.audit.paths import AuditPaths
from switchboard.audit.reader import AuditReader
from switchboard.audit.verify import verify
from switchboard.audit.writer import AuditWriter, Told
from switchboard.core.audit import AuditMark, AuditRow, Verification
from switchboard.core.faults import Fault
from switchboard.core.loop.worker_thread import WorkerThread

# Rows that are read at once.
_AT_ONCE = 256
# Of a number that a database takes.
_MOST_DIGITS = 18


def _ignore(_: object) -> None:
    """For those who do not want to be told."""


def _some(rows: Iterator[AuditRow]) -> list[AuditRow]:
    return list(islice(rows, _AT_ONCE))


class SqliteAudit(AuditWriter):
    """The `AuditStore` of a home. Reading does not hold up who writes."""

    def __init__(self, home: str, *, tell: Callable[[Told], None] = _ignore) -> None:
        paths = AuditPaths(Path(home))
        super().__init__(paths, tell=tell)
        self._read_paths = paths
        self._reading = WorkerThread("audit-read")

    async def read(
        self,
        *,
        after: int = 0,
        newest_first: bool = False,
        tell: Callable[[str], None] = _ignore,
    ) -> AsyncGenerator[AuditRow]:
        await self._write_posted()
        told: list[str] = []
        reader = AuditReader(self._read_paths, tell=told.append)
        rows = reader.backwards() if newest_first else reader.rows(after)
        try:
            while found := await self._reading.run(partial(_some, rows)):
                for row in found:
                    yield row
        finally:
            # Its files belong to the thread that opened them.
            await self._reading.run(rows.close)
            for text in told:
                tell(text)

    async def find(self, which: str, /, *, tell: Callable[[str], None] = _ignore) -> list[AuditRow]:
        await self._write_posted()
        told: list[str] = []
        reader = AuditReader(self._read_paths, tell=told.append)
        rows = await self._reading.run(lambda: reader.of_call(which))
        if not rows and which.isdecimal() and len(which) <= _MOST_DIGITS:
            row = await self._reading.run(lambda: reader.at(int(which)))
            rows = [row] if row is not None else []
        for text in told:
            tell(text)
        return rows

    async def verify(self, *, expect: AuditMark | None = None) -> Verification:
        await self._write_posted()
        return await self._reading.run(lambda: verify(self._read_paths, expect=expect))

    async def _write_posted(self) -> None:
        """Whoever was told that a call has ended finds its record, also one that is only posted."""
        if self._thread.is_alive():
            # A log that cannot be written can still be read.
            with suppress(Fault):
                await self.flush()

    async def aclose(self) -> None:
        # Closing waits for the disk, so it is done where the loop does not wait with it.
        await self._reading.aclose(self.close)
