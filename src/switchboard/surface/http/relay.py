"""Passing a request on to the gateway that it belongs to.

Behind a load balancer each request may come to any gateway, and some belong to one: those of a
session of the handshake era, those that bring answers to a call that waits, and those that name a
result which was kept. Their ids have the tag of that gateway. Loaded by gateways of a team alone.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Protocol

import httpx2

from switchboard.core.loop.tasks import TaskSet
from switchboard.core.people import key_of
from switchboard.surface.http.exchange import RELAYED, RELAYED_BY, ClientLeft, Exchange, Refusal
from switchboard.surface.http.listener import ALIVE_PATH, PATH

_TAG = re.compile(r"([0-9a-f]{16})-")
# The handle of a kept result, wherever in the arguments it stands.
_HANDLE = re.compile(rb"r\d{1,9}-([0-9a-f]{16}-)[0-9a-f]{12}\b")
_CONNECT_S = 3.0
# Of one connection, and for it alone.
_NOT_PASSED_ON = frozenset(
    {
        *("host", "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te"),
        *("trailer", "transfer-encoding", "upgrade", "content-length", "accept-encoding", RELAYED),
        RELAYED_BY,
    }
)


class Gateways(Protocol):
    """The gateways of a team, as one of them knows them."""

    @property
    def tag(self) -> str:
        """What ids of this one begin with."""
        ...

    async def address_of(self, tag: str, /) -> str:
        """The URL of another one; empty where it is not known."""
        ...

    async def others(self) -> Sequence[str]:
        """The URLs of those that take what is new, in any order."""
        ...

    def vouch(self, client: str, /) -> str:
        """The address of a client, and who it is of, for another gateway to believe."""
        ...

    def believe(self, vouched: str, /) -> str | None:
        """What another gateway vouches for; nothing if none of them does."""
        ...

    def trouble(self) -> str:
        """Why no request should come here now; empty where they may."""
        ...


def _tag_of(text: str) -> str:
    """The tag that an id begins with, if it has one."""
    found = _TAG.match(text)
    return found.group(1) if found else ""


def _whose(exchange: Exchange) -> str:
    """Where a request came from, and who sent it, where people have names."""
    return f"{exchange.client_address}/{key_of(exchange.person)}"


class Relay:
    """Passes requests on, and what is answered back as it comes."""

    def __init__(self, gateways: Gateways) -> None:
        self.gateways = gateways
        self._tasks = TaskSet()
        # Answers that come, and those of them that we have ended ourselves.
        self._open: dict[Exchange, httpx2.Response] = {}
        self._ended: set[Exchange] = set()
        self._http = httpx2.AsyncClient(
            # How long an answer may take is for the road to decide, not for the connection.
            timeout=httpx2.Timeout(_CONNECT_S, read=None, write=None, pool=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
            follow_redirects=False,
            trust_env=False,
        )

    @staticmethod
    def keeper_in(body: bytes) -> str | None:
        """Whose the kept result is that a request names, if it names one.

        Text that only looks like a handle does no harm: any gateway can answer such a request.
        """
        found = _HANDLE.search(body)
        return found.group(1).decode() if found else None

    async def passed_on(self, exchange: Exchange, owner: str, body: bytes = b"") -> bool:
        """Answer a request as the gateway does whose this id is. False where that is not there.

        Raises Refusal when it was lost in the middle.
        """
        tag = _tag_of(owner)
        if tag in {"", self.gateways.tag} or exchange.header(RELAYED) is not None:
            # What came over another gateway is ours, or nobody's.
            return False
        address = await self.gateways.address_of(tag)
        return bool(address) and await self._answered_by(exchange, address, body)

    async def handed_on(self, exchange: Exchange, body: bytes = b"") -> bool:
        """Answer a request as any other gateway does. False where there is none.

        Raises Refusal when it was lost in the middle.
        """
        for address in await self.gateways.others():
            if await self._answered_by(exchange, address, body):
                return True
        return False

    async def has_ended(self, tag: str) -> bool:
        """Whether another gateway cannot be reached any more."""
        address = await self.gateways.address_of(tag)
        if not address:
            return True
        try:
            await self._http.get(address + ALIVE_PATH, timeout=_CONNECT_S)
        except httpx2.RequestError:
            return True
        return False

    async def _answered_by(self, exchange: Exchange, address: str, body: bytes) -> bool:
        """Answer a request as the gateway there does. False where there is none."""
        request = self._http.build_request(
            exchange.method,
            address + PATH,
            headers=[
                # As they came: a value may hold any byte.
                *(
                    (name.encode("latin-1"), value.encode("latin-1"))
                    for name, value in exchange.headers
                    if name not in _NOT_PASSED_ON
                ),
                (RELAYED.encode(), self.gateways.vouch(_whose(exchange)).encode()),
                (RELAYED_BY.encode(), self.gateways.tag.encode()),
            ],
            content=body,
        )
        left = self._tasks.start(exchange.until_left())
        try:
            response = await self._sent(request, left)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            # It has ended, and with it everything that belonged to it.
            left.cancel()
            return False
        except httpx2.RequestError:
            left.cancel()
            raise Refusal(502, "the gateway of this request ended before it answered") from None
        leaving = self._tasks.start(self._until_left(left, response))
        try:
            await exchange.begin(
                response.status_code,
                [
                    (name, value)
                    for name, value in response.headers.raw
                    if name.decode("latin-1").lower() not in _NOT_PASSED_ON - {"content-length"}
                ],
            )
            self._open[exchange] = response
            async for chunk in response.aiter_raw():
                await exchange.chunk(chunk)
        except (httpx2.RequestError, httpx2.StreamError):
            if leaving.done():
                raise ClientLeft from None
            if exchange in self._ended:
                await exchange.end()
                return True
            # The client sees that the answer is not whole: it has begun already.
            raise ConnectionError("the gateway of this request ended in the middle") from None
        finally:
            leaving.cancel()
            self._open.pop(exchange, None)
            self._ended.discard(exchange)
            await response.aclose()
        await exchange.end()
        return True

    async def end(self, exchange: Exchange) -> None:
        """End a stream that is passed on, in order: whoever follows it comes back elsewhere."""
        if response := self._open.pop(exchange, None):
            self._ended.add(exchange)
            await response.aclose()

    async def aclose(self) -> None:
        """End what is under way."""
        await self._tasks.aclose()
        await self._http.aclose()

    async def _sent(self, request: httpx2.Request, left: "asyncio.Task[None]") -> httpx2.Response:
        """What is answered, as soon as that begins. Raises ClientLeft."""
        sending = self._tasks.start(self._http.send(request, stream=True))
        try:
            await asyncio.wait({sending, left}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                raise ClientLeft
        except BaseException:
            # The connection ends with it, and so the other gateway knows.
            sending.cancel()
            raise
        return sending.result()

    async def _until_left(self, left: "asyncio.Task[None]", response: httpx2.Response) -> None:
        """A client that leaves has left the gateway of its request, too."""
        await left
        await response.aclose()
