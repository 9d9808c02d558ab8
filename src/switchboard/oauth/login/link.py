"""A login that a client's user finishes behind a link, while a call of theirs waits.

Nothing opens a browser here: the client shows the link, and a person follows it or does not.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Raw, Struct

from switchboard.core.channels.channel import Channel, Input
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.oauth.ending import end_replaced
from switchboard.oauth.faults import login_failed, login_given_up
from switchboard.oauth.grant import Grant
from switchboard.oauth.grant_store import GrantStore
from switchboard.oauth.login.attempt import attempt_login
from switchboard.oauth.login.callback import Callback
from switchboard.oauth.login.request import LoginRequest
from switchboard.oauth.login_trail import LoginTrail
from switchboard.oauth.urls import origin_of

if TYPE_CHECKING:
    from switchboard.oauth.held_login import HeldLogin

_KEY = "switchboard/login"
# While a person logs in, the call gets its time anew so often.
_STEP_S = 5.0
_PATIENCE_S = 280.0


class _Reply(Struct):
    action: str = ""


class LinkLogin:
    """One login behind a link. Whoever asks for it meanwhile is shown the same link."""

    def __init__(
        self, held: "HeldLogin", grants: GrantStore, trail: LoginTrail, document_url: str
    ) -> None:
        """`document_url` is where our own description is published; empty if it is not."""
        self._held = held
        self._grants = grants
        self._trail = trail
        self._document_url = document_url
        self._tasks = TaskSet()
        self._url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._done: asyncio.Task[bool] | None = None

    @property
    def is_over(self) -> bool:
        """Whether it was finished, refused or given up."""
        return self._done is not None and self._done.done()

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it is under way any more, or yet."""
        return not len(self._tasks)

    async def offer(self, channel: Channel) -> bool:
        """Show the link, and wait until somebody has logged in. Raises a fault."""
        if not _shows_links(channel):
            return False
        if self._done is None:
            self._done = self._tasks.start(self._log_in())
        done = self._done
        url = await asyncio.shield(self._url)
        entry = self._held.entry
        account = f" as `{entry.account}`" if entry.account else ""
        page = {
            "mode": "url",
            "message": (
                f"Switchboard asks: log in to `{entry.name}`{account}"
                f" at {origin_of(url)[1]}, so that this call can go on?"
            ),
            "url": url,
        }
        wanted = {_KEY: Input("elicitation/create", Raw(msgspec.json.encode(page)))}
        try:
            reply = msgspec.json.decode((await channel.ask(wanted))[_KEY], type=_Reply)
        except msgspec.MsgspecError:
            return False
        if reply.action != "accept":
            return False
        while not done.done():
            channel.report(0, None, "waiting for the login")
            await asyncio.wait({done}, timeout=_STEP_S)
        return done.result()

    async def _log_in(self) -> bool:
        web = self._held.open_web()
        try:
            async with Callback() as callback:
                request = await self._request()
                attempt = await attempt_login(request, web, callback.redirect_uri)
                callback.expect(attempt.is_ours)
                self._url.set_result(attempt.url)
                grant = await attempt.finish(await callback.answer(_PATIENCE_S), web)
            before = await self._grants.replace(self._held.reference, grant)
            self._trail.made(self._held.entry, grant)
            self._tasks.start(self._end(before, grant))
        except Exception as error:  # noqa: BLE001 - whoever waits for the link is told of any
            fault = error if isinstance(error, Fault) else login_failed(error)
            self._give_up(fault)
            self._trail.failed(self._held.entry, fault)
            return False
        finally:
            self._give_up(login_given_up())
            await web.aclose()
        return True

    def _give_up(self, fault: Fault) -> None:
        """Nobody may be left who waits for the link."""
        if not self._url.done():
            self._url.set_exception(fault)
            # Whether somebody waits or not: it is told in the audit log.
            self._url.exception()

    async def _end(self, before: Grant | None, grant: Grant) -> None:
        """The call that waits for the login does not wait for the end of the one before."""
        web = self._held.open_web()
        try:
            await end_replaced(before, grant, web)
        finally:
            await web.aclose()

    async def _request(self) -> LoginRequest:
        held = self._held
        auth = held.entry.auth
        reference = auth.client_secret_ref if auth is not None else ""
        secret = await asyncio.to_thread(held.secret, reference) if reference else ""
        return LoginRequest(
            entry=held.entry,
            client_secret=secret or "",
            document_url=self._document_url,
            challenge=held.challenge,
        )

    async def aclose(self) -> None:
        """Give it up."""
        await self._tasks.aclose()
        # A task that had not begun yet ends without a word.
        self._give_up(login_given_up())


def _shows_links(channel: Channel) -> bool:
    try:
        declared: Mapping[str, Any] = msgspec.json.decode(channel.declared, type=dict[str, Any])
    except msgspec.MsgspecError:
        return False
    modes = declared.get("elicitation")
    return isinstance(modes, dict) and "url" in cast("dict[str, Any]", modes)
