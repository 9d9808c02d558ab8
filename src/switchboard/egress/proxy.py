"""The proxy of one child: whatever the child sends out comes through here."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

import h11
from msgspec import Struct
from msgspec.structs import replace

from switchboard.core.loop.tasks import TaskSet
from switchboard.core.network.egress import EgressHost, EgressOutcome
from switchboard.egress.allowed import AllowedHosts, Destination
from switchboard.egress.dialing import Dialer, Upstream
from switchboard.egress.doors.strangers import Strangers
from switchboard.egress.exchange import (
    CredentialOf,
    HttpExchange,
    RequestTarget,
    absolute_target,
    check_host,
    connect_target,
    knows_password,
)
from switchboard.egress.http_side import HttpSide
from switchboard.egress.limits import EgressLimits
from switchboard.egress.refusals import EgressRefusal, Malformed, Unreached, WithoutPassword
from switchboard.egress.tunnel import Meter, relay
from switchboard.wire.http_hosts import in_url

if TYPE_CHECKING:
    from switchboard.egress.certificates import ChildAuthority

# Asks a person whether a child may reach a host that is not on its list. Without a word it may;
# else it raises an `EgressRefusal` that says why not.
AskFor = Callable[[str, int], Awaitable[None]]
# Told what became of each wish.
Note = Callable[["Noted"], None]

_HTTPS, _HTTP = 443, 80
_NOTHING = Meter()
_TOO_MANY = "there are too many connections at once"


class Noted(Struct, frozen=True, kw_only=True):
    """What became of one wish, or how much more went over a connection."""

    host: str
    port: int
    outcome: EgressOutcome
    why: str = ""
    # Where a person has to decide, in words.
    says: str = ""
    # Where the name leads, if that is what was refused.
    address: str = ""
    times: int = 1
    meter: Meter = _NOTHING


class ChildProxy:
    """Serves the connections that come from inside of one sandbox."""

    def __init__(
        self,
        allowed: AllowedHosts,
        dialer: Dialer,
        *,
        note: Note,
        credential_of: CredentialOf,
        limits: EgressLimits,
        authority: "ChildAuthority | None" = None,
        ask: AskFor | None = None,
        # What whoever comes has to know, where others can come too.
        password: str = "",
    ) -> None:
        self._allowed = allowed
        self._dialer = dialer
        self._note = note
        self._credential_of = credential_of
        self._limits = limits
        self._authority = authority
        self._ask = ask
        self._password = password.encode()
        self._tasks = TaskSet()
        self._strangers = Strangers(limits.strangers)
        # The connections of the child.
        self._known: set[asyncio.StreamWriter] = set()
        self._listener: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None

    def serve(self, listener: socket.socket) -> None:
        """Answer whoever connects, until this is closed."""
        self._listener = listener
        self._accepting = asyncio.get_running_loop().create_task(self._accept(listener))

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError:
                # Out of descriptors, or the peer is gone already: nothing is gained by haste.
                await asyncio.sleep(0.1)
                continue
            self._tasks.start(self._serve(connection))

    async def aclose(self) -> None:
        """End every connection."""
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.gather(self._accepting, return_exceptions=True)
        if self._listener is not None:
            # Also where nobody came to accept anything.
            self._listener.close()
        await self._tasks.aclose()

    async def _serve(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection)
        try:
            side = HttpSide(h11.SERVER, reader, writer, self._limits)
            if self._password:
                self._strangers.admit(writer)
            elif self._is_full_with(writer):
                await self._answer(side, EgressRefusal("too-many", _TOO_MANY), Meter())
                return
            await self._requests(side, None)
        except (OSError, EOFError, TimeoutError, ssl.SSLError, h11.LocalProtocolError):
            # It went away, or was silent for too long.
            pass
        finally:
            self._strangers.forget(writer)
            self._known.discard(writer)
            writer.transport.abort()

    def _is_full_with(self, writer: asyncio.StreamWriter) -> bool:
        """Count a connection of the child; whether it is one too many."""
        self._known.add(writer)
        return len(self._known) > self._limits.connections

    async def _request(self, side: HttpSide, inside: tuple[str, int] | None) -> h11.Request:
        """The next request of a connection. Raises `EgressRefusal`, also for who is a stranger."""
        within_s = self._limits.head_s if side.writer in self._strangers else None
        async with asyncio.timeout(within_s):
            request = await side.head()
        if not isinstance(request, h11.Request):
            raise Malformed("this is no request")
        if inside is None and not knows_password(request, self._password):
            raise WithoutPassword
        if side.writer in self._strangers:
            self._strangers.forget(side.writer)
            if self._is_full_with(side.writer):
                raise EgressRefusal("too-many", _TOO_MANY)
        return request

    async def _requests(self, side: HttpSide, inside: tuple[str, int] | None) -> None:
        """The requests of one connection; `inside` is the host of a tunnel that we look into."""
        while True:
            meter = Meter()
            try:
                request = await self._request(side, inside)
                if request.method == b"CONNECT" and inside is None:
                    await self._connect(side, request, meter)
                    return
                meter = await self._plain(side, request, inside)
            except EgressRefusal as refused:
                await self._answer(side, refused, meter)
                return
            if side.http.our_state is not h11.DONE or side.http.their_state is not h11.DONE:
                await _linger(side)
                return
            side.http.start_next_cycle()

    async def _plain(
        self, side: HttpSide, request: h11.Request, inside: tuple[str, int] | None
    ) -> Meter:
        if inside is not None:
            host, port = inside
            path, is_tls = bytes(request.target), True
            if not path.startswith(b"/"):
                raise Malformed("a request names a path here")
            check_host(request, host, port, _HTTPS)
        else:
            host, port, path = absolute_target(request)
            is_tls = False
            check_host(request, host, port, _HTTP)
        rule = await self._judged(host, port)
        if rule.inject and not is_tls:
            # A credential is never sent in the clear, whatever the child speaks with us.
            is_tls = True
            if port == _HTTP:
                port = _HTTPS
                rule = await self._judged(host, port)
        exchange = HttpExchange(side, self._dial, self._credential_of, self._limits)
        try:
            await exchange.carry(request, RequestTarget(host, port, path, is_tls), rule)
        except EgressRefusal as refused:
            refused.host, refused.port = host, port
            raise
        self._note(Noted(host=host, port=port, outcome="reached", meter=exchange.meter))
        return exchange.meter

    async def _connect(self, side: HttpSide, request: h11.Request, meter: Meter) -> None:
        host, port = connect_target(request)
        rule = await self._judged(host, port)
        if rule.is_inspected:
            await self._look_into(side, host, port)
            return
        to = Destination(host=host, port=port, rule=rule)
        upstream = await self._agreed(self._dialer.tunnel, to)
        try:
            await side.send(h11.Response(status_code=200, headers=[], reason=b"OK"))
            if early := side.http.trailing_data[0]:
                upstream.writer.write(early)
                meter.up += len(early)
            # At once: a tunnel may stay open for long.
            self._note(Noted(host=host, port=port, outcome="reached"))
            await relay(
                (side.reader, side.writer),
                (upstream.reader, upstream.writer),
                meter,
                idle_s=self._limits.idle_s,
            )
        finally:
            upstream.close()
            self._note(Noted(host=host, port=port, outcome="reached", times=0, meter=meter))

    async def _look_into(self, side: HttpSide, host: str, port: int) -> None:
        assert self._authority is not None, "a host that is looked into has an authority"
        context = await asyncio.to_thread(self._authority.context, host)
        # What comes after our yes is for TLS to read, and for nobody else.
        cast("asyncio.Transport", side.writer.transport).pause_reading()
        await side.send(h11.Response(status_code=200, headers=[], reason=b"OK"))
        if side.http.trailing_data[0]:
            return
        async with asyncio.timeout(self._limits.connect_s):
            reader, writer = await _server_tls(side.reader, side.writer, context)
        try:
            await self._requests(HttpSide(h11.SERVER, reader, writer, self._limits), (host, port))
        finally:
            writer.close()
            with contextlib.suppress(OSError, TimeoutError, ssl.SSLError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()

    async def _judged(self, host: str, port: int) -> EgressHost:
        rule = self._allowed.find(host, port)
        if rule is not None:
            return rule
        if self._ask is not None:
            await self._ask(host, port)
            return EgressHost(host=host, port=port)
        if self._allowed.knows(host):
            raise EgressRefusal(
                "port-not-listed", f"port {port} of {in_url(host)} is not on the list", host, port
            )
        says = f"{in_url(host)}:{port} is not on the list of this server"
        raise EgressRefusal("host-not-listed", says, host, port)

    async def _dial(self, to: Destination, is_tls: bool) -> Upstream:
        return await self._agreed(self._dialer.tls if is_tls else self._dialer.plain, to)

    async def _agreed(
        self, dial: Callable[[Destination], Awaitable[Upstream]], to: Destination
    ) -> Upstream:
        """Dial, and where a name leads to an address that is not public, ask about that one.

        Only now: to look a name up before anybody agreed to it would tell its owner something.
        """
        try:
            return await dial(to)
        except EgressRefusal as refused:
            if not refused.address or self._ask is None:
                raise
            await self._ask(refused.address, to.port)
            return await dial(replace(to, agreed=refused.address))

    async def _answer(self, side: HttpSide, refused: EgressRefusal, meter: Meter) -> None:
        outcome: EgressOutcome = "failed" if isinstance(refused, Unreached) else "refused"
        # What a stranger does is no wish of the child, nor are its words told as the child's. And
        # the child that comes without its password is asked for it, and comes again.
        if side.writer not in self._strangers and not isinstance(refused, WithoutPassword):
            self._note(
                Noted(
                    host=refused.host,
                    port=refused.port,
                    outcome=outcome,
                    why=refused.why,
                    says=refused.says,
                    address=refused.address,
                    meter=meter,
                )
            )
        await side.answer(refused)
        await _linger(side)


async def _linger(side: HttpSide) -> None:
    """Let the other side read the answer: what it still sends would tear it away."""
    if side.writer.can_write_eof():
        side.writer.write_eof()
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(1):
            while await side.reader.read(65_536):
                pass


async def _server_tls(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ssl.SSLContext
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The same connection, in which we are the server of TLS."""
    loop = asyncio.get_running_loop()
    inner = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(inner)
    transport = await loop.start_tls(writer.transport, protocol, context, server_side=True)
    assert transport is not None
    protocol.connection_made(transport)
    del reader
    return inner, asyncio.StreamWriter(transport, protocol, inner, loop)
