"""What every board of one daemon shares: the reaper, and the children of scope `user`."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from switchboard.children.child import Child
from switchboard.children.listings.listing_cache import ListingCaches
from switchboard.children.pool import ChildPool
from switchboard.core.loop.tasks import close_all
from switchboard.core.ports import Events
from switchboard.core.privacy.redacting_events import DiscreetEvents
from switchboard.core.privacy.secrets import SecretBook
from switchboard.core.stores import AuditStore
from switchboard.daemon.board.egress import Egress
from switchboard.daemon.board.sandbox_trail import SandboxTrail
from switchboard.daemon.board.vault_secrets import VaultSecrets
from switchboard.daemon.board.vaults import Vaults
from switchboard.procs.stderr_log import StderrLogs
from switchboard.runs.limits import RunLimits
from switchboard.sandbox.server_sandbox import ServerSandbox
from switchboard.settings.consent.start_watch import start_watch
from switchboard.settings.trust import still_trusted
from switchboard.vault.options import VaultOptions
from switchkit.reaper_client import Reaper

Environ = frozenset[tuple[str, str]]
# Everyone with one environment; or everyone in a folder, whatever their environments.
Sharers = Environ | str

if TYPE_CHECKING:
    from switchboard.daemon.board.egress_questions import Answering
    from switchboard.daemon.board.guard import Guard
    from switchboard.oauth.logins import Logins
    from switchboard.runs.service import RunService
    from switchboard.settings.sections import Settings


_LIMITS = RunLimits()
_EVERYWHERE = ""


class SharedChildren:
    """Owned by the daemon; a board in a process of its own does without."""

    def __init__(self, events: Events, run_limits: RunLimits = _LIMITS) -> None:
        self._events = events
        self.reaper = Reaper()
        self._run_limits = run_limits
        self._guard: Guard | None = None
        # What the boards say of the home, which is the same for all of them.
        self.settings: Settings | None = None
        self._environ: Mapping[str, str] = {}
        # Nothing before the first child that may need a login.
        self.open_logins: Logins | None = None
        # Nothing before the first board that may have runs.
        self.open_runs: RunService | None = None
        # Sessions share a child only where everything is alike that the child could see.
        self._pools: dict[Sharers, ChildPool] = {}
        self._secrets: dict[Sharers, VaultSecrets] = {}
        self.vaults = Vaults(is_unlockable=True)
        self.egress = Egress(events, self._home_guard, self._answering)
        self._boards: Counter[Sharers] = Counter()
        # What servers print on stderr, by their workspace and name.
        self.stderr_logs = StderrLogs()

    def enter(self, environ: Mapping[str, str]) -> ChildPool:
        """The pool of everyone with this environment, for a board that leaves it some day."""
        # The vault of a team wants a token of the user, whichever session it came with.
        self._environ = environ
        return self._entered(frozenset(environ.items()), environ)

    def enter_loose(
        self, environ: Mapping[str, str], workspace: str, caches: ListingCaches | None
    ) -> ChildPool:
        """The pool of everyone in a workspace for servers that say so: who comes first decides.

        Such children of scope `user` come from a pool of all workspaces.
        """
        return self._entered(
            workspace,
            environ,
            shared=self._entered(_EVERYWHERE, environ),
            caches=caches,
            is_trusted=partial(still_trusted, workspace=workspace),
            start_watch=partial(start_watch, workspace=workspace),
        )

    def _entered(self, key: Sharers, environ: Mapping[str, str], **more: Any) -> ChildPool:
        self._boards[key] += 1
        pool = self._pools.get(key)
        if pool is None:
            folder = key if isinstance(key, str) and key else environ.get("HOME") or "/"
            book = SecretBook()
            secrets = self._secrets[key] = VaultSecrets(environ, self.vaults, self._audit)
            pool = self._pools[key] = ChildPool(
                environ=environ,
                secrets=secrets,
                events=SandboxTrail(DiscreetEvents(self._events, book), self._audit),
                reaper=self.reaper,
                book=book,
                sandboxes=ServerSandbox(environ, folder),
                logins=self.logins,
                egress=self.egress,
                log_of=lambda entry: self.stderr_logs.of(("", entry.name)),
                **more,
            )
        return pool

    def use_vault(
        self,
        environ: Mapping[str, str],
        home: str,
        options: VaultOptions,
        workspace: str | None = None,
    ) -> None:
        """Where children have their secrets from; with a workspace, those that it shares too."""
        for key in _sharers(environ, workspace):
            self._secrets[key].use(home, options)

    def unlock_vault(self, key_id: str, key: bytes) -> None:
        """Somebody has told us the key of the vault."""
        self.vaults.unlock(key_id, key)

    def lock_vault(self) -> int:
        """Forget it, and the logins that lie in the vault; gives how many keys there were."""
        for held in self.open_logins or ():
            held.forget()
        return self.vaults.lock()

    def leave(self, environ: Mapping[str, str], workspace: str | None = None) -> None:
        """A board has been closed; with a workspace, one that had entered that too."""
        for key in _sharers(environ, workspace):
            self._boards[key] -= 1

    def close_unused(self) -> None:
        """Forget the pools, and with them the environments, that no board and no child needs."""
        for key, pool in tuple(self._pools.items()):
            if self._boards[key] <= 0 and pool.is_empty:
                del self._pools[key]
                del self._secrets[key]
                del self._boards[key]

    def __len__(self) -> int:
        """How many environments are remembered."""
        return len(self._pools)

    def guard(self, home: str) -> "Guard":
        """The guard of the daemon's home, built by the first board that wants it."""
        if self._guard is None:
            from switchboard.daemon.board.guard import Guard  # noqa: PLC0415 - see daemon.engine

            self._guard = Guard(home, self._events)
        return self._guard

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

    def retain(self, children: Sequence[Child]) -> None:
        """Let go of every child that no board leads to any more."""
        for pool in self._pools.values():
            pool.retain(children)

    def children(self) -> Iterator[Child]:
        """Every child of scope `user`."""
        for pool in self._pools.values():
            yield from pool

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
            if self.open_logins is not None:
                then.push_async_callback(self.open_logins.aclose)
            await close_all(pool.aclose() for pool in self._pools.values())


def _sharers(environ: Mapping[str, str], workspace: str | None) -> tuple[Sharers, ...]:
    own = frozenset(environ.items())
    return (own,) if workspace is None else (own, workspace, _EVERYWHERE)
