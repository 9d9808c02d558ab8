"""The composition root, second half: what runs calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from switchboard.children.exposure import SuiteSettings
from switchboard.children.listings.listing_cache import ListingCaches
from switchboard.children.pool import ChildPool
from switchboard.children.reaching.child_limits import limits_of
from switchboard.children.schema import ServerEntry
from switchboard.children.sharing.sources import ChildSource
from switchboard.children.trees.tree_children import TreeChildren
from switchboard.children.trees.tree_choice import OtherTrees, TreeChoice, TreeGround
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet, close_all
from switchboard.core.ports import Directory, Events, Next, Provider, TaskProvider
from switchboard.core.privacy.redacting_events import DiscreetEvents
from switchboard.core.privacy.secrets import SecretBook
from switchboard.core.stores import AuditStore
from switchboard.daemon.board.assemble import Assembly
from switchboard.daemon.board.call_books import BoardCalls
from switchboard.daemon.board.egress import Egress
from switchboard.daemon.board.sandbox_trail import SandboxTrail
from switchboard.daemon.board.secret_values import BoardSecrets
from switchboard.daemon.board.sharing.shared_pools import BoardPlace
from switchboard.daemon.board.vault_secrets import VaultSecrets
from switchboard.daemon.board.vaults import Vaults
from switchboard.daemon.desk.used_tools import used_tools
from switchboard.daemon.malloc import return_large_blocks
from switchboard.directory.directory import OfferDirectory
from switchboard.pipeline.gates.placement import PlacementGate
from switchboard.pipeline.order import build_road
from switchboard.procs.limits import leave_no_core
from switchboard.providers.context import Context, GuardedRoad, State
from switchboard.providers.table import is_reserved, source_of
from switchboard.results.store import ResultStore
from switchboard.sandbox.server_sandbox import ServerSandbox
from switchboard.settings.consent.start_watch import start_watch
from switchboard.settings.sections import Settings
from switchboard.settings.trust import still_trusted
from switchkit.reaper_client import Reaper

if TYPE_CHECKING:
    from switchboard.children.child import Child
    from switchboard.daemon.board.guard import Gates, Guard
    from switchboard.daemon.board.sharing.shared_children import SharedChildren
    from switchboard.daemon.team.membership import Team
    from switchboard.oauth.logins import Logins
    from switchboard.runs.service import RunService
    from switchboard.runs.team.gateway_runs import GatewayRuns

_DEFAULT = SuiteSettings()


class Built(Struct, frozen=True, eq=False, kw_only=True):
    """What runs the calls of one board."""

    pipeline: Next
    directory: Directory
    providers: Mapping[str, Provider]
    # Where its children come from, by the names of their servers.
    sources: Mapping[str, ChildSource]

    @property
    def tasks(self) -> TaskProvider:
        """The provider whose calls may be answered later; there is one where that was listed."""
        return next(each for each in self.providers.values() if isinstance(each, TaskProvider))

    async def aclose(self) -> None:
        """Close its providers. The engine keeps children that another board uses too."""
        await close_all(provider.aclose() for provider in self.providers.values())


class Engine:
    """Owns the children; builds the road of every board."""

    def __init__(
        self,
        environ: Mapping[str, str],
        events: Events,
        *,
        workspace: str,
        # What serves in other worktrees.
        others: OtherTrees,
        sessions: Collection[str] = (),
        shared_children: SharedChildren | None = None,
        # Where it is remembered what children offer.
        home: str = "",
        # The file that the user named beside the usual ones.
        config: str = "",
        # Told what kind of listing changed, and for which session; an empty id means all of them.
        announce: Callable[[str, str], None] = lambda _kind, _session: None,
        # Whose state lies in a database that others share.
        team: Team | None = None,
    ) -> None:
        self._team = team
        return_large_blocks()
        leave_no_core()
        self._book = SecretBook()
        self._hide = BoardSecrets(lambda: [pool.book for pool in self.pools])
        self._events = events = DiscreetEvents(events, self._hide)
        self._environ = environ
        self._shared_children = shared_children
        self._own_reaper = Reaper() if shared_children is None else None
        self._reaper = self._own_reaper or cast("SharedChildren", shared_children).reaper
        if team is not None:
            team.keep(self._reaper)
        self._others = others
        # What following servers know of sessions; nothing where none follows.
        self._ground: TreeGround | None = None
        caches = ListingCaches(home) if home else None
        # The pools that it shares with other boards, where there are others.
        self._shared = (
            shared_children.enter(
                BoardPlace(
                    workspace=workspace,
                    config=config,
                    environ=environ,
                    events=events,
                    caches=caches,
                    announce=announce,
                )
            )
            if shared_children is not None
            else None
        )
        own_vaults = Vaults(of_team=team.vault() if team is not None else None)
        self._own_vaults = own_vaults if shared_children is None else None
        vaults = shared_children.vaults if shared_children is not None else self._own_vaults
        self._secrets = VaultSecrets(environ, cast("Vaults", vaults), self._audit)
        self.egress = (
            shared_children.egress if shared_children is not None else self._own_egress(workspace)
        )
        self.pool = ChildPool(
            environ=environ,
            secrets=self._secrets,
            events=SandboxTrail(events, self._audit),
            reaper=self._reaper,
            sessions=sessions,
            caches=caches,
            is_trusted=lambda entry: still_trusted(entry, workspace),
            start_watch=partial(start_watch, workspace=workspace),
            sandboxes=ServerSandbox(environ, workspace, self._secrets.private_files),
            book=self._book,
            logins=self._open_logins,
            egress=self.egress,
            workspace=workspace,
            log_of=(
                (lambda entry: shared_children.stderr_logs.of((workspace, entry.name)))
                if shared_children is not None
                else lambda _: None
            ),
        )
        self._announce = announce
        self._guard: Guard | None = None
        self._calls = BoardCalls(self._shared_children, team)
        self._runs: RunService | GatewayRuns | None = None
        self._logins: Logins | None = None
        # What the first board says of the home; every other says the same of it.
        self._settings: Settings | None = None
        self._state = State()
        own = ResultStore(place="" if team is None else team.tag)
        self._results = own if shared_children is None else shared_children.results
        self._tasks = TaskSet()
        self.pool.on_changed.add(announce)

    def _own_egress(self, workspace: str) -> Egress:
        """Where there is no daemon. Its environment is the client's, so no proxy is its own."""
        settings = lambda: cast("Settings", self._settings)  # noqa: E731 - known later
        egress = Egress(
            self._events, lambda: self._open_guard(settings()), lambda: settings().approval_channel
        )
        egress.workspaces = lambda: (workspace,)
        return egress

    def build(self, settings: Settings, assembly: Assembly) -> Built:
        """What runs the calls of a board with these settings."""
        self._settings = settings
        shared = self._shared.finder() if self._shared is not None else None
        sources = {entry.name: self._source(entry, settings, shared) for entry in assembly.servers}
        self._hide.learn(settings, self._environ)
        self._secrets.use(settings.home, settings.vault)
        if self._shared is not None and self._shared_children is not None:
            self._shared_children.settings = settings
            self._shared.use_vault(settings.home, settings.vault)
        providers: dict[str, Provider] = {}
        context = Context(
            settings=settings,
            environ=self._environ,
            listed=assembly.listed,
            servers=assembly.servers,
            children=sources,
            reaper=self._reaper,
            results=self._results,
            events=self._events,
            state=self._state,
            book=self._book,
            announce=self._announce,
            directory=lambda: directory,
            road=lambda: pipeline,
            held=partial(self._held, settings) if settings.is_guarded else None,
            runs=lambda: self._open_runs(settings),
            guarded_road=partial(self._guarded_road, settings),
            open_way_out=self.egress,
            takes_up_runs=self._shared_children is not None,
            executes_runs=self._team is not None and self._team.executes_runs,
            used_tools=partial(used_tools, settings.home),
        )
        for key in assembly.listed:
            providers[key] = source_of(key).build(context)
        directory = OfferDirectory(
            providers,
            assembly.catalog,
            {key: listed.offers for key, listed in assembly.listed.items()},
            events=self._events,
            visibility=context.visibility,
            is_reserved=is_reserved,
        )
        providers[directory.key] = directory
        gates = self._gates(settings, providers) if settings.is_guarded else None
        calls, receipts = self._calls.open(settings, self._hide)
        pipeline = build_road(
            providers,
            context.visibility,
            self._events,
            approval=gates.approval if gates is not None else None,
            audit=gates.audit if gates is not None else None,
            hide=self._hide,
            kept=context.kept_results,
            calls=calls,
            receipts=receipts,
        )
        return Built(
            pipeline=pipeline,
            directory=directory,
            providers=providers,
            sources=sources,
        )

    def _source(
        self,
        entry: ServerEntry,
        settings: Settings,
        shared: Callable[[ServerEntry], ChildPool] | None,
    ) -> ChildSource:
        suite = settings.suites.get(entry.name, _DEFAULT)
        limits = limits_of(entry, settings.timeouts, suite.idle_ms)
        source = self.pool.source(entry, limits, shared)
        if not entry.follow:
            return source
        if self._ground is None:
            self._ground = TreeGround(settings.workspace, settings.user_home, self._others)
        return TreeChildren(TreeChoice(entry, source, self._ground))

    def retire(self, built: Built, needed: Iterable[Child]) -> None:
        """Nobody uses this board any more: let go of its children that no other needs."""
        self._tasks.start(built.aclose())
        self.pool.retain(needed)

    def _guarded_road(self, settings: Settings, provider: Provider, ttl_s: float) -> GuardedRoad:
        """A road where a person is asked, and all is written down, also if the board has none."""
        providers = {provider.key: provider}
        gates = self._gates(settings, providers, ttl_s)
        road = build_road(
            providers,
            Visibility(),
            self._events,
            approval=gates.approval,
            audit=gates.audit,
            hide=self._hide,
        )
        return GuardedRoad(road, self._leave_guard)

    def _gates(
        self, settings: Settings, providers: Mapping[str, Provider], ttl_s: float | None = None
    ) -> Gates:
        """The gates that ask and write down, for the boards that want them."""
        return self._open_guard(settings).gates(
            PlacementGate(providers).launch,
            self._events,
            settings.approval_channel,
            self._hide.in_question,
            wait_s=settings.approval_timeout,
            ttl_s=ttl_s,
            user_home=settings.user_home,
            allow=settings.approvals.allow,
            workspace=settings.workspace,
        )

    async def _held(self, settings: Settings, launches: Mapping[str, Launch]) -> AbstractSet[str]:
        """Nothing where that cannot be known: what is called is judged in any case."""
        try:
            return await self._open_guard(settings).held(launches, self._hide.in_question)
        except Fault:
            return frozenset()

    def _open_guard(self, settings: Settings) -> Guard:
        if self._guard is None:
            # A database and a log: who does not guard the surface does without both.
            from switchboard.daemon.board.guard import Guard  # noqa: PLC0415

            self._guard = (
                self._shared_children.guard(settings.home)
                if self._shared_children is not None
                else Guard(settings.home, self._events, self._team)
            )
        return self._guard

    def _open_runs(self, settings: Settings) -> RunService | GatewayRuns:
        if self._shared_children is not None:
            return self._shared_children.runs(settings.home)
        if self._runs is None:
            # Few boards have agents.
            from switchboard.daemon.board.run_service import board_runs  # noqa: PLC0415

            self._runs = board_runs(settings, self._events, self._team)
        return self._runs

    def _open_logins(self) -> Logins:
        if self._shared_children is not None:
            return self._shared_children.logins()
        if self._logins is None:
            # Few servers want a login.
            from switchboard.daemon.board.open_logins import open_logins  # noqa: PLC0415

            settings = self._settings
            assert settings is not None, "a child belongs to a board"
            self._logins = open_logins(
                settings,
                self._environ,
                self._events,
                cast("Vaults", self._own_vaults),
                # As with the daemon's.
                audit=lambda: self._open_guard(settings).audit,
                document_url=lambda: (self._settings or settings).login.client_metadata_url,
                place=None if self._team is None else self._team.logins(),
            )
        return self._logins

    def _audit(self) -> AuditStore | None:
        return self._guard.audit if self._guard is not None else None

    @property
    def pools(self) -> Iterator[ChildPool]:
        yield self.pool
        if self._shared is not None:
            yield from self._shared

    def leave(self, session_id: str) -> None:
        """A session has ended."""
        for pool in self.pools:
            pool.leave(session_id)
        self._state.leave(session_id)
        if self._ground is not None:
            self._ground.leave(session_id)
        self._results.leave(session_id)
        self._leave_guard(session_id)
        self._calls.leave(session_id)

    def _leave_guard(self, session_id: str) -> None:
        if self._guard is not None:
            self._guard.leave(session_id)

    async def _close_guard(self) -> None:
        if self._guard is not None:
            await self._guard.aclose()

    async def end_runs(self) -> None:
        """Interrupt the runs of a board in a process of its own, while its providers are there."""
        if self._runs is not None:
            await self._runs.aclose()

    async def aclose(self) -> None:
        """End every child."""
        # From the last to the first, each of them whatever became of the others.
        async with AsyncExitStack() as then:
            if self._shared_children is None:
                then.push_async_callback(self._close_guard)
            then.push_async_callback(self._calls.aclose)
            if self._own_vaults is not None:
                then.callback(self._own_vaults.close)
            if self._own_reaper is not None:
                then.callback(self._own_reaper.close)
            if self._shared is not None:
                then.callback(self._shared.leave)
            if self._logins is not None:
                then.push_async_callback(self._logins.aclose)
            then.push_async_callback(self.pool.aclose)
            then.callback(self.pool.on_changed.discard, self._announce)
            then.push_async_callback(self._state.aclose)
            await self._tasks.aclose()
