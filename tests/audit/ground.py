"""A log for one test, and what somebody could do to its files who has no key."""

import shutil
import sqlite3
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from switchboard.audit.chain import NOTHING, hash_of
from switchboard.audit.filter import record_in
from switchboard.audit.flood_watch import RECORDS_A_MINUTE
from switchboard.audit.kept.kept_records import KeptRecords
from switchboard.audit.paths import AuditPaths
from switchboard.audit.reader import AuditReader
from switchboard.audit.verify import verify
from switchboard.audit.writer import AuditWriter, Told
from switchboard.core.audit import AuditRecord, AuditRow, Verification
from switchboard.core.text.stamps import stamp


def a_record(
    call: str = "call-1", *, status: str = "", note: str = "", args_sha256: str = ""
) -> AuditRecord:
    return AuditRecord(
        ts=stamp(),
        event="tool.call.started",
        correlation_id=call,
        session_id="session",
        tool="files/write",
        args_sha256=args_sha256,
        status=status,
        note=note,
    )


class Ground:
    """The files of a log."""

    def __init__(self, home: Path) -> None:
        self.paths = AuditPaths(home)
        self.told: list[Told] = []

    @asynccontextmanager
    async def writing(
        self,
        *,
        segment_bytes: int | None = None,
        patience_s: float = 30,
        kept: KeptRecords | None = None,
        records_a_minute: int = RECORDS_A_MINUTE,
    ) -> AsyncGenerator[AuditWriter]:
        writer = AuditWriter(
            self.paths,
            tell=self.told.append,
            segment_bytes=segment_bytes,
            segments_kept=3,
            kept=kept,
            records_a_minute=records_a_minute,
            patience_s=patience_s,
        )
        try:
            yield writer
        finally:
            writer.close()

    async def write(self, count: int, *, start: int = 0, segment_bytes: int | None = None) -> None:
        """Records of their own groups."""
        async with self.writing(segment_bytes=segment_bytes) as writer:
            for number in range(start, start + count):
                await writer.append(a_record(f"call-{number}", status="ok"))

    def verified(self) -> Verification:
        return verify(self.paths)

    def found(self) -> set[str]:
        return {finding.kind for finding in self.verified().findings}

    def rows(self) -> list[AuditRow]:
        return list(AuditReader(self.paths).rows())

    def calls(self) -> list[str]:
        """The calls that have a record, oldest first."""
        return [row.call for row in self.rows() if row.call]

    def notes(self, event: str) -> list[str]:
        records = map(record_in, self.rows())
        return [record.note for record in records if record is not None and record.event == event]

    def copy_to(self, folder: Path) -> None:
        for part in (self.paths.folder, self.paths.state):
            shutil.copytree(part, folder / part.name)

    def put_back(self, folder: Path, parts: Iterable[str] = ("audit", "state")) -> None:
        for part in parts:
            shutil.rmtree(self.paths.home / part)
            shutil.copytree(folder / part, self.paths.home / part)


@contextmanager
def unguarded(path: Path) -> Generator[sqlite3.Connection]:
    """A segment without its triggers, which are put back: a careful attacker leaves no trace."""
    database = sqlite3.connect(path, isolation_level=None)
    try:
        guards = database.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in guards:
            database.execute(f"DROP TRIGGER {name}")
        yield database
        for _, sql in guards:
            database.execute(sql)
    finally:
        database.close()


def rehash(database: sqlite3.Connection) -> bytes:
    """Compute the chain anew, as everybody can."""
    prev = NOTHING
    for seq, body in database.execute(
        "SELECT seq, CAST(body AS BLOB) FROM records ORDER BY seq"
    ).fetchall():
        found = hash_of(seq, prev, body)
        database.execute("UPDATE records SET prev = ?, hash = ? WHERE seq = ?", (prev, found, seq))
        prev = found
    return prev
