"""What every board of one daemon shares: the reaper, and the children that see the same."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from switchboard.children.listings.listing_cache import ListingCaches
from switchboard.children.pool import ChildPool
from switchboard.core.ports import Events
from switchboard.core.privacy.redacting_events import DiscreetEvents
from switchboard.core.privacy.secrets import SecretBook
from switchboard.core.stores import AuditStore
from switchboard.daemon.board.egress import Egress
from switchboard.daemon.board.sandbox_trail import SandboxTrail
from switchboard.daemon.board.sharing.shared_pools import (
    BoardPlace,
    Listeners,
    PoolKey,
    PoolsOfBoard,
    SharedPool,
    SharedPools,
)
from switchboard.daemon.board.vault_secrets import VaultSecrets
from switchboard.daemon.board.vaults import Vaults
from switchboard.procs.stderr_log import StderrLogs
from switchboard.results.store import ResultStore
from switchboard.runs.limits import RunLimits
from switchboard.sandbox.server_sandbox import ServerSandbox
from switchboard.settings.consent.start_watch import start_watch
from switchboard.settings.trust import still_trusted
from switchkit.reaper_client import Reaper

if TYPE_CHECKING:
    from switchboard.daemon.board.egress_questions import Answering
    from switchboard.daemon.board.guard import Guard
    from switchboard.oauth.logins import Logins
    from switchboard.receipts.book import CallBook
    from switchboard.runs.service import RunService
    from switchboard.settings.sections import Settings


_LIMITS = RunLimits()


class SharedChildren:
    """Owned by the daemon; a board in a process of its own does without."""

    def __init__(self, events: Events, run_limits: RunLimits = _LIMITS) -> None:
        self.events = self._events = events
        self.reaper = Reaper()
        self._run_limits = run_limits
        self._guard: Guard | None = None
        # Nothing before the first board.
        self.open_calls: CallBook | None = None
        # What the boards say of the home, which is the same for all of them.
        self.settings: Settings | None = None
        self._environ: Mapping[str, str] = {}
        # Nothing before the first child that may need a login.
        self.open_logins: Logins | None = None
        # Nothing before the first board that may have runs.
        self.open_runs: RunService | None = None
        self.pools = SharedPools(self._new_pool)
        self.vaults = Vaults(is_unlockable=True)
        self.egress = Egress(events, self._home_guard, self._answering)
        # Bounded for all boards together.
        self.results = ResultStore()
        # What servers print on stderr, by their workspace and name.
        self.stderr_logs = StderrLogs()

    def enter(self, board: BoardPlace) -> PoolsOfBoard:
        """The pools of a board, which leaves them some day."""
        # The vault of a team wants a token of the user, whichever session it came with.
        self._environ = board.environ
        return PoolsOfBoard(self.pools, board)

    def _new_pool(
        self, key: PoolKey, environ: Mapping[str, str], caches: ListingCaches | None
    ) -> SharedPool:
        folder, book, listeners = key.folder, SecretBook(), Listeners(self._events)
        secrets = VaultSecrets(environ, self.vaults, self._audit)
        pool = ChildPool(
            environ=environ,
            secrets=secrets,
            events=SandboxTrail(DiscreetEvents(listeners, book), self._audit),
            reaper=self.reaper,
            caches=caches,
            is_trusted=partial(still_trusted, workspace=folder),
            start_watch=partial(start_watch, workspace=folder),
            sandboxes=ServerSandbox(
                environ, folder or environ.get("HOME") or "/", secrets.private_files
            ),
            book=book,
            logins=self.logins,
            egress=self.egress,
            log_of=lambda entry: self.stderr_logs.of((folder, entry.name)),
            workspace=folder,
        )
        return SharedPool(pool, secrets, listeners)

    def unlock_vault(self, key_id: str, key: bytes) -> None:
        """Somebody has told us the key of the vault."""
        self.vaults.unlock(key_id, key)

    def lock_vault(self) -> int:
        """Forget it, and the logins that lie in the vault; gives how many keys there were."""
        for held in self.open_logins or ():
            held.forget()
        return self.vaults.lock()

    def guard(self, home: str) -> "Guard":
        """The guard of the daemon's home, built by the first board that wants it."""
        if self._guard is None:
            from switchboard.daemon.board.guard import Guard  # noqa: PLC0415 - see daemon.engine

            self._guard = Guard(home, self._events)
        return self._guard

    def calls(self, home: str) -> "CallBook":
        """The book of the daemon's calls, which go on when their clients have left."""
        if self.open_calls is None:
            from switchboard.receipts.book import CallBook  # noqa: PLC0415 - as above
            from switchboard.surface.results import result_bytes  # noqa: PLC0415 - as above

            self.open_calls = CallBook(home, result_bytes, outlives_clients=True)
        return self.open_calls

    def _answering(self) -> "Answering":
        assert self.settings is not None, "a child belongs to a board"
        return self.settings.approval_channel

    def _home_guard(self) -> "Guard":
        assert self.settings is not None, "a child belongs to a board"
        return self.guard(self.settings.home)

    def runs(self, home: str) -> "RunService":
        """The runs of the daemon's home, opened by the first board that wants them."""
        if self.open_runs is None:
            from switchboard.daemon.board.run_service import open_runs  # noqa: PLC0415 - as above

            self.open_runs = open_runs(home, self._events, self._run_limits)
        return self.open_runs

    def logins(self) -> "Logins":
        """The logins of the daemon's home, opened by the first child that may need one."""
        if self.open_logins is None:
            from switchboard.daemon.board.open_logins import open_logins  # noqa: PLC0415 - as above

            assert self.settings is not None, "a child belongs to a board"
            home = self.settings.home
            self.open_logins = open_logins(
                self.settings,
                self._environ,
                self._events,
                self.vaults,
                # Also where no board is guarded: nobody else writes down what becomes of a login.
                audit=lambda: self.guard(home).audit,
                document_url=lambda: (
                    self.settings.login.client_metadata_url if self.settings else ""
                ),
            )
        return self.open_logins

    def works_in(self, workspace: str) -> bool:
        """Whether a run works or waits in a workspace; in any one, if none is named."""
        return self.open_runs is not None and bool(self.open_runs.under_way(workspace))

    async def end_runs(self) -> None:
        """Interrupt every run, while boards and their providers are still there."""
        if self.open_runs is not None:
            await self.open_runs.aclose()

    def _audit(self) -> AuditStore | None:
        return self._guard.audit if self._guard is not None else None

    async def _close_guard(self) -> None:
        # A login that ends with us may have opened it just now.
        if self._guard is not None:
            await self._guard.aclose()

    async def aclose(self) -> None:
        """End every child, and the reaper."""
        async with AsyncExitStack() as then:
            # The reaper waits until what it guards has ended, and the loop must not wait with it.
            then.push_async_callback(asyncio.to_thread, self.reaper.close)
            then.callback(self.vaults.close)
            then.push_async_callback(self._close_guard)
            if self.open_calls is not None:
                then.push_async_callback(self.open_calls.aclose)
            if self.open_logins is not None:
                then.push_async_callback(self.open_logins.aclose)
            await self.pools.aclose()
