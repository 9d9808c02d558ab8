"""Switchboard in one process: the current board, the children behind it, and how they end."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, cast

from switchboard.core.board import Board
from switchboard.core.events import ConfigLoaded, SessionClosed, SessionOpened
from switchboard.core.loop.tasks import close_all
from switchboard.daemon.board.assemble import Assembly, assemble
from switchboard.daemon.board.lease import CurrentBoard
from switchboard.daemon.logs.telemetry import exporting
from switchboard.settings.consent.trust_record import folder_now

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Mapping

    from switchboard.children.child import Child
    from switchboard.children.sharing.sources import ChildSource
    from switchboard.core.bus import EventBus
    from switchboard.core.events import Event
    from switchboard.daemon.board.engine import Built, Engine
    from switchboard.daemon.board.reload import LoadTree
    from switchboard.daemon.board.sharing.shared_children import SharedChildren
    from switchboard.daemon.team.membership import Team
    from switchboard.daemon.trees.board_trees import BoardTrees, OpenTree
    from switchboard.settings.sections import Settings


class Runtime:
    """What runs: settings, the board built from them, and the engine that calls need."""

    def __init__(
        self,
        settings: Settings,
        *,
        environ: Mapping[str, str],
        events: EventBus,
        shared_children: SharedChildren | None = None,
        # The file that its user named beside the usual ones.
        config: str = "",
        # What the settings list, if that is known already: to find out takes a moment.
        assembly: Assembly | None = None,
        # Opens what runs in other worktrees, for sessions that move to them.
        open_tree: OpenTree | None = None,
        # Whose state it shares.
        team: Team | None = None,
    ) -> None:
        self.settings = settings
        self._team = team
        self._open_tree = open_tree
        self._trees: BoardTrees | None = None
        self.events = events
        self._environ = environ
        self._shared_children = shared_children
        self._config = config
        # The ids of those who are connected.
        self.sessions: set[str] = set()
        events.subscribe(SessionCount(self._count_sessions))
        self._engine: Engine | None = None
        # Told when clients should list something again: its kind, and whose; empty means all.
        self.on_changed: set[Callable[[str, str], None]] = set()
        # Called when a board has been retired.
        self.on_retired: Callable[[], None] = lambda: None
        self._board = self._new_board(settings, assembly or self.assemble(settings))
        # The current board and those that calls still use.
        self._boards = [self._board]
        self.boards = CurrentBoard(self._board)

    @property
    def engine(self) -> Engine:
        """What runs calls, loaded by the first who needs it."""
        if self._engine is None:
            from switchboard.daemon.board.engine import Engine  # noqa: PLC0415 - see daemon.assemble
            from switchboard.daemon.trees.board_trees import BoardTrees  # noqa: PLC0415 - likewise

            self._trees = BoardTrees(self, self._open_tree)
            self._engine = Engine(
                self._environ,
                self.events,
                workspace=self.settings.workspace,
                others=self._trees,
                home=self.settings.home,
                config=self._config,
                sessions=self.sessions,
                shared_children=self._shared_children,
                announce=self.announce,
                team=self._team,
            )
        return self._engine

    def needed(self) -> Iterator[Child]:
        """The children that the current board leads to, and boards that still serve."""
        for board in self._boards:
            for source in board.built.sources.values() if board.built is not None else ():
                yield from source.children()

    def source(self, server: str) -> ChildSource:
        """Where the children of one of its servers come from."""
        return self._board.open().sources[server]

    def reachable(self) -> Iterator[Child]:
        """Every child that calls may wait for, also those that are shared."""
        if self._engine is not None:
            for pool in self._engine.pools:
                yield from pool

    def own_children(self) -> Iterator[tuple[str, Child]]:
        """Those that no other board uses, with the session that each belongs to, if any."""
        if self._engine is not None:
            yield from self._engine.pool.by_session()

    def _count_sessions(self, event: Event, /) -> None:
        kind = type(event)
        if kind is SessionOpened:
            self.sessions.add(cast("SessionOpened", event).session_id)
        elif kind is SessionClosed:
            session_id = cast("SessionClosed", event).session_id
            self.depart(session_id)
            if self._trees is not None:
                self._trees.leave(session_id)

    def visit(self, session_id: str) -> None:
        """A session of another board has come, until it departs."""
        self.sessions.add(session_id)

    def depart(self, session_id: str) -> None:
        """A session is here no more."""
        self.sessions.discard(session_id)
        if self._engine is not None:
            self._engine.leave(session_id)

    @property
    def is_replaced(self) -> bool:
        """Whether another folder lies at the path of the workspace than the settings are of."""
        known = {entry.folder_id for entry in self.settings.servers if entry.follow}
        return bool(known) and known != {folder_now(self.settings.workspace)}

    def warm(self) -> None:
        """Be ready for the first call."""
        self._board.open()

    @property
    def assembly(self) -> Assembly:
        """What clients see of the current settings."""
        return self._board.assembly

    def assemble(self, settings: Settings) -> Assembly:
        """What settings would list here. Safe on a thread, where it belongs."""
        return assemble(settings, self._environ)

    def _new_board(self, settings: Settings, assembly: Assembly) -> RunningBoard:
        warnings = [str(problem) for problem in settings.warnings]
        self.events.emit(
            ConfigLoaded(
                servers=len(settings.servers),
                tools=len(assembly.catalog.tools),
                warnings=(*warnings, *assembly.omissions),
                notices=tuple(
                    notice for listed in assembly.listed.values() for notice in listed.notices
                ),
            )
        )
        return RunningBoard(settings, assembly, lambda: self.engine)

    def adopt(self, settings: Settings, assembly: Assembly | None = None) -> None:
        """Swap in the board of new settings; children that both use go on running."""
        of_people = self.settings.people != settings.people
        old, new = self._board, self._new_board(settings, assembly or self.assemble(settings))
        new.open()
        self.settings, self._board = settings, new
        self._boards.append(new)
        self.boards.swap(new, lambda: self._abandon(old))
        differs = old.differs_from(new)
        if differs or of_people or new.catalog.differs_from(old.catalog):
            self.announce("tools", "")
        if differs:
            self.announce("prompts", "")
            self.announce("resources", "")

    def open_view(self, settings: Settings) -> RunningBoard:
        """Another board over the same children, until it is closed."""
        board = RunningBoard(settings, self.assemble(settings), lambda: self.engine)
        self._boards.append(board)
        return board

    def close_view(self, board: RunningBoard) -> None:
        """Nobody uses it any more."""
        self._abandon(board)

    @asynccontextmanager
    async def view(self, settings: Settings) -> AsyncGenerator[Board]:
        """Another board over the same children, for as long as the block runs."""
        # It may try the sandbox, and others are served meanwhile.
        assembly = await asyncio.to_thread(assemble, settings, self._environ)
        board = RunningBoard(settings, assembly, lambda: self.engine)
        self._boards.append(board)
        try:
            yield board
        finally:
            if self._shared_children is not None:
                # Children stay for the clients of the board, which knows them once it is built.
                self._board.open()
            self._abandon(board)

    def announce(self, kind: str, session_id: str) -> None:
        """Have clients told that another listing is worth asking for."""
        for tell in tuple(self.on_changed):
            tell(kind, session_id)

    def _abandon(self, board: RunningBoard) -> None:
        """Nobody uses this board any more."""
        self._boards.remove(board)
        if board.built is not None:
            self.engine.retire(board.built, self.needed())
        self.on_retired()

    async def aclose(self) -> None:
        """End every child."""
        if self._trees is not None:
            self._trees.close()
        if self._engine is not None:
            try:
                await self._engine.end_runs()
                built = (board.built for board in self._boards)
                await close_all(each.aclose() for each in built if each is not None)
            finally:
                await self._engine.aclose()


class SessionCount:
    """Hears that sessions begin and end, and nothing else."""

    def __init__(self, count: Callable[[Event], None]) -> None:
        self._count = count

    def hears(self, kind: type[Event]) -> bool:
        return kind is SessionOpened or kind is SessionClosed

    def __call__(self, event: Event, /) -> None:
        self._count(event)


class RunningBoard(Board):
    """The board of some settings. What runs calls is built by the first who needs it."""

    __slots__ = ("_engine", "assembly", "built", "settings")

    def __init__(
        self, settings: Settings, assembly: Assembly, engine: Callable[[], Engine]
    ) -> None:
        listed = assembly.listed.values()
        super().__init__(
            catalog=assembly.catalog,
            pipeline=lambda call: self.open().pipeline(call),
            directory=lambda: self.open().directory,
            listing=frozenset(kind for each in listed for kind in each.offers),
            tasks=(lambda: self.open().tasks) if any(each.has_tasks for each in listed) else None,
        )
        self.settings = settings
        self.assembly = assembly
        self._engine = engine
        self.built: Built | None = None

    def open(self) -> Built:
        """Build what runs calls, once."""
        if self.built is None:
            self.built = self._engine().build(self.settings, self.assembly)
            self.pipeline = self.built.pipeline
        return self.built

    def differs_from(self, other: RunningBoard) -> bool:
        """Whether the two lead to other servers, or list other kinds of things."""
        ours, theirs = self.settings.servers, other.settings.servers
        return ours != theirs or self._offers() != other._offers()

    def _offers(self) -> dict[str, frozenset[str]]:
        return {key: listed.offers for key, listed in self.assembly.listed.items()}


@asynccontextmanager
async def running(
    settings: Settings,
    *,
    environ: Mapping[str, str],
    events: EventBus,
    load_tree: LoadTree | None = None,
    team: Team | None = None,
) -> AsyncGenerator[Runtime]:
    """A runtime that is closed whatever happens. `load_tree` reads settings of other worktrees."""
    with exporting(events, environ):
        async with AsyncExitStack() as then:
            open_tree = None
            if load_tree is not None:
                open_tree = _opener(settings.workspace, load_tree, environ, events, then)
            runtime = Runtime(
                settings, environ=environ, events=events, open_tree=open_tree, team=team
            )
            then.push_async_callback(runtime.aclose)
            yield runtime


def _opener(
    workspace: str,
    load_tree: LoadTree,
    environ: Mapping[str, str],
    events: EventBus,
    then: AsyncExitStack,
) -> OpenTree:
    trees: list[OpenTree] = []

    async def open_tree(root: str) -> Runtime:
        if not trees:
            # Few servers follow, and few sessions move.
            from switchboard.daemon.trees.own_trees import OwnTrees  # noqa: PLC0415

            own = OwnTrees(workspace, load_tree, environ, events)
            then.push_async_callback(own.aclose)
            trees.append(own)
        return await trees[0](root)

    return open_tree
