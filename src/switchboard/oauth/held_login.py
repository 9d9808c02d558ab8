"""One login as a process holds it: shown to a server, renewed before it expires, once for all."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from random import uniform

from msgspec.structs import replace

from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.oauth.addresses import rules_for
from switchboard.oauth.challenge import Challenge, read_challenge
from switchboard.oauth.faults import login_required, renewal_failed, scope_missing
from switchboard.oauth.grant import Grant, entry_reference
from switchboard.oauth.grant_store import GrantStore
from switchboard.oauth.http.guarded_web import GuardedWeb
from switchboard.oauth.login_trail import LoginTrail
from switchboard.oauth.token_endpoint import TokenEndpoint, TokenRefused

# A token that expires on its way is as bad as none.
_SLACK_S = 5.0
_FIRST_PAUSE_S = 5.0
_LONGEST_PAUSE_S = 600.0
_LONGEST_TIMER_S = 86_400.0
# How often a login is written anew that could not be written.
_REWRITE_S = 10.0
# What nobody has used for so long is read again when somebody does.
_IDLE_S = 3_600.0
_UNAUTHORIZED, _FORBIDDEN = 401, 403
# How many tokens are kept out of texts: the older ones are dead, and there is no end of them.
_MOST_NOTED = 8

Note = Callable[[Iterable[str]], None]


class HeldLogin:
    """The login of one entry and account. Shared by everybody in this process who uses it."""

    def __init__(
        self,
        entry: ServerEntry,
        grants: GrantStore,
        # Told when a renewal fails, once until it works again; with nothing then.
        tell: Callable[[str, str], None],
        trail: LoginTrail,
    ) -> None:
        self.entry = entry
        self.reference = entry_reference(entry)
        self._grants = grants
        self._tell = tell
        self._trail = trail
        self._grant: Grant | None = None
        self._header = ""
        # The stamp of the store when it was read; nothing has it at first.
        self._stamp = -1
        self._renewing: asyncio.Task[None] | None = None
        self._tasks = TaskSet()
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._noted: list[str] = []
        # Who keeps tokens out of texts, each with how it forgets them again, once for each
        # connection.
        self._books: dict[Note, list[Note]] = {}
        self._users = 0
        self._left_at = time.monotonic()
        # Of whoever used it last: which proxy and whose certificates count, and where the secret
        # of its client is.
        self.environ: Mapping[str, str] = {}
        self.secret: Callable[[str], str | None] = lambda _: None
        # What the server said when it last refused us.
        self.challenge: Challenge | None = None

    # Who uses it

    def enter(self, learn: Note, forget: Note) -> None:
        """Somebody connects with it."""
        self._users += 1
        uses = self._books.setdefault(learn, [])
        uses.append(forget)
        if len(uses) == 1:
            learn(self._noted)

    def leave(self, learn: Note) -> None:
        """Somebody is done with it. What nobody uses is not renewed."""
        self._users -= 1
        self._left_at = time.monotonic()
        uses = self._books[learn]
        uses.pop()
        if not uses:
            # What it was told already stays out of its texts.
            del self._books[learn]
        if self._users <= 0:
            self._stop_timer()

    @property
    def is_idle(self) -> bool:
        """Whether nobody has used it for long, and nothing of it is under way."""
        is_left = self._users <= 0 and time.monotonic() - self._left_at > _IDLE_S
        return is_left and not len(self._tasks) and self._retry_at < time.time()

    def forget(self) -> None:
        """Let go of it; whoever uses it next reads it again."""
        self._stop_timer()
        self._grant, self._header, self._stamp = None, "", -1

    # Showing it

    async def look(self) -> None:
        """Read it again if somebody has changed it."""
        if self._stamp != self._grants.stamp():
            await self._read()

    @property
    def is_wanted(self) -> bool:
        """Whether its server cannot be used without one, as far as that is known."""
        return self.challenge is not None or self.entry.auth is not None or bool(self.entry.account)

    async def header(self) -> str:
        """See `Authorization`."""
        await self.look()
        grant = self._grant
        if grant is None:
            # Who uses an account wants to be that one, and not nobody.
            if self.entry.auth is not None or self.entry.account:
                raise login_required(self.entry)
            return ""
        if grant.is_spent:
            raise login_required(self.entry, "the last one is over and cannot be renewed")
        if not grant.expires_at or time.time() < grant.expires_at - _SLACK_S:
            return self._header
        if not grant.refresh_token:
            raise login_required(self.entry, "the last one has expired")
        await self._renewed(grant)
        return self._header

    async def renewed(self, refused: str) -> str:
        """See `Authorization`."""
        # Somebody may have logged in, or another process may have renewed it.
        await self._read()
        if self._header != refused:
            return self._header
        grant = self._grant
        if grant is None or grant.is_spent or not grant.refresh_token:
            return ""
        await self._renewed(grant)
        return self._header if self._header != refused else ""

    def fault(self, status: int, challenge: str) -> Fault | None:
        """See `Authorization`."""
        said = read_challenge(challenge)
        if status == _UNAUTHORIZED:
            if self.challenge is None:
                self._tasks.start(asyncio.to_thread(self._grants.note_wanted, self.reference))
            self.challenge = said
            if self._grant is None:
                return login_required(self.entry)
            return login_required(self.entry, "it refuses the one that we have")
        if status == _FORBIDDEN and said.error == "insufficient_scope":
            auth, stamp = self.entry.auth, self._stamp
            return scope_missing(
                self.entry,
                said.scopes,
                configured=bool(auth is not None and auth.scopes),
                still_holds=lambda: stamp == self._grants.stamp(),
            )
        return None

    def open_web(self) -> GuardedWeb:
        """A way to its authorization server."""
        return GuardedWeb(rules_for(self.entry), self.environ)

    @property
    def grant(self) -> Grant | None:
        """What is known of it now."""
        return self._grant

    async def _read(self) -> None:
        # The stamp first: what changes meanwhile is read once more.
        stamp = self._grants.stamp()
        grant = await asyncio.to_thread(self._grants.find, self.reference)
        self._stamp = stamp
        self._adopt(grant)

    def _adopt(self, grant: Grant | None) -> None:
        if grant is not None and not grant.is_for(self.entry.url):
            # A token goes to the origin that it was issued for, whatever the vault says.
            grant = None
        is_new = grant is not None and (
            self._grant is None or grant.access_token != self._grant.access_token
        )
        self._grant = grant
        self._header = f"Bearer {grant.access_token}" if grant and grant.access_token else ""
        if grant is not None:
            self._note(grant)
        if is_new:
            self._failures, self._retry_at = 0, 0.0
        self._watch()

    def _note(self, grant: Grant) -> None:
        tokens = [each for each in (grant.access_token, grant.refresh_token) if each]
        tokens += [grant.client_secret] if grant.client_secret else []
        tokens += [grant.registration.token] if grant.registration is not None else []
        new = [each for each in tokens if each not in self._noted]
        if not new:
            return
        self._noted += new
        old, self._noted = self._noted[:-_MOST_NOTED], self._noted[-_MOST_NOTED:]
        self._learn(new)
        for uses in self._books.values() if old else ():
            uses[0](old)

    def _learn(self, secrets: Iterable[str]) -> None:
        for learn in self._books:
            learn(secrets)

    # Renewing it

    def _watch(self) -> None:
        """See to it that it is renewed in time, for as long as somebody uses it."""
        self._stop_timer()
        grant = self._grant
        due_at = grant.due_at() if grant is not None and not grant.is_spent else 0.0
        if not due_at or self._users <= 0:
            return
        # Not all processes at once.
        wait_s = max(self._retry_at, due_at) - time.time()
        wait_s = min(max(0.0, wait_s), _LONGEST_TIMER_S) * uniform(0.97, 1.0)  # noqa: S311
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._due)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        grant = self._grant
        if grant is None or self._users <= 0:
            return
        if grant.due_at() > time.time() + 1:
            self._watch()
        else:
            self._begin(grant)

    async def _renewed(self, grant: Grant) -> None:
        """Wait for the renewal of a grant. Raises a fault when it fails."""
        wait_s = self._retry_at - time.time()
        if wait_s > 0:
            raise renewal_failed(self.entry.label, grant.last_error or "it failed", wait_s)
        # Whoever gives up waiting does not end it for the others, nor between answer and disk.
        await asyncio.shield(self._begin(grant))
        now = self._grant
        if now is None:
            raise login_required(self.entry)
        if now.is_spent:
            raise login_required(self.entry, "the last one is over and cannot be renewed")
        if self._retry_at > time.time():
            raise renewal_failed(
                self.entry.label, now.last_error or "it failed", self._retry_at - time.time()
            )

    def _begin(self, grant: Grant) -> "asyncio.Task[None]":
        if self._renewing is None or self._renewing.done():
            self._renewing = self._tasks.start(self._renew(grant))
        return self._renewing

    async def _renew(self, old: Grant) -> None:
        try:
            async with self._grants.locked(old.reference):
                # Another process may have been first, or somebody may have logged out.
                await self._read()
                grant = self._grant
                if grant is not None and grant.access_token == old.access_token:
                    await self._renew_locked(grant)
        except Fault as fault:
            # The vault or the lock; what we have is still what it was.
            self._failed(fault.message)
        self._watch()

    async def _renew_locked(self, grant: Grant) -> None:
        auth = self.entry.auth
        reference = auth.client_secret_ref if auth is not None else ""
        web = self.open_web()
        try:
            secret = await asyncio.to_thread(self.secret, reference) if reference else ""
            if reference and not secret:
                raise renewal_failed(self.entry.label, "the client secret has no value", 0)
            self._learn([secret] if secret else [])
            client = grant.client(secret or "")
            endpoint = TokenEndpoint(grant.token_url, client, grant.key.resource, web)
            tokens = await endpoint.refresh(grant.refresh_token)
        except TokenRefused as refused:
            await self._note_failure(
                grant,
                str(refused),
                is_final=refused.is_final,
                retry_after_s=refused.retry_after_s,
            )
            return
        except Fault as fault:
            await self._note_failure(grant, fault.message, is_final=False)
            return
        finally:
            await web.aclose()
        now = time.time()
        renewed = replace(
            grant,
            access_token=tokens.access_token,
            # Where none came the old one stays good.
            refresh_token=tokens.refresh_token or grant.refresh_token,
            expires_at=tokens.expires_at,
            obtained_at=now,
            refreshed_at=now,
            scopes=grant.scopes if tokens.scopes is None else tokens.scopes,
            last_error="",
            failed_at=0.0,
        )
        if not await self._keep(renewed):
            # The old one is worth nothing any more, so the new one is used while we are here.
            self._tasks.start(self._keep_later(grant, renewed))
        self._trail.renewed(self.entry, renewed)
        if self._failures:
            self._tell(self.entry.label, "")
        self._failures, self._retry_at = 0, 0.0
        self._adopt(renewed)

    async def _keep(self, grant: Grant) -> bool:
        """Bring it to disk before anybody uses it. Says whether that could be done."""
        try:
            await asyncio.to_thread(self._grants.keep, self.reference, grant)
        except Fault as fault:
            self._tell(self.entry.label, f"the login could not be written: {fault.message}")
            return False
        self._stamp = self._grants.stamp()
        return True

    async def _keep_later(self, old: Grant, grant: Grant) -> None:
        """Write it as soon as that can be done, unless somebody has written another."""
        while True:
            await asyncio.sleep(_REWRITE_S)
            with suppress(Fault):
                async with self._grants.locked(grant.reference):
                    there = await asyncio.to_thread(self._grants.find, self.reference)
                    if there is not None and there.access_token == old.access_token:
                        await asyncio.to_thread(self._grants.keep, self.reference, grant)
                        self._stamp = self._grants.stamp()
                return

    async def _note_failure(
        self, grant: Grant, why: str, *, is_final: bool, retry_after_s: float = 0.0
    ) -> None:
        failed = replace(grant, last_error=why, failed_at=time.time(), is_spent=is_final)
        await self._keep(failed)
        self._adopt(failed)
        self._failed(why, is_final=is_final, retry_after_s=retry_after_s)

    def _failed(self, why: str, *, is_final: bool = False, retry_after_s: float = 0.0) -> None:
        self._trail.not_renewed(self.entry, why, is_final=is_final)
        if not self._failures:
            self._tell(self.entry.label, why)
        self._failures += 1
        # What the server asks for counts if it is longer than our own patience, up to its end.
        pause_s = max(_FIRST_PAUSE_S * 2 ** (self._failures - 1), retry_after_s)
        pause_s = min(pause_s, _LONGEST_PAUSE_S)
        self._retry_at = time.time() + pause_s

    async def aclose(self, patience_s: float) -> None:
        """End it, but for a renewal that is under way: its answer must not be lost."""
        self._stop_timer()
        renewing = self._renewing
        if renewing is not None and not renewing.done():
            await asyncio.wait({renewing}, timeout=patience_s)
        await self._tasks.aclose()
