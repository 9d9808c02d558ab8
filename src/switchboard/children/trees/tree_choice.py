"""The worktree that each request to a following server is about, and the server that is there."""

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Raw, Struct
from msgspec.structs import replace

from switchboard.children.schema import ServerEntry
from switchboard.children.server_launches import ServerLaunches
from switchboard.children.trees import faults
from switchboard.children.trees.client_roots import ClientRoots, says_changes
from switchboard.children.trees.judging import TreeRequest, judge
from switchboard.children.trees.worktrees import repository_of
from switchboard.core.calls.call import EMPTY_OBJECT, Call
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault
from switchboard.core.sessions import ChosenTree, Era, Session

if TYPE_CHECKING:
    from switchboard.children.sharing.sources import ChildSource

# Clients that come without a session are never seen to leave, and worktrees come and go.
_MOST_KNOWN = 1_024
_MOST_LAUNCHES = 64


class Follower(Protocol):
    """Something that shows a server that follows."""

    @property
    def children(self) -> "ChildSource":
        """Where its children come from."""
        ...


async def placed(
    call: Call,
    trees: "TreeChoice",
    paths: Raw = EMPTY_OBJECT,
    *,
    named: str = "",
    naming: faults.Naming = faults.in_suites,
) -> Call:
    """The call in the worktree that it is about, by its arguments among others. Raises a fault."""
    session = await trees.place(
        call.session,
        call.channel,
        arguments=paths,
        named=named or call.session.worktree,
        naming=naming,
    )
    return replace(call, session=session)


async def settled(
    followers: Iterable[Follower],
    session: Session,
    channel: Channel | None,
    failed: Callable[[Any, Fault], None] = lambda _, __: None,
) -> Session:
    """The session in the worktree where it is, with those at hand that follow it there.

    `failed` is told who cannot, and why.
    """
    for each in followers:
        assert each.children.trees is not None, "it follows"
        try:
            session = await each.children.trees.settle(session, channel)
        except Fault as fault:
            failed(each, fault)
    return session


class TreeServer(Struct, frozen=True, eq=False):
    """A server as it is in another worktree."""

    entry: ServerEntry
    source: "ChildSource"


class OtherTrees(Protocol):
    """What serves in the other worktrees of a repository."""

    async def server(self, tree: ChosenTree, name: str, session: Session) -> TreeServer:
        """The server of this name there, for a session of ours. Raises a fault."""
        ...


class TreeGround:
    """What all following servers of a board know of its sessions."""

    def __init__(self, workspace: str, user_home: str, others: OtherTrees) -> None:
        self.workspace = workspace
        self.user_home = user_home
        self.others = others
        self.roots = ClientRoots()
        # The worktree of each session, as far as no request says otherwise.
        self.current: dict[str, ChosenTree] = {}
        # Every worktree that was ever there, by its folder.
        self.seen: dict[str, str] = {}

    def note(self, session: Session, tree: ChosenTree) -> None:
        """Remember where a session is."""
        while len(self.current) >= _MOST_KNOWN:
            del self.current[next(iter(self.current))]
        self.current[session.holder] = tree

    def leave(self, session_id: str) -> None:
        """A session has ended."""
        self.current.pop(session_id, None)
        self.roots.leave(session_id)


class TreeChoice:
    """Knows one server that follows, in all worktrees."""

    def __init__(self, entry: ServerEntry, own: "ChildSource", ground: TreeGround) -> None:
        self._entry = entry
        self.own = own
        self._ground = ground
        self._open: dict[str, TreeServer] = {}
        self._launches: dict[tuple[str, str], tuple[ServerEntry, ServerLaunches]] = {}

    async def place(
        self,
        session: Session,
        channel: Channel | None,
        *,
        arguments: Raw = EMPTY_OBJECT,
        named: str = "",
        naming: faults.Naming = faults.in_suites,
    ) -> Session:
        """The session as it is in the worktree that a request is about. Raises a fault."""
        if session.via == "cli":
            naming = faults.in_commands
        is_asked = not named and session.tree is None
        roots = await self._roots(session, channel) if is_asked else ()
        tree = await self._judged(session, roots, arguments, named, naming)
        if is_asked and not tree.why:
            self._ground.note(session, tree)
        await self._enter(tree, session)
        return replace(session, workspace=tree.root, tree=tree)

    async def settle(self, session: Session, channel: Channel | None) -> Session:
        """The session in the worktree where it is by itself, for a listing. Raises a fault."""
        if session.tree is not None:
            await self._enter(session.tree, session)
            return session
        # In the modern era only the answer to a call can ask.
        is_modern = session.era is Era.MODERN
        return await self.place(session, None if is_modern else channel)

    def moved(self, session: Session) -> None:
        """The client of a session says that it works elsewhere now."""
        self._ground.roots.changed(session)

    def source_of(self, session: Session) -> "ChildSource | None":
        """Where the child of a session comes from; nothing where it cannot be used."""
        tree = session.tree or self._ground.current.get(session.holder)
        if tree is None or tree.root == self._ground.workspace:
            return self.own
        there = self._open.get(tree.root)
        return None if there is None else there.source

    def not_entered(self, session: Session) -> Fault:
        """Why there is no child for a session: nobody has looked at its worktree lately."""
        tree = session.tree or self._ground.current.get(session.holder)
        name = tree.name if tree is not None else ""
        return faults.not_there(self._entry.name, name, "nothing serves there now", "call again")

    def launches(self, session: Session, own: ServerLaunches) -> ServerLaunches:
        """What its tools launch in the worktree of a request; `own` is for that of the board."""
        tree = session.tree
        if tree is None or (tree.root == self._ground.workspace and not tree.why):
            return own
        there = self._open.get(tree.root)
        if there is None:
            there = TreeServer(self._entry, self.own)
        key = (tree.root, tree.why)
        kept = self._launches.get(key)
        if kept is None or kept[0] is not there.entry:
            while len(self._launches) >= _MOST_LAUNCHES:
                del self._launches[next(iter(self._launches))]
            made = ServerLaunches(there.entry, there.source.cwd, tree=tree)
            kept = self._launches[key] = (there.entry, made)
        return kept[1]

    async def _enter(self, tree: ChosenTree, session: Session) -> None:
        """Have the server of a worktree at hand."""
        if tree.root == self._ground.workspace:
            return
        try:
            there = await self._ground.others.server(tree, self._entry.name, session)
        except BaseException:
            self._open.pop(tree.root, None)
            raise
        # Only now: other calls to it go on while we look.
        self._open.pop(tree.root, None)
        while len(self._open) >= _MOST_KNOWN:
            del self._open[next(iter(self._open))]
        self._open[tree.root] = there

    async def _roots(self, session: Session, channel: Channel | None) -> tuple[str, ...]:
        """Where the client says that it works."""
        ground = self._ground
        if channel is None or not ground.roots.has_to_ask(session):
            return ground.roots.known(session)
        at = ground.current.get(session.holder)
        if at is None or at.root == ground.workspace:
            found = await asyncio.to_thread(repository_of, ground.workspace)
            # Where there is one worktree alone, nobody is asked about it at every call.
            if found is None or (len(found.trees) == 1 and not says_changes(session)):
                return ()
        return await ground.roots.ask(session, channel)

    async def _judged(
        self,
        session: Session,
        roots: tuple[str, ...],
        arguments: Raw,
        named: str,
        naming: faults.Naming,
    ) -> ChosenTree:
        ground = self._ground
        judged = await asyncio.to_thread(
            judge,
            TreeRequest(
                server=self._entry.name,
                workspace=ground.workspace,
                user_home=ground.user_home,
                named=named,
                chosen=session.tree,
                roots=roots,
                started_in=session.started_in,
                is_local=session.via != "http",
                seen=dict(ground.seen),
                arguments=arguments,
                naming=naming,
            ),
        )
        for top, name in judged.there.items():
            if top not in ground.seen and len(ground.seen) >= _MOST_KNOWN:
                del ground.seen[next(iter(ground.seen))]
            ground.seen[top] = name
        return judged.tree
