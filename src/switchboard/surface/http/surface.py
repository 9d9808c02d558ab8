"""Streamable HTTP on one path, in both eras."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Raw

from switchboard.core.board import Board
from switchboard.core.people import Doorkeeper, Person, key_of
from switchboard.core.ports import Boards, Events
from switchboard.core.sessions import Session
from switchboard.surface.endpoint import Endpoint
from switchboard.surface.http.access import Access
from switchboard.surface.http.exchange import (
    RELAYED,
    RELAYED_BY,
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
from switchboard.surface.http.handshake import HandshakeEra
from switchboard.surface.http.listener import (
    ALIVE_PATH,
    CONTROL_PATH,
    PATH,
    PEOPLE_PATH,
    READY_PATH,
    SINGLETONS_PATH,
)
from switchboard.surface.http.modern import ModernEra, claims_modern, state_in
from switchboard.surface.http.sessions import IDLE_S, HttpSessions
from switchboard.surface.sink import Sink
from switchboard.surface.suspended_calls import SuspendedCalls
from switchboard.wire.eras import HANDSHAKE_VERSIONS
from switchboard.wire.frames import MAX_MESSAGE_BYTES
from switchboard.wire.http_headers import (
    JSON_TYPE,
    METHOD,
    PROTOCOL_VERSION,
    SESSION_ID,
    media_type,
)
from switchboard.wire.messages import PARSE_ERROR
from switchboard.wire.unreadable import is_text

if TYPE_CHECKING:
    from switchboard.surface.http.relay import Relay
    from switchboard.surface.http.routes import ControlRoutes

# Whether the process lives, and whether requests should come to it.
_HEALTH = frozenset({ALIVE_PATH, READY_PATH})
# Where RFC 9728 has us describe ourselves: for our path, and for the host as a whole.
_ABOUT_US = frozenset({"/.well-known/oauth-protected-resource" + each for each in ("", PATH)})
_ID_BYTES, _AT_ONCE = 5, 64


class Routes(Protocol):
    """More that is served, behind a check of its own."""

    async def serve(self, exchange: Exchange, /) -> None:
        """Answer one request. Raises Refusal."""
        ...

    async def aclose(self) -> None:
        """Take nothing new in, and end what is under way and every stream."""
        ...


class Views(Protocol):
    """What each person sees, where that differs."""

    def boards(self, person: Person | None, /) -> Boards:
        """The running configuration for them."""
        ...

    def instructions(self, person: Person | None, /) -> str:
        """What their client is told before it sees any tool."""
        ...


class _Seen:
    """The boards of one client, whose person may be in other groups with every request."""

    def __init__(self, views: Views, person: Callable[[], Person | None]) -> None:
        self._views = views
        self._person = person

    def lease(self) -> AbstractContextManager[Board, None]:
        return self._views.boards(self._person()).lease()


class HttpSurface:
    """An ASGI application that serves the board."""

    def __init__(
        self,
        boards: Boards,
        events: Events,
        access: Access,
        *,
        workspace: str,
        instructions: Callable[[], str],
        idle_s: float = IDLE_S,
        control: "ControlRoutes | None" = None,
        # How many runs of agents stand above every client.
        depth: int = 0,
        is_pinned: bool = False,
        # The way to other gateways of a team, and what makes the same of a client on all of them.
        relay: "Relay | None" = None,
        entrance_key: bytes = b"",
        # What other gateways forward.
        singletons: "Routes | None" = None,
        # What each person sees, where that differs.
        views: "Views | None" = None,
        # Where they answer questions.
        page: "Routes | None" = None,
    ) -> None:
        given = ((CONTROL_PATH, control), (SINGLETONS_PATH, singletons), (PEOPLE_PATH, page))
        self._routes = [(path, routes) for path, routes in given if routes is not None]
        self._views = views
        self._relay = relay
        prefix = "" if relay is None else f"{relay.gateways.tag}-"
        self._boards = boards
        self._access = access
        self._workspace = workspace
        self._depth = depth
        self._is_pinned = is_pinned
        self._instructions = instructions
        self._sessions = HttpSessions(events, idle_s=idle_s, prefix=prefix)
        self._handshake = HandshakeEra(self._sessions, self._endpoint)
        self._modern = ModernEra(self._endpoint, self._input_schema)
        self._suspended_calls = SuspendedCalls(prefix)
        self._is_closing = False
        self._is_retiring = False
        # What is being answered, and of that what follows news and has no end of its own.
        self._open: set[Exchange] = set()
        self._following: set[Exchange] = set()
        self._ids: list[str] = []
        self.unfinished = BodyBudget()
        # Otherwise no other server has the same, nor this one when it is started again.
        key = entrance_key or os.urandom(16)
        self._entrance = hashlib.sha256(key + access.token.encode()).hexdigest()[:16]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send)
        if self._is_retiring:
            # The next request of this client comes by another connection, perhaps to another.
            exchange.add_headers(((b"connection", b"close"),))
        self._open.add(exchange)
        if exchange.method == "GET" or exchange.header(METHOD) == "subscriptions/listen":
            self._following.add(exchange)
        try:
            await self._serve(exchange)
        except Refusal as refusal:
            await exchange.reply(refusal.reply)
        except ClientLeft:
            return
        finally:
            if exchange.is_promised:
                exchange.on_kept = self._forget
            else:
                self._forget(exchange)

    def _forget(self, exchange: Exchange) -> None:
        self._open.discard(exchange)
        self._following.discard(exchange)

    async def _serve(self, exchange: Exchange) -> None:
        for path, routes in self._routes:
            if exchange.path.startswith(path):
                await routes.serve(exchange)
                return
        if self._relay is not None and exchange.path in _HEALTH:
            await self._tell_health(exchange, self._relay)
            return
        if self._access.door is not None and exchange.path in _ABOUT_US:
            await self._tell_about_us(exchange, self._access.door)
            return
        await self._let_in(exchange)
        version = exchange.header(PROTOCOL_VERSION)
        modern = version is not None and version not in HANDSHAKE_VERSIONS
        if exchange.method == "POST":
            await self._post(exchange, modern=modern)
        elif exchange.method in {"GET", "DELETE"} and not modern:
            if await self._passed_on(exchange, exchange.header(SESSION_ID)):
                return
            era = self._handshake
            await (era.get(exchange) if exchange.method == "GET" else era.delete(exchange))
        else:
            allowed = b"POST" if modern else b"GET, POST, DELETE"
            raise Refusal(405, "this method is not offered", headers=((b"allow", allowed),))

    async def _let_in(self, exchange: Exchange) -> None:
        """Find out whose request it is. Raises Refusal."""
        exchange.person = await self._access.person(exchange)
        if exchange.path != PATH:
            raise Refusal(404, f"there is nothing here but `{PATH}`")
        if self._is_closing:
            raise closing()
        if self._relay is not None:
            self._believe(exchange, self._relay)

    async def _post(self, exchange: Exchange, *, modern: bool) -> None:
        if media_type(exchange.header("content-type") or "") != JSON_TYPE:
            raise Refusal(415, f"the content type must be `{JSON_TYPE}`")
        if not exchange.accepts(JSON_TYPE):
            raise Refusal(406, f"the client must accept `{JSON_TYPE}`")
        body = await exchange.body(MAX_MESSAGE_BYTES, self.unfinished)
        if not is_text(body):
            raise Refusal(400, "the body is not UTF-8", code=PARSE_ERROR)
        modern = modern or (exchange.header(SESSION_ID) is None and claims_modern(body))
        if self._relay is not None:
            if modern:
                owner = state_in(body) or self._relay.keeper_in(body)
            else:
                owner = exchange.header(SESSION_ID)
            if await self._passed_on(exchange, owner, body):
                return
            if self._is_retiring and not owner and not exchange.header(RELAYED):
                if await self._relay.handed_on(exchange, body):
                    return
                raise closing()
        if modern:
            await self._modern.post(exchange, body)
        else:
            await self._handshake.post(exchange, body)

    async def _passed_on(self, exchange: Exchange, owner: str | None, body: bytes = b"") -> bool:
        """Whether another gateway has answered, to which what is named here belongs."""
        if self._relay is None or not owner:
            return False
        return await self._relay.passed_on(exchange, owner, body)

    def _believe(self, exchange: Exchange, relay: "Relay") -> None:
        """What came over another gateway came from the client that it names."""
        vouched = exchange.header(RELAYED)
        if vouched is None:
            return
        client, _, key = (relay.gateways.believe(vouched) or "").partition("/")
        # Whom the other gateway knew is whom the token says here, too.
        if not client or key != key_of(exchange.person):
            raise Refusal(400, f"the header `{RELAYED}` is for gateways of this team")
        exchange.client_address = client
        if by := exchange.header(RELAYED_BY):
            exchange.is_lost = partial(relay.has_ended, by)

    async def _tell_health(self, exchange: Exchange, relay: "Relay") -> None:
        """For load balancers and supervisors, which have no token."""
        if exchange.method not in {"GET", "HEAD"}:
            raise Refusal(405, "this method is not offered", headers=((b"allow", b"GET, HEAD"),))
        trouble = ""
        if exchange.path == READY_PATH:
            is_leaving = self._is_closing or self._is_retiring
            trouble = "it is about to stop" if is_leaving else relay.gateways.trouble()
        text = trouble or "ok"
        await exchange.reply(
            HttpReply(503 if trouble else 200, (f"{text}\n".encode(),), media_type="text/plain")
        )

    async def _tell_about_us(self, exchange: Exchange, door: Doorkeeper) -> None:
        """Where one gets a token, for clients that have none."""
        self._access.check_called(exchange)
        if exchange.method != "GET":
            raise Refusal(405, "this method is not offered", headers=((b"allow", b"GET"),))
        await exchange.reply(HttpReply(200, (door.document,)))

    def _next_id(self) -> str:
        # Many at once: the modern era needs one with each request.
        if not self._ids:
            drawn = os.urandom(_ID_BYTES * _AT_ONCE)
            self._ids = [drawn[at : at + _ID_BYTES].hex() for at in range(0, len(drawn), _ID_BYTES)]
        return self._ids.pop()

    def _endpoint(self, sink: Sink, address: str, person: Person | None) -> Endpoint:
        session = Session(
            id=self._next_id(),
            via="http",
            workspace=self._workspace,
            started_at=time.time(),
            depth=self._depth,
            is_pinned=self._is_pinned,
            # Whoever is known is the same wherever they are, and no more people by being elsewhere.
            entrance=f"{self._entrance_of(person)}@{'' if key_of(person) else address}",
            person=person,
        )
        views = self._views
        endpoint = Endpoint(
            # By the groups that they are in today.
            self._boards if views is None else _Seen(views, lambda: endpoint.session.person),
            session,
            sink=sink,
            instructions=(
                self._instructions if views is None else lambda: views.instructions(person)
            ),
            # A client without a session comes back by another connection.
            suspended_calls=self._suspended_calls,
        )
        return endpoint

    def _entrance_of(self, person: Person | None) -> str:
        """What is the same for nobody else, or for all who show the one token."""
        if not (key := key_of(person)):
            return self._entrance
        return hashlib.sha256(f"{self._entrance}{key}".encode()).hexdigest()[:16]

    async def _input_schema(
        self, name: str, capabilities: Callable[[], dict[str, Any]], person: Person | None
    ) -> Raw | None:
        boards = self._boards if self._views is None else self._views.boards(person)
        with boards.lease() as board:
            tool = board.catalog.tools.get(name)
            if tool is None and "tools" in board.listing and board.directory is not None:
                nobody = Session(
                    id="",
                    via="http",
                    workspace=self._workspace,
                    capabilities=capabilities(),
                    person=person,
                )
                tool = await board.directory().tool(name, nobody, None)
            return tool.input_schema if tool is not None else None

    def sessions(self) -> Iterator[Session]:
        """The clients that have a session."""
        return (each.endpoint.session for each in self._sessions)

    def changed(self, kind: str, session_id: str) -> None:
        """Tell every client, or one, that another listing is worth asking for."""
        for session in self._sessions:
            session.endpoint.changed(kind, session_id)
        self._modern.changed(kind, session_id)

    async def retire(self) -> None:
        """Take nothing new in from now on, but what another gateway has nobody else for.

        Requests that belong to no other are handed on to one, streams end so that whoever follows
        them comes back elsewhere, and sessions end with their last call.
        """
        self._is_retiring = True
        self._modern.end_streams()
        if self._relay is not None:
            for exchange in tuple(self._following):
                await self._relay.end(exchange)

    @property
    def is_idle(self) -> bool:
        """Whether no call is under way or waits for its client. Ends sessions that are idle."""
        for session in self._sessions:
            if not session.under_way:
                self._sessions.close(session, "the server is about to stop")
        return self._open <= self._following and self._suspended_calls.is_empty

    async def aclose(self) -> None:
        """Take nothing new in, and end what is under way and every stream."""
        self._is_closing = True
        for _, routes in self._routes:
            await routes.aclose()
        if self._relay is not None:
            await self._relay.aclose()
        await self._modern.aclose()
        await self._suspended_calls.aclose()
        await self._sessions.aclose()
