"""Switchboard in one process: children, the current board, the log, and how they end."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from switchboard.children.environment import EnvironmentSecrets
from switchboard.children.pool import ChildPool
from switchboard.core.bus import EventBus
from switchboard.core.events import ConfigLoaded
from switchboard.daemon.assemble import Assembly, assemble
from switchboard.daemon.boards import BoardRack
from switchboard.procs.spawn import Warden
from switchboard.settings.sections import Settings


class Runtime:
    """What runs: settings, children and the board built from them."""

    def __init__(self, settings: Settings, *, environ: Mapping[str, str], events: EventBus) -> None:
        self.settings = settings
        self.events = events
        self.warden = Warden()
        self.pool = ChildPool(
            environ=environ,
            secrets=EnvironmentSecrets(environ),
            events=events,
            warden=self.warden,
        )
        self.assembly = self._assemble(settings)
        self.boards = BoardRack(self.assembly.board)

    def _assemble(self, settings: Settings) -> Assembly:
        assembly = assemble(settings, pool=self.pool, events=self.events)
        warnings = [str(problem) for problem in settings.warnings]
        self.events.emit(
            ConfigLoaded(
                servers=len(settings.servers),
                tools=len(assembly.board.catalog.tools),
                warnings=(*warnings, *assembly.omissions),
            )
        )
        return assembly

    def adopt(self, settings: Settings) -> None:
        """Swap in the board of new settings; children that both use go on running."""
        assembly = self._assemble(settings)
        self.settings, self.assembly = settings, assembly
        children = [suite.child for suite in assembly.suites]
        self.boards.swap(assembly.board, lambda: self.pool.retain(children))

    async def aclose(self) -> None:
        """End every child."""
        await self.pool.aclose()
        self.warden.close()


@asynccontextmanager
async def running(
    settings: Settings, *, environ: Mapping[str, str], events: EventBus
) -> AsyncGenerator[Runtime]:
    """A runtime that is closed whatever happens."""
    runtime = Runtime(settings, environ=environ, events=events)
    try:
        yield runtime
    finally:
        await runtime.aclose()
