"""Where the audit log of a home is. The head and its key lie apart from the records."""

import re
from functools import cached_property
from pathlib import Path

from msgspec import Struct

_SEGMENT = re.compile(r"log-(\d{6})\.db")
_KEPT = re.compile(r"kept-(\d{6})\.db")


class AuditPaths(Struct, frozen=True, dict=True):
    """The files of one home's audit log. Each group asks for them, so each path is made once."""

    home: Path

    @cached_property
    def folder(self) -> Path:
        """Holds the records."""
        return self.home / "audit"

    @cached_property
    def state(self) -> Path:
        """Holds what proves that the records are all there."""
        return self.home / "state"

    @cached_property
    def key(self) -> Path:
        return self.state / "audit.key"

    @cached_property
    def head(self) -> Path:
        return self.state / "audit.head"

    @cached_property
    def lock(self) -> Path:
        """Held by whoever writes, over all processes."""
        return self.folder / "lock"

    def segment(self, number: int) -> Path:
        return self.folder / f"log-{number:06}.db"

    def segments(self) -> list[int]:
        """The numbers of the segments that are there, oldest first."""
        return self._numbered(_SEGMENT)

    def kept(self, number: int) -> Path:
        """Holds records of segments that were given up; see `audit.kept.kept_records`."""
        return self.folder / f"kept-{number:06}.db"

    def kept_files(self) -> list[int]:
        """The numbers of the files of kept records, oldest first."""
        return self._numbered(_KEPT)

    def _numbered(self, pattern: re.Pattern[str]) -> list[int]:
        try:
            names = [path.name for path in self.folder.iterdir()]
        except FileNotFoundError:
            return []
        return sorted(int(found[1]) for name in names if (found := pattern.fullmatch(name)))
