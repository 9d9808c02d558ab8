"""The composition root, second half: what runs calls."""

from collections.abc import Mapping

from switchboard.children.child import Child, Limits
from switchboard.children.environment import EnvironmentSecrets
from switchboard.children.pool import ChildPool
from switchboard.core.ports import Events, Next
from switchboard.core.visibility import Visibility
from switchboard.daemon.memory import return_large_blocks
from switchboard.pipeline.order import build_road
from switchboard.procs.spawn import Warden
from switchboard.providers.suites.build import build_suites
from switchboard.providers.suites.provider import SuitesProvider
from switchboard.settings.sections import Settings


class Engine:
    """Owns the children; builds the road of every board."""

    def __init__(self, environ: Mapping[str, str], events: Events) -> None:
        return_large_blocks()
        self._events = events
        self._warden = Warden()
        self.pool = ChildPool(
            environ=environ,
            secrets=EnvironmentSecrets(environ),
            events=events,
            warden=self._warden,
        )

    def road(self, settings: Settings) -> tuple[Next, list[Child]]:
        """The road that leads to the providers of these settings, and the children behind it."""
        limits = Limits(
            spawn_s=settings.timeouts.child_spawn_ms / 1000,
            rpc_s=settings.timeouts.rpc_ms / 1000,
            idle_s=settings.timeouts.idle_ms / 1000,
        )
        suites = build_suites(
            settings.servers,
            settings.suites,
            introspection=settings.introspection,
            limits=limits,
            pool=self.pool,
        )
        provider = SuitesProvider(suites)
        shown = Visibility(settings.tools.allow, settings.tools.deny)
        road = build_road({provider.key: provider}, shown, self._events)
        return road, [suite.child for suite in suites]

    async def aclose(self) -> None:
        """End every child."""
        await self.pool.aclose()
        self._warden.close()
