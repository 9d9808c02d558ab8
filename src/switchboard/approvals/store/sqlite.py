"""Approvals in SQLite: one private file of the home, one connection on one thread."""

import contextlib
import time
from collections.abc import Callable

from switchboard.approvals.store.approval_tables import TableApprovals
from switchboard.approvals.store.database import Database
from switchboard.approvals.store.owners import ProcessOwners
from switchboard.core.stores import Owners


class SqliteApprovals(TableApprovals):
    """The `ApprovalStore` of a home. The file is opened by the first who asks."""

    def __init__(
        self, home: str, *, owners: Owners | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(owners=owners or ProcessOwners(), clock=clock)
        self._home = home
        self._file: Database | None = None
        self._seen = (0, 0)

    def _connected(self) -> Database:
        self._file = Database(self._home)
        self._seen = self._file.version()
        return self._file

    def _look(self) -> bool:
        """Other processes change the file and tell nobody: one look serves all who wait."""
        # Who still listens after the end does not open it again.
        if self._is_closed or not self._subscribers:
            return False
        # What cannot be opened now is told to whoever asks for something in it.
        with contextlib.suppress(Exception):
            self._open()
            if self._file is not None:
                seen = self._file.version()
                if seen != self._seen:
                    self._seen = seen
                    self._tell_all()
        return True
