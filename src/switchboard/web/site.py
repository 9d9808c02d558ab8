"""The page over HTTP: its files, logging in, the control API and the stream of events.

Every route is reached under one exact name. Nothing is changed by a GET, nothing is told without
the cookie of a visit and the key of its page, and nothing of it runs in a frame of others.
"""

import asyncio
import os
import time
from http.cookies import CookieError, SimpleCookie

import msgspec
from msgspec import Struct

from switchboard.control.api import Control
from switchboard.surface.http.access import check_names
from switchboard.surface.http.exchange import (
    BodyBudget,
    ClientLeft,
    Exchange,
    HttpReply,
    Receive,
    Refusal,
    Scope,
    Send,
    closing,
)
from switchboard.surface.http.own_pages import (
    check_method,
    check_own_page,
    guarded,
    reply_file,
)
from switchboard.surface.http.routes import ControlRoutes
from switchboard.web.stream import EventStream, Follow
from switchboard.web.visits import VISIT_S, Visits
from switchboard.wire.http_headers import JSON_TYPE, media_type
from switchkit.platform import Unknown
from switchkit.platform.ports import connected_user

KEY_HEADER = "x-switchboard-page"
_API = "/page/api/"
_FILES = os.path.join(os.path.dirname(__file__), "files")
# What the page asks. Calls of tools, secrets and the daemon's own end are not among it.
_OFFERED = frozenset(
    {
        *("status", "child", "logs", "approvals", "decide", "calls"),
        *("audit", "audit-after", "verify", "runs", "run", "run-cancel", "run-steer"),
        *("run-reply", "egress", "report", "services", "stop-calls"),
    }
)
_MOST_LOGIN_BYTES = 4_096
_MOST_STREAMS = 64
_KEEP_ALIVE_S = 10.0
_ROOT = 0
_UNKEPT = ((b"cache-control", b"no-store"),)
# What is known of a connection: whether it is one of this user.
_SAME_USER = "same-user"


class _Login(Struct, frozen=True, forbid_unknown_fields=True):
    """What a link is changed for a visit with."""

    token: str


class PageSite:
    """An ASGI application that serves the page of one daemon."""

    def __init__(self, control: Control, visits: Visits, follow: Follow, port: int) -> None:
        self._port = port
        self._host = f"127.0.0.1:{port}"
        self._visits = visits
        # Another listener of this machine has its own, though cookies know no ports.
        self._cookie = f"switchboard-{port}"
        self._routes = ControlRoutes(control, self)
        self._bodies = BodyBudget()
        self._is_closing = False
        self.stream = EventStream(follow)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, guarded(send))
        try:
            await self._serve(exchange)
        except Refusal as refusal:
            await exchange.reply(refusal.reply)
        except ClientLeft:
            return

    async def aclose(self) -> None:
        """Take nothing new in, and end every stream."""
        self._is_closing = True
        self.stream.close()
        await self._routes.aclose()

    def check(self, exchange: Exchange) -> None:
        """Let a visitor pass who is logged in, or raise Refusal."""
        check_own_page(exchange)
        key = exchange.header(KEY_HEADER) or ""
        if not self._visits.holds(self._cookie_of(exchange), key):
            raise Refusal(401, "this page is not logged in: type `switchboard open`")

    async def _serve(self, exchange: Exchange) -> None:
        check_names(exchange, {self._host})
        path = exchange.path
        if path.startswith(_API):
            self.check(exchange)
            word = path.removeprefix(_API)
            if word not in _OFFERED:
                raise Refusal(404, "the page cannot ask this")
            # Browsers may have another clock, and what waits is told with ours.
            exchange.add_headers(((b"x-switchboard-now", f"{time.time():.3f}".encode()),))
            await self._check_user(exchange)
            await self._routes.answer(exchange, word)
        elif path == "/page/login":
            await self._login(exchange)
        elif path == "/page/logout":
            self.check(exchange)
            check_method(exchange, "POST")
            gone = f"{self._cookie}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
            await exchange.reply(HttpReply(204, headers=((b"set-cookie", gone.encode()),)))
        elif path == "/page/events":
            self.check(exchange)
            check_method(exchange, "GET")
            await self._check_user(exchange)
            await self._follow(exchange)
        else:
            await reply_file(exchange, _FILES)

    async def _login(self, exchange: Exchange) -> None:
        check_own_page(exchange)
        check_method(exchange, "POST")
        if media_type(exchange.header("content-type") or "") != JSON_TYPE:
            raise Refusal(415, f"the content type must be `{JSON_TYPE}`")
        body = await exchange.body(_MOST_LOGIN_BYTES, self._bodies)
        # A link may have been read from the command line of the browser.
        await self._check_user(exchange)
        try:
            given = msgspec.json.decode(body, type=_Login)
        except msgspec.MsgspecError:
            raise Refusal(400, "this is not a request to log in") from None
        visit = self._visits.begin(given.token)
        if visit is None:
            raise Refusal(401, "this link was used already, or is too old: type `switchboard open`")
        cookie = (
            f"{self._cookie}={visit.cookie}; Path=/; Max-Age={VISIT_S}; HttpOnly; SameSite=Strict"
        )
        headers = ((b"set-cookie", cookie.encode()), *_UNKEPT)
        await exchange.reply(HttpReply(200, (msgspec.json.encode({"key": visit.key}),), headers))

    async def _check_user(self, exchange: Exchange) -> None:
        """Refuse other users, with a login as well.

        While no daemon runs, whoever takes its port is sent the cookie and the key of open pages.
        """
        known = exchange.connection
        if _SAME_USER not in known:
            known[_SAME_USER] = await asyncio.to_thread(self._is_same_user, exchange)
        if not known[_SAME_USER]:
            raise Refusal(403, "another user of this machine cannot use this page")

    def _is_same_user(self, exchange: Exchange) -> bool:
        try:
            user = connected_user(exchange.client_address, exchange.client_port, self._port)
        except Unknown:
            # It may be the one who listened at the port while no daemon ran.
            raise Refusal(
                403,
                "this system does not tell whose connection this is; answer in a terminal, with "
                "`switchboard approvals`",
            ) from None
        return user in (os.getuid(), _ROOT)

    def _cookie_of(self, exchange: Exchange) -> str:
        try:
            found = SimpleCookie(exchange.header("cookie") or "").get(self._cookie)
        except CookieError:
            return ""
        return found.value if found is not None else ""

    async def _follow(self, exchange: Exchange) -> None:
        if not exchange.accepts_events:
            raise Refusal(406, "the client must accept `text/event-stream`")
        if self._is_closing:
            raise closing()
        if self.stream.readers >= _MOST_STREAMS:
            raise Refusal(503, "too many pages follow already", headers=((b"retry-after", b"5"),))
        with self.stream.reading():
            await self._routes.until_left(exchange, self._pass_on(exchange))

    async def _pass_on(self, exchange: Exchange) -> None:
        stream = self.stream
        place = stream.found(exchange.header("last-event-id") or "")
        await exchange.begin_events(_UNKEPT)
        while True:
            if place is None:
                place = stream.now()
                await exchange.event((b'"anew"',), stream.name_of(place))
            try:
                async with asyncio.timeout(_KEEP_ALIVE_S):
                    batch = await stream.after(place)
            except TimeoutError:
                await exchange.keep_alive()
                continue
            place = None if batch is None else batch.place
            if batch is not None:
                await exchange.event((batch.body,), stream.name_of(batch.place))
