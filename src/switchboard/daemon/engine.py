"""The composition root, second half: what runs calls."""

from collections.abc import Collection, Mapping
from typing import cast

from switchboard.children.child import Limits
from switchboard.children.environment import EnvironmentSecrets
from switchboard.children.pool import ChildPool, ChildSource
from switchboard.core.ports import Events, Next
from switchboard.core.visibility import Visibility
from switchboard.daemon.commons import Commons
from switchboard.daemon.enclosing import Enclosures
from switchboard.daemon.memory import return_large_blocks
from switchboard.pipeline.order import build_road
from switchboard.procs.spawn import Warden
from switchboard.providers.suites.build import build_suites
from switchboard.providers.suites.provider import SuitesProvider
from switchboard.sandbox.sandbox import platform_sandbox
from switchboard.settings.sections import Settings
from switchboard.settings.trust import still_trusted


class Engine:
    """Owns the children; builds the road of every board."""

    def __init__(
        self,
        environ: Mapping[str, str],
        events: Events,
        *,
        workspace: str,
        sessions: Collection[str] = (),
        commons: Commons | None = None,
    ) -> None:
        return_large_blocks()
        self._events = events
        self._own_warden = None if commons is not None else Warden()
        self.pool = ChildPool(
            environ=environ,
            secrets=EnvironmentSecrets(environ),
            events=events,
            warden=commons.warden if commons is not None else cast("Warden", self._own_warden),
            sessions=sessions,
            commons=None if commons is None else commons.pool_for(environ),
            is_trusted=lambda entry: still_trusted(entry, workspace),
            enclose=Enclosures(platform_sandbox(), environ, workspace),
        )

    def road(self, settings: Settings) -> tuple[Next, list[ChildSource]]:
        """The road to the providers of these settings, and where their children come from."""
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
        return road, [suite.children for suite in suites]

    async def aclose(self) -> None:
        """End every child."""
        await self.pool.aclose()
        if self._own_warden is not None:
            self._own_warden.close()
