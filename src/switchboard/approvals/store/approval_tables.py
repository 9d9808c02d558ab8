"""Approvals in tables, whichever database they lie in: one connection on one thread."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, Self, TypeVar

from switchboard.approvals.store.database import unusable
from switchboard.approvals.store.pin_table import PinTable
from switchboard.approvals.store.question_table import QuestionTable
from switchboard.approvals.store.rule_table import RuleTable
from switchboard.core.loop.worker_thread import WorkerThread

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CoroutineType, TracebackType

    from switchboard.core.sql import Sql
    from switchboard.core.stores import Owners

P = ParamSpec("P")
T = TypeVar("T")


class OpenTables(NamedTuple):
    """The tables over one connection."""

    database: Sql
    questions: QuestionTable
    pins: PinTable
    rules: RuleTable


def _asking(
    method: Callable[Concatenate[QuestionTable, P], T],
) -> Callable[Concatenate[TableApprovals, P], CoroutineType[Any, Any, T]]:
    async def run(self: TableApprovals, *args: P.args, **more: P.kwargs) -> T:
        return await self.run(lambda opened: method(opened.questions, *args, **more))

    return run


def _pinning(
    method: Callable[Concatenate[PinTable, P], T],
) -> Callable[Concatenate[TableApprovals, P], CoroutineType[Any, Any, T]]:
    async def run(self: TableApprovals, *args: P.args, **more: P.kwargs) -> T:
        return await self.run(lambda opened: method(opened.pins, *args, **more))

    return run


def _ruling(
    method: Callable[Concatenate[RuleTable, P], T],
) -> Callable[Concatenate[TableApprovals, P], CoroutineType[Any, Any, T]]:
    async def run(self: TableApprovals, *args: P.args, **more: P.kwargs) -> T:
        return await self.run(lambda opened: method(opened.rules, *args, **more))

    return run


class TableApprovals(ABC):
    """An `ApprovalStore` over SQL. The database is opened by the first who asks."""

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

    def __init__(self, *, owners: Owners, clock: Callable[[], float]) -> None:
        self._owners = owners
        self._clock = clock
        self._opened: OpenTables | None = None
        self._worker = WorkerThread("approvals", look=self._look)
        self._subscribers: set[Changes] = set()
        self._is_closed = False

    def subscribe(self) -> Changes:
        return Changes(self._subscribers, self._worker.wake)

    async def aclose(self) -> None:
        self._is_closed = True
        await self._worker.aclose(self._close)

    async def run(self, work: Callable[[OpenTables], T]) -> T:
        """Work on the tables, on their thread."""
        if self._is_closed:
            raise unusable("the store is closed")
        return await self._worker.run(lambda: work(self._open()))

    # On the thread

    @abstractmethod
    def _connected(self) -> Sql:
        """Connect. Raises a fault."""

    @abstractmethod
    def _look(self) -> bool:
        """Called after each piece of work, and from time to time while it returns true."""

    def _open(self) -> OpenTables:
        if self._opened is None:
            database = self._connected()
            self._opened = OpenTables(
                database,
                QuestionTable(database, self._owners, clock=self._clock),
                PinTable(database, clock=self._clock),
                RuleTable(database),
            )
        return self._opened

    def _tell_all(self) -> None:
        """Something has changed. May be called on any thread."""
        for each in tuple(self._subscribers):
            each.tell()

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
        """Called on another thread than that of the loop."""
        # The loop may have ended, and with it whoever waited.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._news.set)
