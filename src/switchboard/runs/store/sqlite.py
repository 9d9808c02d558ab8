"""Runs in SQLite: one private file of the home, one connection on one thread."""

import time
from collections.abc import Callable

from switchboard.core.stores import Owners
from switchboard.runs.store.database import RunDatabase
from switchboard.runs.store.run_table import RunTable
from switchboard.runs.store.table_runs import OpenRuns, TableRuns


class SqliteRuns(TableRuns):
    """The `RunStore` of a home. The file is opened by the first who asks."""

    def __init__(
        self, home: str, *, owners: Owners, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__()
        self._home = home
        self._owners = owners
        self._clock = clock

    def _connected(self) -> OpenRuns:
        database = RunDatabase(self._home)
        return OpenRuns(database, RunTable(database, self._owners, clock=self._clock))
