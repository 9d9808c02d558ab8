"""The segment that is written."""

from collections.abc import Sequence

from switchboard.audit.database import (
    FIELDS,
    DamageTold,
    SegmentDamaged,
    connect,
    insert,
    make_index,
    row_at,
    row_of,
)
from switchboard.audit.paths import AuditPaths
from switchboard.core.audit import AuditRow
from switchkit.files import check_private_file

_LAST = f"SELECT {FIELDS} FROM records ORDER BY seq DESC LIMIT 1"  # noqa: S608 - a constant


class Segment:
    """One open file of the log. A group is `begin`, `add`, `commit`."""

    def __init__(self, paths: AuditPaths, number: int) -> None:
        path = paths.segment(number)
        self.number = number
        self._path = path
        self._next_path = paths.segment(number + 1)
        self._inode = check_private_file(path).st_ino
        self._database = connect(path)
        self._database.execute("PRAGMA synchronous = FULL")
        self._page_bytes = self._database.execute("PRAGMA page_size").fetchone()[0]
        # How many bytes it takes, or will when everything is in its file; as of the last group.
        self.size = 0
        # macOS: `fsync` alone leaves data in the drive's own memory.
        self._database.execute("PRAGMA fullfsync = ON")

    def is_newest(self) -> bool:
        """Whether the file under this name is still the one that is open, and none comes after."""
        try:
            is_there = self._path.lstat().st_ino == self._inode
        except FileNotFoundError:
            return False
        return is_there and not self._next_path.exists()

    def begin(self) -> AuditRow:
        """Begin a group, and give the last row. Nobody else writes until the group ends."""
        with DamageTold():
            self._database.execute("BEGIN IMMEDIATE")
            found = self._database.execute(_LAST).fetchone()
        if found is None:
            raise SegmentDamaged("it is empty")
        return row_of(found)

    def row(self, seq: int) -> AuditRow | None:
        """One row."""
        return row_at(self._database, seq)

    def add(self, rows: Sequence[AuditRow]) -> None:
        """Add rows to the group."""
        with DamageTold():
            insert(self._database, rows)

    def commit(self) -> None:
        """End the group; it is on disk when this returns."""
        with DamageTold():
            # Before the end: afterwards SQLite would take its locks once more.
            pages = self._database.execute("PRAGMA page_count").fetchone()[0]
            self._database.execute("COMMIT")
        self.size = pages * self._page_bytes

    def complete(self) -> None:
        """It is full: nothing is added any more, and it is searched by its index from now on."""
        with DamageTold():
            make_index(self._database)

    def close(self) -> None:
        """Give up what was not committed."""
        self._database.close()
