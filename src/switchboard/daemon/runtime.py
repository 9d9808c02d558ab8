"""Switchboard in one process: the current board, the children behind it, and how they end."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

from switchboard.core.board import Board
from switchboard.core.events import ConfigLoaded, SessionClosed, SessionOpened
from switchboard.core.names import fold
from switchboard.daemon.assemble import Assembly, assemble
from switchboard.daemon.board_lease import CurrentBoard
from switchboard.daemon.telemetry import exporting

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping

    from switchboard.children.child import Child
    from switchboard.children.pool import ChildSource
    from switchboard.core.bus import EventBus
    from switchboard.core.calls import Call, Outcome
    from switchboard.core.events import Event
    from switchboard.core.ports import Next
    from switchboard.daemon.engine import Built, Engine
    from switchboard.daemon.shared_children import SharedChildren
    from switchboard.settings.sections import Settings


class Runtime:
    """What runs: settings, the board built from them, and the engine that calls need."""

    def __init__(
        self,
        settings: Settings,
        *,
        environ: Mapping[str, str],
        events: EventBus,
        commons: SharedChildren | None = None,
    ) -> None:
        self.settings = settings
        self.events = events
        self._environ = environ
        self._commons = commons
        # The ids of those who are connected.
        self.sessions: set[str] = set()
        events.subscribe(self._count_sessions)
        self._engine: Engine | None = None
        # Told when clients should list something again: its kind, and whose; empty means all.
        self.on_changed: set[Callable[[str, str], None]] = set()
        # Called when a board has been retired.
        self.on_retired: Callable[[], None] = lambda: None
        self.assembly = self._assemble(settings)
        self._road = Road(self, settings, self.assembly)
        # The current road and those that calls still travel.
        self._roads = [self._road]
        self.boards = CurrentBoard(self._road.board())

    @property
    def engine(self) -> Engine:
        """What runs calls, loaded by the first who needs it."""
        if self._engine is None:
            from switchboard.daemon.engine import Engine  # noqa: PLC0415 - see daemon.assemble

            self._engine = Engine(
                self._environ,
                self.events,
                workspace=self.settings.workspace,
                home=self.settings.home,
                sessions=self.sessions,
                commons=self._commons,
                announce=self.announce,
            )
        return self._engine

    def needed(self) -> Iterator[Child]:
        """The children that the current board leads to, and boards that still serve."""
        for road in self._roads:
            for source in road.sources:
                yield from source.children()

    def children(self) -> Iterator[tuple[str, Child]]:
        """Every child of its own, with the session that it belongs to."""
        if self._engine is not None:
            yield from self._engine.pool.by_session()

    def _count_sessions(self, event: Event, /) -> None:
        kind = type(event)
        if kind is SessionOpened:
            self.sessions.add(cast("SessionOpened", event).session_id)
        elif kind is SessionClosed:
            session_id = cast("SessionClosed", event).session_id
            self.sessions.discard(session_id)
            if self._engine is not None:
                self._engine.leave(session_id)

    def warm(self) -> None:
        """Be ready for the first call."""
        self._road.open()

    def _assemble(self, settings: Settings) -> Assembly:
        assembly = assemble(settings, self._environ)
        warnings = [str(problem) for problem in settings.warnings]
        self.events.emit(
            ConfigLoaded(
                servers=len(settings.servers),
                tools=len(assembly.catalog.tools),
                warnings=(*warnings, *assembly.omissions),
            )
        )
        return assembly

    def adopt(self, settings: Settings) -> None:
        """Swap in the board of new settings; children that both use go on running."""
        assembly = self._assemble(settings)
        changed = assembly.catalog.differs_from(self.assembly.catalog)
        road = Road(self, settings, assembly)
        road.open()
        old = self._road
        self.settings, self.assembly, self._road = settings, assembly, road
        self._roads.append(road)
        self.boards.swap(road.board(), lambda: self._abandon(old))
        if changed or old.differs_from(road):
            self.announce("tools", "")
        if old.differs_from(road):
            self.announce("prompts", "")
            self.announce("resources", "")

    def announce(self, kind: str, session_id: str) -> None:
        """Have clients told that another listing is worth asking for."""
        for tell in tuple(self.on_changed):
            tell(kind, session_id)

    def _abandon(self, road: Road) -> None:
        """Nobody travels this road any more; neither do children that no other leads to."""
        self._roads.remove(road)
        self.engine.pool.retain(self.needed())
        self.on_retired()

    async def aclose(self) -> None:
        """End every child."""
        if self._engine is not None:
            await self._engine.aclose()


class Road:
    """The road of one board, built when it is first needed."""

    def __init__(self, runtime: Runtime, settings: Settings, assembly: Assembly) -> None:
        self._runtime = runtime
        self._settings = settings
        self._assembly = assembly
        self._built: Built | None = None
        self._next: Next | None = None

    def board(self) -> Board:
        """The board that this road belongs to."""
        servers = self._settings.servers
        return Board(
            catalog=self._assembly.catalog,
            pipeline=self,
            relay=(lambda: self.open().relay) if servers or self._settings.yard else None,
            shows_tools=any(entry.expose == "tools" for entry in servers),
        )

    def open(self) -> Built:
        """Build it, once."""
        if self._built is None:
            folded = {fold(name) for name in self._assembly.catalog.tools}
            self._built = self._runtime.engine.road(self._settings, folded.__contains__)
            self._next = self._built.road
        return self._built

    @property
    def sources(self) -> list[ChildSource]:
        """Where its children come from."""
        return self._built.sources if self._built is not None else []

    def differs_from(self, other: Road) -> bool:
        """Whether the two lead to other servers, or only one of them to a yard."""
        ours, theirs = self._settings, other._settings
        return ours.servers != theirs.servers or (ours.yard is None) != (theirs.yard is None)

    def __call__(self, call: Call) -> Awaitable[Outcome]:
        return (self._next or self.open().road)(call)


@asynccontextmanager
async def running(
    settings: Settings, *, environ: Mapping[str, str], events: EventBus
) -> AsyncGenerator[Runtime]:
    """A runtime that is closed whatever happens."""
    with exporting(events, environ):
        runtime = Runtime(settings, environ=environ, events=events)
        try:
            yield runtime
        finally:
            await runtime.aclose()
