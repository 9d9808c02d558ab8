"""Approvals in SQLite: one private file of the home, one connection on one thread."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, Self, TypeVar

from switchboard.approvals.store.database import Database, unusable
from switchboard.approvals.store.owners import ProcessOwners
from switchboard.approvals.store.pin_table import PinTable
from switchboard.approvals.store.question_table import QuestionTable
from switchboard.approvals.store.rule_table import RuleTable
from switchboard.core.loop.worker_thread import WorkerThread

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CoroutineType, TracebackType

    from switchboard.core.stores import Owners

P = ParamSpec("P")
T = TypeVar("T")


class _Opened(NamedTuple):
    database: Database
    questions: QuestionTable
    pins: PinTable
    rules: RuleTable


def _asking(
    method: Callable[Concatenate[QuestionTable, P], T],
) -> Callable[Concatenate[SqliteApprovals, P], CoroutineType[Any, Any, T]]:
    async def run(self: SqliteApprovals, *args: P.args, **more: P.kwargs) -> T:
        return await self.run(lambda opened: method(opened.questions, *args, **more))

    return run


def _pinning(
    method: Callable[Concatenate[PinTable, P], T],
) -> Callable[Concatenate[SqliteApprovals, P], CoroutineType[Any, Any, T]]:
    async def run(self: SqliteApprovals, *args: P.args, **more: P.kwargs) -> T:
        return await self.run(lambda opened: method(opened.pins, *args, **more))

    return run


def _ruling(
    method: Callable[Concatenate[RuleTable, P], T],
) -> Callable[Concatenate[SqliteApprovals, P], CoroutineType[Any, Any, T]]:
    async def run(self: SqliteApprovals, *args: P.args, **more: P.kwargs) -> T:
        return await self.run(lambda opened: method(opened.rules, *args, **more))

    return run


class SqliteApprovals:
    """The `ApprovalStore` of a home. The file is opened by the first who asks."""

    post = _asking(QuestionTable.post)
    decide = _asking(QuestionTable.decide)
    consume = _asking(QuestionTable.consume)
    answer = _asking(QuestionTable.answer)
    leave = _asking(QuestionTable.leave)
    waiting = _asking(QuestionTable.waiting)
    recent = _asking(QuestionTable.recent)
    find = _asking(QuestionTable.find)
    pin = _pinning(PinTable.pin)
    pinned = _pinning(PinTable.pinned)
    wanted = _pinning(PinTable.wanted)
    clients = _pinning(PinTable.clients)
    held = _pinning(PinTable.held)
    accept = _pinning(PinTable.accept)
    refuse = _pinning(PinTable.refuse)
    unsettled = _pinning(PinTable.unsettled)
    settle = _pinning(PinTable.settle)
    add_rule = _ruling(RuleTable.add_rule)
    rule = _ruling(RuleTable.rule)
    rules = _ruling(RuleTable.rules)
    drop_rule = _ruling(RuleTable.drop_rule)

    def __init__(
        self, home: str, *, owners: Owners | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._home = home
        self._owners = owners or ProcessOwners()
        self._clock = clock
        self._opened: _Opened | None = None
        # Other processes change the file and tell nobody: this thread looks, once for all who wait.
        self._worker = WorkerThread("approvals", look=self._look)
        self._seen = (0, 0)
        self._subscribers: set[Changes] = set()
        self._is_closed = False

    def subscribe(self) -> Changes:
        return Changes(self._subscribers, self._worker.wake)

    async def aclose(self) -> None:
        self._is_closed = True
        await self._worker.aclose(self._close)

    async def run(self, work: Callable[[_Opened], T]) -> T:
        """Work on the tables, on their thread."""
        if self._is_closed:
            raise unusable("the store is closed")
        return await self._worker.run(lambda: work(self._open()))

    # On the thread

    def _open(self) -> _Opened:
        if self._opened is None:
            database = Database(self._home)
            self._opened = _Opened(
                database,
                QuestionTable(database, self._owners, clock=self._clock),
                PinTable(database, clock=self._clock),
                RuleTable(database),
            )
            self._seen = database.version()
        return self._opened

    def _look(self) -> bool:
        # Who still listens after the end does not open it again.
        if self._is_closed or not self._subscribers:
            return False
        # What cannot be opened now is told to whoever asks for something in it.
        with contextlib.suppress(Exception):
            seen = self._open().database.version()
            if seen != self._seen:
                self._seen = seen
                for each in tuple(self._subscribers):
                    each.tell()
        return True

    def _close(self) -> None:
        if self._opened is not None:
            self._opened.database.close()
            self._opened = None


class Changes:
    """The `Subscription` of one who waits."""

    def __init__(self, subscribers: set[Changes], wake: Callable[[], None]) -> None:
        self._subscribers = subscribers
        self._wake = wake
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()

    def __enter__(self) -> Self:
        self._subscribers.add(self)
        self._wake()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        self._subscribers.discard(self)

    async def changed(self, within_s: float, /) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._news.wait()
        came = self._news.is_set()
        self._news.clear()
        return came

    def tell(self) -> None:
        """Called on the thread."""
        # The loop may have ended, and with it whoever waited.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._news.set)
