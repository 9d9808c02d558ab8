"""Requests that we see: read whole from the child, judged, written anew to the other side.

Nothing is passed on as it came. What two readers could understand in two ways is refused, and what
goes on was written by us.
"""

import asyncio
import contextlib
from base64 import b64decode
from collections.abc import Awaitable, Callable
from hmac import compare_digest

import h11
from msgspec import Struct

from switchboard.core.network.egress import EgressHost, split_host
from switchboard.egress.allowed import Destination
from switchboard.egress.blackout import Blackout
from switchboard.egress.credentials import Credential
from switchboard.egress.dialing import Upstream
from switchboard.egress.http_side import Headers, HttpSide, passed_on
from switchboard.egress.limits import EgressLimits
from switchboard.egress.refusals import EgressRefusal, Malformed, Unreached
from switchboard.egress.tunnel import Meter
from switchboard.wire.http_hosts import in_url

# The credential of a host now. Raises `EgressRefusal`.
CredentialOf = Callable[[EgressHost], Awaitable[Credential | None]]
# A connection, with TLS or without. Raises `EgressRefusal`.
Dial = Callable[[Destination, bool], Awaitable[Upstream]]

_SWITCHING = 101
_HTTPS, _HTTP = 443, 80
# With a credential on, an answer has to be one that we can read.
_NOT_WITH_CREDENTIAL = frozenset({b"accept-encoding", b"range", b"if-range"})
# Read by many frameworks in the place of the method. Some take `_` for `-`, so every name that
# speaks of a method counts, however it is put together.
_OVERRIDE = b"method"
_HARMLESS = frozenset({b"access-control-request-method", b"mcp-method"})


class RequestTarget(Struct, frozen=True):
    """Where one request goes."""

    host: str
    port: int
    # What follows the host.
    path: bytes
    is_tls: bool

    @property
    def authority(self) -> bytes:
        """The host as a header names it."""
        usual = _HTTPS if self.is_tls else _HTTP
        shown = in_url(self.host) if self.port == usual else f"{in_url(self.host)}:{self.port}"
        return shown.encode()


class HttpExchange:
    """One request and its answer."""

    def __init__(
        self,
        child: HttpSide,
        dial: Dial,
        credential_of: CredentialOf,
        limits: EgressLimits,
    ) -> None:
        self._child = child
        self._dial = dial
        self._credential_of = credential_of
        self._limits = limits
        self.meter = Meter()

    async def carry(self, request: h11.Request, target: RequestTarget, rule: EgressHost) -> None:
        """Pass a request on, and its answer back. Raises `EgressRefusal` before it begins."""
        check_request(request)
        if rule.methods:
            _check_method(request, target, rule)
        credential = await self._credential_of(rule)
        headers = [each for each in passed_on(list(request.headers)) if each[0] != b"host"]
        if credential is not None:
            headers = [each for each in headers if each[0] not in _NOT_WITH_CREDENTIAL]
            headers = [*credential.put_on(headers), (b"Accept-Encoding", b"identity")]
        if self._child.http.they_are_waiting_for_100_continue:
            await self._child.send(h11.InformationalResponse(status_code=100, headers=[]))
        to = Destination(host=target.host, port=target.port, rule=rule)
        upstream = await self._dial(to, target.is_tls)
        side = HttpSide(h11.CLIENT, upstream.reader, upstream.writer, self._limits)
        try:
            await self._exchange(side, _written(request, headers, target, upstream), credential)
        except (h11.RemoteProtocolError, Malformed):
            says = f"{target.host} answered with something that is no HTTP"
            raise Unreached("answer", says, target.host, target.port) from None
        except EOFError:
            says = f"{target.host} ended the connection before it had answered"
            raise Unreached("answer", says, target.host, target.port) from None
        finally:
            self.meter.up, self.meter.down = side.sent, side.received
            upstream.close()

    async def _exchange(
        self, side: HttpSide, request: h11.Request, credential: Credential | None
    ) -> None:
        await side.send(request)
        sending = asyncio.ensure_future(self._pass_body(side))
        try:
            await self._pass_answer(side, credential)
        finally:
            if not sending.done():
                # The other side wants no more of it, so this connection cannot be used again.
                sending.cancel()
            with contextlib.suppress(
                OSError,
                EOFError,
                TimeoutError,
                asyncio.CancelledError,
                Malformed,
                h11.LocalProtocolError,
            ):
                await sending

    async def _pass_body(self, side: HttpSide) -> None:
        while True:
            event = await self._child.body()
            if isinstance(event, h11.EndOfMessage):
                # Without what may stand after the body: nobody judged it.
                await side.send(h11.EndOfMessage())
                return
            await side.send(event)

    async def _pass_answer(self, side: HttpSide, credential: Credential | None) -> None:
        event = await side.head()
        while isinstance(event, h11.InformationalResponse):
            if event.status_code == _SWITCHING:
                raise Malformed("it changes the protocol")
            event = await side.head()
        if not isinstance(event, h11.Response):
            raise Malformed("it does not answer")
        hide = Blackout(credential.forms) if credential is not None else None
        headers = passed_on(list(event.headers))
        if hide is not None:
            encoding = dict(headers).get(b"content-encoding", b"identity").strip().lower()
            if encoding not in (b"identity", b""):
                raise Malformed("it is compressed")
            headers = [(hide.whole(name), hide.whole(value)) for name, value in headers]
        await self._child.send(
            h11.Response(
                status_code=event.status_code,
                reason=event.reason if hide is None else hide.whole(bytes(event.reason)),
                headers=headers,
            )
        )
        while True:
            part = await side.body()
            if not isinstance(part, h11.Data):
                break
            data = bytes(part.data) if hide is None else hide.feed(bytes(part.data))
            if data:
                await self._child.send(h11.Data(data=data))
        if hide is not None and (rest := hide.flush()):
            await self._child.send(h11.Data(data=rest))
        await self._child.send(h11.EndOfMessage())


def _check_method(request: h11.Request, target: RequestTarget, rule: EgressHost) -> None:
    """The method is one of the list, and no header asks for another. Raises `EgressRefusal`."""
    method = request.method.decode("ascii", "replace")
    why, says = "", ""
    if method not in rule.methods:
        why, says = "method-not-listed", f"{method} is not among the methods for {target.host}"
    elif named := next((name for name, _ in request.headers if _names_method(name)), b""):
        shown = named.decode("ascii", "replace")
        why = "method-override"
        says = f"`{shown}` is not passed on to {target.host}, which has a list of methods"
    if why:
        raise EgressRefusal(why, says, target.host, target.port)


def _names_method(header: bytes) -> bool:
    return _OVERRIDE in header and header not in _HARMLESS


def check_request(request: h11.Request) -> None:
    """A body has one length, said once. Raises `Malformed`."""
    names = [name for name, _ in request.headers]
    if b"transfer-encoding" in names and b"content-length" in names:
        raise Malformed("the request says in two ways how long it is")
    if names.count(b"transfer-encoding") > 1 or names.count(b"host") != 1:
        raise Malformed("a header stands there twice, or `Host` is missing")


def absolute_target(request: h11.Request) -> tuple[str, int, bytes]:
    """The host, port and path of a request to a proxy. Raises `Malformed`."""
    target = bytes(request.target)
    scheme, separator, rest = target.partition(b"://")
    if not separator or scheme.lower() != b"http":
        raise Malformed("a request to a proxy names `http://` and a host, or is a CONNECT")
    cut = min((at for at in map(rest.find, (b"/", b"?", b"#")) if at >= 0), default=len(rest))
    authority, path = rest[:cut], rest[cut:]
    host, port = _split(authority, _HTTP)
    return host, port, path if path.startswith(b"/") else b"/" + path


def connect_target(request: h11.Request) -> tuple[str, int]:
    """The host and port of a CONNECT. Raises `Malformed`."""
    target = bytes(request.target)
    if not target.rpartition(b":")[2].isdigit():
        raise Malformed("CONNECT names a host and a port")
    return _split(target, 0)


def knows_password(request: h11.Request, password: bytes) -> bool:
    """Whether a request to a proxy has the password of that proxy, if it has one."""
    if not password:
        return True
    given = next((value for name, value in request.headers if name == b"proxy-authorization"), b"")
    scheme, _, said = bytes(given).strip().partition(b" ")
    if scheme.lower() != b"basic":
        return False
    try:
        _, _, known = b64decode(said.strip(), validate=True).partition(b":")
    except ValueError:
        return False
    return compare_digest(known, password)


def check_host(request: h11.Request, host: str, port: int, usual: int) -> None:
    """The header `Host` is the host that was judged. Raises `EgressRefusal`."""
    named = next((value for name, value in request.headers if name == b"host"), b"")
    if _split(bytes(named), usual) != (host, port):
        raise EgressRefusal(
            "host-mismatch", f"the request goes to {host} and names another host", host, port
        )


def _split(authority: bytes, usual: int) -> tuple[str, int]:
    try:
        return split_host(authority.decode("ascii"), usual)
    except ValueError:
        raise Malformed("this is no host and port") from None


def _written(
    request: h11.Request, headers: Headers, target: RequestTarget, upstream: Upstream
) -> h11.Request:
    """The request as we write it."""
    framed = any(name == b"content-length" for name, _ in headers)
    chunked = any(name == b"transfer-encoding" for name, _ in request.headers)
    path = target.path
    if upstream.is_proxy:
        path = b"http://" + target.authority + path
    return h11.Request(
        method=request.method,
        target=path,
        headers=[
            (b"Host", target.authority),
            *headers,
            *((b"Transfer-Encoding", b"chunked") for _ in range(chunked and not framed)),
            *((name.encode(), value.encode("latin-1")) for name, value in upstream.headers),
            (b"Connection", b"close"),
        ],
    )
