"""Listings of several children side by side. One that takes too long holds up nobody."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from switchboard.children.child import Child
from switchboard.children.listings.listing import Kind, Listing
from switchboard.children.sharing.sources import ChildSource
from switchboard.core.channel import Channel
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.sessions import Session

# Who has not listed by then is announced when it has.
PATIENCE_S = 10.0


class HasChildren(Protocol):
    """Something that shows what a child lists."""

    @property
    def children(self) -> ChildSource:
        """Where the child comes from."""
        ...


H = TypeVar("H", bound=HasChildren)


async def recall(kind: Kind, holders: Sequence[HasChildren], session: Session) -> None:
    """Have every child that does not run say what it listed before, if it ever did.

    A name that it is shown with is its own, also while another that runs claims it.
    """
    for holder in holders:
        child = holder.children.shown_to(session)
        # Once: every call comes here, and a server that never listed has nothing on disk.
        if child is None or kind in child.listings.looked_up:
            continue
        if child.listings.shown(kind) is None:
            await child.remembered(kind)


class ListingCollector:
    """Asks children for their listings, and remembers who is late."""

    def __init__(self, announce: Callable[[str, str], None]) -> None:
        # Told what kind of listing can be asked for again, and for which session.
        self._announce = announce
        self._tasks = TaskSet()
        # Who was waited for in vain, and is still listing.
        self._late: set[tuple[Kind, Child]] = set()

    async def collect(
        self,
        kind: Kind,
        holders: Sequence[H],
        session: Session,
        channel: Channel | None,
        *,
        is_enough: Callable[[], bool] = lambda: False,
        failed: Callable[[H, Fault], None] = lambda _, __: None,
    ) -> list[tuple[H, Listing]]:
        """What each child lists, or listed before. One that cannot list is left out.

        `failed` is told why. Nobody is waited for once there `is_enough`.
        """
        found: dict[int, Listing] = {}
        waiting: dict[asyncio.Task[Listing], tuple[int, Child]] = {}
        for index, holder in enumerate(holders):
            child = holder.children.shown_to(session)
            if child is None:
                continue
            known = child.listings.known(kind)
            if known is None:
                known = await child.remembered(kind)
            if known is not None:
                found[index] = known
            elif (kind, child) not in self._late:
                waiting[self._tasks.start(child.listing(kind, channel))] = (index, child)
        late = await _first_of(set(waiting), PATIENCE_S, is_enough)
        for task, (index, child) in waiting.items():
            if task in late:
                self._await_late(task, kind, child, session)
            # Another may have asked for the same, and have been told first.
            elif (known := _result(task) or child.listings.known(kind)) is not None:
                found[index] = known
            elif isinstance(fault := _failure(task), Fault):
                failed(holders[index], fault)
        return [(holders[index], found[index]) for index in sorted(found)]

    def _await_late(
        self, task: "asyncio.Task[Listing]", kind: Kind, child: Child, session: Session
    ) -> None:
        """Nobody waits for it a second time; when it has listed, the client is told."""
        self._late.add((kind, child))

        def arrived(task: "asyncio.Task[Listing]") -> None:
            self._late.discard((kind, child))
            if not task.cancelled() and task.exception() is None:
                self._announce("resources" if kind == "templates" else kind, session.id)

        task.add_done_callback(arrived)

    async def aclose(self) -> None:
        """Ask nobody any more. The pool owns the children."""
        await self._tasks.aclose()


def known_listings(kind: Kind, holders: Sequence[H], session: Session) -> list[tuple[H, Listing]]:
    """What children have listed, or did before they ended: nobody waits for the others."""
    children = ((each, each.children.shown_to(session)) for each in holders)
    known = ((each, child.listings.shown(kind)) for each, child in children if child is not None)
    return [(each, listing) for each, listing in known if listing is not None]


def _result(task: "asyncio.Task[Listing]") -> Listing | None:
    is_done = task.done() and not task.cancelled() and task.exception() is None
    return task.result() if is_done else None


def _failure(task: "asyncio.Task[Listing]") -> BaseException | None:
    return task.exception() if task.done() and not task.cancelled() else None


async def _first_of(
    waiting: "set[asyncio.Task[Listing]]", patience_s: float, is_enough: Callable[[], bool]
) -> "set[asyncio.Task[Listing]]":
    """Wait for all of them, or for enough. Gives those that took too long."""
    until = asyncio.get_running_loop().time() + patience_s
    while waiting and not is_enough():
        left = until - asyncio.get_running_loop().time()
        done, waiting = await asyncio.wait(
            waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED
        )
        if not done:
            return waiting
    return set()
