"""The composition root, second half: what runs calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from switchboard.children.environment import EnvironmentSecrets
from switchboard.children.launcher import Launcher
from switchboard.children.life import Limits
from switchboard.children.memory import Memories
from switchboard.children.pool import ChildPool, ChildSource
from switchboard.children.schema import ServerEntry
from switchboard.core.discretion import DiscreetEvents
from switchboard.core.ports import Audit, Events, Next, Provider, Relay
from switchboard.core.secrets import SecretBook
from switchboard.core.visibility import Visibility
from switchboard.daemon.assemble import sandbox_refusals
from switchboard.daemon.confining import Confining
from switchboard.daemon.malloc import return_large_blocks
from switchboard.daemon.sandbox_trail import SandboxTrail
from switchboard.daemon.secret_values import secret_values
from switchboard.daemon.shared_children import SharedChildren
from switchboard.pipeline.order import build_road
from switchboard.procs.limits import leave_no_core
from switchboard.procs.spawn import Warden
from switchboard.providers.relay.offering import Offering
from switchboard.providers.relay.provider import RelayProvider
from switchboard.providers.suites.build import build_suites
from switchboard.providers.suites.provider import SuitesProvider
from switchboard.providers.suites.schema import SuiteSettings
from switchboard.settings.sections import Settings
from switchboard.settings.trust import still_trusted

if TYPE_CHECKING:
    from switchboard.daemon.gatehouse import Gatehouse, Gates
    from switchboard.daemon.yard import Yard

_DEFAULT = SuiteSettings()


class Built(Struct, frozen=True, eq=False, kw_only=True):
    """What one board needs."""

    road: Next
    relay: Relay
    # Where its children come from.
    sources: list[ChildSource]


class Engine:
    """Owns the children; builds the road of every board."""

    def __init__(
        self,
        environ: Mapping[str, str],
        events: Events,
        *,
        workspace: str,
        sessions: Collection[str] = (),
        commons: SharedChildren | None = None,
        # Where it is remembered what children offer.
        home: str = "",
        # Told what kind of listing changed, and for which session; an empty id means all of them.
        announce: Callable[[str, str], None] = lambda _kind, _session: None,
    ) -> None:
        return_large_blocks()
        leave_no_core()
        self._book = SecretBook()
        self._events = events = DiscreetEvents(events, self._hide)
        self._environ = environ
        self._commons = commons
        self._own_warden = None if commons is not None else Warden()
        self._warden = commons.warden if commons is not None else cast("Warden", self._own_warden)
        self._shared = commons.enter(environ) if commons is not None else None
        self.pool = ChildPool(
            environ=environ,
            secrets=EnvironmentSecrets(environ),
            events=SandboxTrail(events, self._audit),
            warden=self._warden,
            sessions=sessions,
            commons=self._shared,
            memories=Memories(home) if home else None,
            is_trusted=lambda entry: still_trusted(entry, workspace),
            enclose=Confining(environ, workspace),
            book=self._book,
        )
        self._announce = announce
        self._gatehouse: Gatehouse | None = None
        self._yard: Yard | None = None
        for pool in self._pools:
            pool.on_changed.add(announce)

    def road(self, settings: Settings, taken: Callable[[str], bool]) -> Built:
        """The road to the providers of these settings, and what it leads past."""
        for pool in self._pools:
            pool.book.learn(secret_values(settings, self._environ))
        limits = Limits(
            spawn_s=settings.timeouts.child_spawn_ms / 1000,
            rpc_s=settings.timeouts.rpc_ms / 1000,
            idle_s=settings.timeouts.idle_ms / 1000,
            longest_s=settings.timeouts.longest_ms / 1000,
        )
        refused = sandbox_refusals(settings)
        servers = [entry for entry in settings.servers if entry.name not in refused]
        sources = {
            entry.name: self.pool.source(
                entry, _limits_of(entry, settings.suites.get(entry.name, _DEFAULT), limits)
            )
            for entry in servers
        }
        suites = build_suites(
            [entry for entry in servers if entry.expose == "suite"],
            settings.suites,
            introspection=settings.introspection,
            sources=sources,
        )
        shown = Visibility(settings.tools.allow, settings.tools.deny)
        children = RelayProvider(
            [
                _offering(entry, settings.suites.get(entry.name, _DEFAULT), sources[entry.name])
                for entry in servers
            ],
            visibility=shown,
            taken=taken,
            is_guarded=settings.enable_mcp_server_surface,
            events=self._events,
            announce=self._announce,
        )
        is_guarded = settings.enable_mcp_server_surface
        suite_provider = SuitesProvider(suites, is_guarded=is_guarded)
        providers: dict[str, Provider] = {each.key: each for each in (suite_provider, children)}
        if settings.commands:
            from switchboard.daemon.command_tools import commands_provider  # noqa: PLC0415 - few have any

            commands = commands_provider(settings, self._environ, self._warden, self._events)
            providers[commands.key] = commands
        relay = self._with_yard(settings, providers, children) if settings.yard else children
        gates = self._gates(settings, providers) if is_guarded else None
        road = build_road(
            providers,
            shown,
            self._events,
            approval=gates.approval if gates is not None else None,
            audit=gates.audit if gates is not None else None,
            hide=self._hide,
        )
        return Built(road=road, relay=relay, sources=list(sources.values()))

    def _gates(self, settings: Settings, providers: Mapping[str, Provider]) -> Gates:
        """The gates that ask and write down, for the boards that want them."""
        if self._gatehouse is None:
            # A database and a log: who does not guard the surface does without both.
            from switchboard.daemon.gatehouse import Gatehouse  # noqa: PLC0415

            self._gatehouse = (
                self._commons.gatehouse(settings.home)
                if self._commons is not None
                else Gatehouse(settings.home, self._events)
            )
        return self._gatehouse.gates(
            lambda call: providers[call.tool.provider].launch(call),
            self._events,
            settings.approval_channel,
            self._hide,
        )

    def _audit(self) -> Audit | None:
        return self._gatehouse.audit if self._gatehouse is not None else None

    @property
    def _pools(self) -> Iterator[ChildPool]:
        yield self.pool
        if self._shared is not None:
            yield self._shared

    def _hide(self, text: str) -> str:
        """A text without the secrets of this board, and of the children that it shares."""
        text = self._book(text)
        return text if self._shared is None else self._shared.book(text)

    def leave(self, session_id: str) -> None:
        """A session has ended."""
        self.pool.leave(session_id)
        if self._gatehouse is not None:
            self._gatehouse.leave(session_id)

    def _with_yard(
        self, settings: Settings, providers: dict[str, Provider], children: RelayProvider
    ) -> Relay:
        if self._yard is None:
            from switchboard.daemon.yard import Yard  # noqa: PLC0415 - few have a yard

            self._yard = Yard(self._environ)
        return self._yard.join(settings, providers, children)

    async def aclose(self) -> None:
        """End every child."""
        if self._yard is not None:
            await self._yard.aclose()
        if self._shared is not None:
            self._shared.on_changed.discard(self._announce)
        try:
            await self.pool.aclose()
        finally:
            if self._commons is not None:
                self._commons.leave(self._environ)
        if self._own_warden is not None:
            self._own_warden.close()
        if self._gatehouse is not None and self._commons is None:
            self._gatehouse.close()


def _limits_of(entry: ServerEntry, own: SuiteSettings, limits: Limits) -> Limits:
    """The limits of one server. What its suite changes is laid over the entry already."""
    rpc_ms = entry.rpc_timeout_ms
    return replace(
        limits,
        rpc_s=rpc_ms / 1000 if rpc_ms else limits.rpc_s,
        idle_s=limits.idle_s if own.idle_ms is None else own.idle_ms / 1000,
    )


def _offering(entry: ServerEntry, own: SuiteSettings, source: ChildSource) -> Offering:
    return Offering(
        name=entry.name,
        children=source,
        launcher=Launcher(entry),
        origin=entry.origin,
        shows_tools=entry.expose == "tools",
        prefix=entry.tool_prefix,
        subtools=Visibility(own.allow, own.deny),
        relays=entry.relay,
    )
