"""Every child by what it is and by who shares it, kept across a reload that spares it.

A child of scope `session` belongs to one session and ends with it. One of scope `workspace` serves
every session of the pool. Where several boards are served, children of more than one session come
from pools that those boards share.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial

from switchboard.children.accounts.account_children import AccountChildren
from switchboard.children.accounts.acting_for import account_of
from switchboard.children.accounts.choice import AccountChoice
from switchboard.children.authorization import Authorization, Authorizations
from switchboard.children.child import Child
from switchboard.children.environment import child_environment
from switchboard.children.faults import fault_from_change
from switchboard.children.link import Link, MakePeer
from switchboard.children.listings.listing_cache import ListingCache, ListingCaches
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.children.schema import ServerEntry, as_a_process, by_account, known_to_team
from switchboard.children.secrets.lookup import LookedUp, SecretSource
from switchboard.children.secrets.texts import injected_secrets, secret_headers, secret_variables
from switchboard.children.sharing.all_folders import of_all_folders
from switchboard.children.sharing.elsewhere import Elsewhere
from switchboard.children.sharing.singletons import Singletons, open_single
from switchboard.children.sharing.sources import ChildSource, OwnChildren, SharedChild
from switchboard.children.starting.sandboxes import NoSandboxes, Sandboxes
from switchboard.children.starting.start_folder import make_own_folder
from switchboard.children.starting.watched_start import WatchedStart
from switchboard.children.stdio import StdioLink, open_stdio
from switchboard.children.trees.standing import TreeGuard
from switchboard.core.channels.channel import Channel
from switchboard.core.loop.tasks import TaskSet, close_all
from switchboard.core.ports import Events
from switchboard.core.privacy.secrets import SecretBook
from switchboard.procs.outlet import OpenWayOut, WayOut
from switchboard.procs.stderr_log import StderrLog
from switchboard.wire.messages import MessageId, encode
from switchkit.reaper_client import Reaper


class ChildPool:
    """Owns the children. `sessions` are those that are open now, by their ids."""

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        secrets: SecretSource,
        events: Events,
        reaper: Reaper,
        sessions: Collection[str] = (),
        caches: ListingCaches | None = None,
        is_trusted: Callable[[ServerEntry], bool] = lambda _: True,
        # Begun before that question, and asked once the child has answered.
        start_watch: Callable[[ServerEntry], WatchedStart | None] = lambda _: None,
        sandboxes: Sandboxes = NoSandboxes(),  # noqa: B008 - it holds nothing
        # What no child may tell, whoever started it; what is looked up here is noted in it.
        book: SecretBook | None = None,
        # The logins at remote servers, opened by the first who needs one.
        logins: Callable[[], Authorizations] | None = None,
        # Opens the way out of a server with hosts of its own.
        egress: OpenWayOut | None = None,
        # Where the stderr of a server is kept for its user.
        log_of: Callable[[ServerEntry], StderrLog | None] = lambda _: None,
        # Of servers that follow, the folder that they stand in.
        workspace: str = "",
    ) -> None:
        self._workspace = workspace
        self._tree_guard: TreeGuard | None = None
        self._egress = egress
        self._log_of = log_of
        self._environ = environ
        self.book = book if book is not None else SecretBook()
        self._secrets = secrets
        self._events = events
        self._reaper = reaper
        self._sessions = sessions
        self._caches = caches
        self._is_trusted = is_trusted
        self._start_watch = start_watch
        self.sandboxes = sandboxes
        self._logins = logins
        # By the key of the server and the session that it belongs to, if any.
        self._children: dict[tuple[bytes, str], Child] = {}
        self._tasks = TaskSet()
        self._elsewhere: Elsewhere | None = None
        # Who runs servers of which a team has one; nothing where there is no team.
        self.singletons: Singletons | None = None
        self._ending: dict[str, asyncio.Task[None]] = {}
        # Told what kind of listing changed, and for which session; an empty id means all of them.
        self.on_changed: set[Callable[[str, str], None]] = set()

    def source(
        self,
        entry: ServerEntry,
        limits: ChildLimits,
        # Gives the pool that all who see the same share for an entry, if there is such a thing.
        shared: "Callable[[ServerEntry], ChildPool] | None" = None,
    ) -> ChildSource:
        """Where the children of this entry come from. Starts nothing."""
        if entry.accounts:
            sources = {
                each.account: self.source(each, limits, shared) for each in by_account(entry)
            }
            home = self._environ.get("HOME") or "/"
            return AccountChildren(sources, AccountChoice(entry, home))
        if entry.scope == "session":
            return OwnChildren(self, _key(entry, limits), entry, limits)
        # What a workspace wrote stays in it: trust in it says nothing of other folders.
        if entry.scope == "user" and shared is not None and not entry.fingerprint:
            home = self._environ.get("HOME") or "/"
            entry = of_all_folders(entry, home, self._environ)
        pool = shared(entry) if shared is not None else self
        return SharedChild(self, pool, _key(entry, limits), entry, limits)

    def child(self, entry: ServerEntry, limits: ChildLimits) -> Child:
        """The child of this entry for whoever shares it. Starts nothing."""
        return self.child_by_key(_key(entry, limits), entry, limits)

    def child_by_key(
        self, key: bytes, entry: ServerEntry, limits: ChildLimits, session_id: str = ""
    ) -> Child:
        """The child of this entry, or of this entry and session."""
        child = self._children.get((key, session_id))
        if child is None:
            child = Child(
                entry,
                limits=limits,
                open_link=self._open,
                events=self._events,
                is_own=bool(session_id),
                cache=self._cache(key, entry),
                offer_login=self._offer_login if _may_log_in(entry) else None,
            )
            child.listings.on_changed = lambda kind: self._announce(kind, session_id, entry)
            self._children[(key, session_id)] = child
            if self._elsewhere is not None and not session_id and not child.is_single:
                child.be_one_of_many(self._elsewhere)
        return child

    def _cache(self, key: bytes, entry: ServerEntry) -> ListingCache | None:
        """What the server listed for whoever has the same account with it, as far as we know."""
        caches = self._caches
        return caches.of(key, account_of(entry, self._environ)) if caches is not None else None

    def share(self, elsewhere: Elsewhere) -> None:
        """Others have the same servers, and want to know what ours say."""
        self._elsewhere = elsewhere
        for session_id, child in self.by_session():
            if not session_id and not child.is_single:
                child.be_one_of_many(elsewhere)

    def _announce(self, kind: str, session_id: str, entry: ServerEntry) -> None:
        for tell in tuple(self.on_changed):
            tell(kind, session_id)
        if self._elsewhere is not None and not session_id:
            self._elsewhere.changed(known_to_team(entry), kind)

    def owner(self, session_id: str) -> str:
        """The session if it is one that will be seen to end; what never ends owns nothing."""
        return session_id if session_id in self._sessions else ""

    def leave(self, session_id: str) -> None:
        """End the children of a session that has ended."""
        for key, child in tuple(self._children.items()):
            if key[1] == session_id:
                del self._children[key]
                # What it has begun may be done to its end, though nobody waits for it.
                self._tasks.start(child.drain())
            else:
                child.leave(session_id)

    def retain(self, children: Iterable[Child]) -> None:
        """Let go of every other child as soon as nobody waits for it."""
        kept = set(map(id, children))
        for key, child in tuple(self._children.items()):
            if id(child) not in kept:
                del self._children[key]
                if not self._is_team_wide(child.entry):
                    self._tasks.start(child.drain())
                else:
                    # Another of its name may not start before.
                    self._ending[child.entry.label] = self._tasks.start(child.aclose())

    def children_by_key(self, key: bytes) -> Iterator[Child]:
        """The children of one entry, whoever they belong to."""
        for found, child in tuple(self._children.items()):
            if found[0] == key:
                yield child

    def by_session(self) -> Iterator[tuple[str, Child]]:
        """Every child, with the session that it belongs to."""
        for (_, session_id), child in tuple(self._children.items()):
            yield session_id, child

    @property
    def tree_guard(self) -> TreeGuard:
        """What lets servers that follow into the worktree of the pool, and out of it."""
        if self._tree_guard is None:
            self._tree_guard = TreeGuard(self._workspace, self._end_follower)
        return self._tree_guard

    def _works_for(self, entry: ServerEntry) -> str:
        found = (child.callers.of_line() for child in self if child.entry is entry)
        return next(found, "")

    async def _end_follower(self, entry: ServerEntry, why: str) -> None:
        await close_all(child.connection.stop(why) for child in self if child.entry is entry)

    async def _open(self, entry: ServerEntry, make_peer: MakePeer, *, timeout_s: float) -> Link:
        if self._is_team_wide(entry):
            return await self._open_single(entry, make_peer, timeout_s=timeout_s)
        if not entry.follow:
            return await self._open_watched(entry, make_peer, timeout_s=timeout_s)
        standing = await self.tree_guard.enter(entry)
        try:
            link = await self._open_watched(entry, make_peer, timeout_s=timeout_s)
        except BaseException:
            standing.close()
            raise
        if isinstance(link, StdioLink):
            link.standing = standing
        return link

    def _is_team_wide(self, entry: ServerEntry) -> bool:
        is_single = entry.scope == "singleton" and entry.transport == "stdio"
        return is_single and self.singletons is not None

    async def _open_single(
        self, entry: ServerEntry, make_peer: MakePeer, *, timeout_s: float
    ) -> Link:
        singletons = self.singletons
        assert singletons is not None, "there is a team"
        label = entry.label
        for child in self:
            if child.entry.label == label and child.entry is not entry:
                await child.connection.stop("its entry was changed")
        if (ending := self._ending.pop(label, None)) is not None:
            await asyncio.wait({ending})
        holders = (child.holder_of for child in self if child.entry is entry)
        return await open_single(
            *(singletons, entry, make_peer, self._open_watched),
            book=self.book,
            # One that is being given up has no clients who could be asked.
            holder_of=next(holders, _nobody),
            timeout_s=timeout_s,
        )

    async def _open_watched(
        self, entry: ServerEntry, make_peer: MakePeer, *, timeout_s: float
    ) -> Link:
        watch = await asyncio.to_thread(self._looked_at, entry)
        try:
            link = await self._open_trusted(entry, make_peer, timeout_s=timeout_s)
        except BaseException:
            if watch is not None:
                watch.close()
            raise
        if isinstance(link, StdioLink):
            link.start_watch = watch
        return link

    def _looked_at(self, entry: ServerEntry) -> WatchedStart | None:
        """Look again at every start: a script can change after the settings were loaded."""
        watch = self._start_watch(entry) if entry.transport == "stdio" else None
        if not self._is_trusted(entry):
            if watch is not None:
                watch.close()
            raise fault_from_change(entry.name)
        return watch

    async def _open_trusted(
        self, entry: ServerEntry, make_peer: MakePeer, *, timeout_s: float
    ) -> Link:
        if entry.transport == "stdio":
            secrets = LookedUp(entry, secret_variables(entry), self._secrets, self.book.learn)
            env = child_environment(entry, self._environ, await secrets.values())
            cwd = self.sandboxes.run_folder(entry)
            if entry.neutral:
                await asyncio.to_thread(make_own_folder, entry, cwd)
            way_out = await self._way_out(entry, cwd) if entry.egress else None
            try:
                return await open_stdio(
                    entry,
                    make_peer,
                    cwd=cwd,
                    env=env,
                    secrets=secrets if secrets.can_change else None,
                    reaper=(
                        self._reaper
                        if self.singletons is None or not self._is_team_wide(entry)
                        else self.singletons.reaper
                    ),
                    wrap=self.sandboxes(entry),
                    book=self.book,
                    way_out=way_out,
                    notes=self.sandboxes.notes,
                    log=self._log_of(entry),
                    works_for=partial(self._works_for, entry),
                    timeout_s=timeout_s,
                )
            except BaseException:
                if way_out is not None:
                    await way_out.aclose()
                raise
        # The HTTP client is large, and most boards have no remote child.
        from switchboard.children.http.remote import open_remote  # noqa: PLC0415

        return await open_remote(
            entry,
            make_peer,
            environ=self._environ,
            secrets=LookedUp(entry, secret_headers(entry), self._secrets, self.book.learn),
            book=self.book,
            timeout_s=timeout_s,
            authorization=self._login_of(entry),
        )

    async def _way_out(self, entry: ServerEntry, cwd: str) -> WayOut:
        assert self._egress is not None, "whoever runs servers with hosts has ways out for them"
        injected = LookedUp(entry, injected_secrets(entry), self._secrets, self.book.learn)
        # Looked up before it starts: what is missing is told at once.
        await injected.values()
        runs = " ".join((entry.command, *entry.args))
        return self._egress(
            *(entry, self._environ, injected.values),
            bound=runs,
            runs=runs,
            cwd=cwd,
            hide=self.book,
        )

    def _login_of(self, entry: ServerEntry) -> Authorization | None:
        if self._logins is None or not _may_log_in(entry):
            return None
        return self._logins().open(
            entry,
            environ=self._environ,
            secret=partial(self._secrets.resolve, entry),
            learn=self.book.learn,
            forget=self.book.forget,
        )

    async def _offer_login(self, entry: ServerEntry, channel: Channel) -> bool:
        return self._logins is not None and await self._logins().offer(entry, channel)

    @property
    def is_empty(self) -> bool:
        """Whether it has no child, and none that is just ending."""
        return not self._children and not self._tasks

    def __iter__(self) -> Iterator[Child]:
        return iter(tuple(self._children.values()))

    async def aclose(self) -> None:
        """End them all, side by side."""
        children = tuple(self._children.values())
        self._children.clear()
        try:
            await close_all(child.aclose() for child in children)
        finally:
            await self._tasks.aclose()
            if self._tree_guard is not None:
                await self._tree_guard.aclose()


def _nobody(_: MessageId) -> str:
    return ""


def _may_log_in(entry: ServerEntry) -> bool:
    """Whether tokens are for us to bring. Who has written a header of its own brings that."""
    if entry.transport == "stdio":
        return False
    return (
        entry.auth is not None
        or bool(entry.account)
        or not any(name.lower() == "authorization" for name in entry.headers)
    )


def _key(entry: ServerEntry, limits: ChildLimits) -> bytes:
    """What makes two entries the same child, wherever written and however its tools are shown.

    What it offers is remembered under this.
    """
    return encode((as_a_process(entry), limits))
