"""Runs in a table, whichever database it lies in: one connection on one thread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from switchboard.core.loop.worker_thread import WorkerThread
from switchboard.runs.store.database import unusable
from switchboard.runs.store.run_table import RunTable

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CoroutineType

    from switchboard.core.sql import Sql

P = ParamSpec("P")
T = TypeVar("T")


class OpenRuns(NamedTuple):
    """The table over one connection."""

    database: Sql
    table: RunTable


def _on_thread(
    method: Callable[Concatenate[RunTable, P], T],
) -> Callable[Concatenate[TableRuns, P], CoroutineType[Any, Any, T]]:
    async def run(self: TableRuns, *args: P.args, **more: P.kwargs) -> T:
        # By its name: a table of another database may do it in another way.
        return await self.run(lambda table: getattr(table, method.__name__)(*args, **more))

    return run


class TableRuns(ABC):
    """A `RunStore` over SQL. The database is opened by the first who asks."""

    add = _on_thread(RunTable.add)
    update = _on_thread(RunTable.update)
    get = _on_thread(RunTable.get)
    left = _on_thread(RunTable.left)
    listed = _on_thread(RunTable.listed)
    unfinished = _on_thread(RunTable.unfinished)
    last_of_thread = _on_thread(RunTable.last_of_thread)
    conversations = _on_thread(RunTable.conversations)
    claim = _on_thread(RunTable.claim)
    abandoned = _on_thread(RunTable.abandoned)
    adopt = _on_thread(RunTable.adopt)
    want_end = _on_thread(RunTable.want_end)
    unwanted = _on_thread(RunTable.unwanted)
    append = _on_thread(RunTable.append)
    transcript = _on_thread(RunTable.transcript)
    sweep = _on_thread(RunTable.sweep)

    def __init__(self) -> None:
        self._opened: OpenRuns | None = None
        self._worker = WorkerThread("runs")
        self._is_closed = False

    async def aclose(self) -> None:
        self._is_closed = True
        await self._worker.aclose(self._close)

    async def run(self, work: Callable[[RunTable], T]) -> T:
        """Work on the table, on its thread."""
        if self._is_closed:
            raise unusable("the store is closed")
        return await self._worker.run(lambda: work(self._open()))

    # On the thread

    @abstractmethod
    def _connected(self) -> OpenRuns:
        """Connect. Raises a fault."""

    def _open(self) -> RunTable:
        if self._opened is None:
            self._opened = self._connected()
        return self._opened.table

    def _close(self) -> None:
        if self._opened is not None:
            self._opened.database.close()
            self._opened = None
