"""Listings of several children side by side. One that takes too long holds up nobody."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from switchboard.children.child import Child
from switchboard.children.listings.listing import Kind, Listing
from switchboard.children.listings.turns import Turns
from switchboard.children.sharing.sources import ChildSource
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.sessions import Session

# Who has not listed by then is announced when it has.
PATIENCE_S = 10.0
# The same for prompts and resources, which most servers do not have: a host that begins asks for
# them beside the tools, and shows nothing before it has them.
CONTENTS_PATIENCE_S = 2.0
# Servers that list one after the other are announced together.
TOGETHER_S = 1.0


class _Late:
    """A listing that was waited for in vain, and the sessions that lack it."""

    def __init__(self, task: "asyncio.Task[Listing]") -> None:
        self.task = task
        self.sessions: set[str] = set()


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
        self._turns = Turns()
        # Who was waited for in vain, and is still listing.
        self._late: dict[tuple[Kind, Child], _Late] = {}
        # What sessions are about to be told of.
        self._news: set[tuple[str, str]] = set()

    async def collect(
        self,
        kind: Kind,
        holders: Sequence[H],
        session: Session,
        channel: Channel | None,
        *,
        with_late: bool = False,
        is_enough: Callable[[], bool] = lambda: False,
        failed: Callable[[H, Fault], None] = lambda _, __: None,
    ) -> list[tuple[H, Listing]]:
        """What each child lists, or listed before. One that cannot list is left out.

        `failed` is told why. Nobody is waited for once there `is_enough`, nor a second time; who
        wants something certain waits as long as for tools, and `with_late` ones.
        """
        found, waiting = await self._begun(kind, holders, session, channel, with_late=with_late)
        patience_s = PATIENCE_S if kind == "tools" or with_late else CONTENTS_PATIENCE_S
        missing = await _first_of(set(waiting), patience_s, is_enough)
        for task, (index, child) in waiting.items():
            if task in missing:
                self._await_late(task, kind, child).sessions.add(session.id)
            # Another may have asked for the same, and have been told first.
            elif (known := _result(task) or child.listings.known(kind)) is not None:
                found[index] = known
            elif isinstance(fault := _failure(task), Fault):
                failed(holders[index], fault)
        return [(holders[index], found[index]) for index in sorted(found)]

    async def _begun(
        self,
        kind: Kind,
        holders: Sequence[H],
        session: Session,
        channel: Channel | None,
        *,
        with_late: bool,
    ) -> "tuple[dict[int, Listing], dict[asyncio.Task[Listing], tuple[int, Child]]]":
        """What is known by the place of its holder, and what has to be waited for."""
        found: dict[int, Listing] = {}
        waiting: dict[asyncio.Task[Listing], tuple[int, Child]] = {}
        for index, holder in enumerate(holders):
            child = holder.children.shown_to(session)
            if child is None:
                continue
            known = child.listings.known(kind)
            if known is None:
                known = await child.remembered(kind)
            late = self._late.get((kind, child))
            if known is not None:
                found[index] = known
            elif late is None:
                waiting[self._tasks.start(self._asked(kind, child, channel))] = (index, child)
            elif with_late:
                waiting[late.task] = (index, child)
            else:
                late.sessions.add(session.id)
        return found, waiting

    def awaits(self, kind: Kind) -> bool:
        """Whether somebody is still to list this."""
        return any(each == kind for each, _ in self._late)

    async def _asked(self, kind: Kind, child: Child, channel: Channel | None) -> Listing:
        if kind == "tools":
            return await child.listing(kind, channel)
        return await self._turns.take(child, lambda: child.listing(kind, channel))

    def _await_late(self, task: "asyncio.Task[Listing]", kind: Kind, child: Child) -> _Late:
        """Nobody waits for it a second time; when it has listed, who lacks it is told."""
        if (late := self._late.get((kind, child))) is not None:
            return late
        late = self._late[(kind, child)] = _Late(task)

        def arrived(task: "asyncio.Task[Listing]") -> None:
            del self._late[(kind, child)]
            listed = _result(task)
            for session_id in late.sessions if listed is not None and listed.entries else ():
                self._tell("resources" if kind == "templates" else kind, session_id)

        task.add_done_callback(arrived)
        return late

    def _tell(self, feature: str, session_id: str) -> None:
        """Announce it soon, with whatever else has come by then."""
        if (feature, session_id) not in self._news:
            self._news.add((feature, session_id))
            loop = asyncio.get_running_loop()
            loop.call_later(TOGETHER_S, self._tell_now, feature, session_id)

    def _tell_now(self, feature: str, session_id: str) -> None:
        self._news.discard((feature, session_id))
        self._announce(feature, session_id)

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
