"""Requests to the proxy of a confined process: each goes as it was judged, or nowhere."""

import asyncio
import contextlib
import socket
from functools import cache

import h11

from switchboard.core.network.egress import EgressHost
from switchboard.egress.allowed import AllowedHosts, Destination
from switchboard.egress.blackout import HiddenForms
from switchboard.egress.certificates import ChildAuthority
from switchboard.egress.credentials import Credential
from switchboard.egress.dialing import Dialer, Upstream
from switchboard.egress.limits import EgressLimits
from switchboard.egress.proxy import ChildProxy, Noted

_HOST = b"Host: open.test\r\n"
_FEW = b"Host: few.test:8080\r\n"
SEEDS = (
    b"GET http://open.test/a?b#c HTTP/1.1\r\n" + _HOST + b"\r\n",
    b"POST http://open.test/ HTTP/1.1\r\n" + _HOST + b"Content-Length: 3\r\n\r\nabc",
    b"POST http://open.test HTTP/1.1\r\n" + _HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\n0\r\nX: y\r\n\r\n",
    b"POST http://open.test/ HTTP/1.1\r\n" + _HOST + b"Content-Length: 3\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: host, content-length\r\n\r\n0\r\n\r\n",
    b"GET http://few.test:8080/ HTTP/1.1\r\nX-HTTP-Method-Override: PUT\r\n" + _FEW + b"\r\n",
    b"GET http://few.test:8080/ HTTP/1.1\r\n" + _FEW + b"TE: trailers\r\nUpgrade: h2c\r\n"
    b"Proxy-Authorization: x\r\n\r\nPUT http://few.test:8080/ HTTP/1.1\r\n" + _FEW + b"\r\n",
    b"GET http://key.test/ HTTP/1.1\r\nHost: key.test\r\nX-Key: placeholder\r\n\r\n",
    b"GET http://key.test:80@open.test/ HTTP/1.0\r\nHost: key.test\r\nHost: open.test\r\n\r\n",
    b"CONNECT open.test:443 HTTP/1.1\r\n" + _HOST + b"\r\n\x16\x03\x01",
    b"CONNECT key.test:443 HTTP/1.1\r\nHost: key.test\r\n\r\n",
    b"CONNECT [::1]:443 HTTP/1.1\r\nHost: open.test:443\r\n\r\n",
)
_SECRET = "the-credential-of-the-edge"
_RULES = (
    EgressHost(host="open.test"),
    EgressHost(host="few.test", port=8080, methods=("GET", "HEAD")),
    EgressHost(host="key.test", inject="env:KEY"),
)
# Not passed on, and where one may stand twice only the host's own reader knows which counts.
_HOP = {b"proxy-authorization", b"proxy-connection", b"keep-alive", b"upgrade", b"te", b"trailer"}
_LIMITS = EgressLimits(head_s=2.0, connect_s=2.0, idle_s=2.0)
# After that a host answers although the request has not come to its end.
_SILENT_S = 0.005


class _Reached:
    """One connection of the proxy to a host, with what came over it."""

    def __init__(self, to: Destination, kind: str) -> None:
        self.to = to
        self.kind = kind
        self.sent = b""

    async def serve(self, here: socket.socket) -> None:
        """Answer with the credential, as a host may that shows what it was sent."""
        reader, writer = await asyncio.open_connection(sock=here)
        try:
            if self.kind == "tunnel":
                self.sent = await reader.read()
                return
            http = h11.Connection(h11.SERVER)
            while not self._is_whole(http):
                async with asyncio.timeout(_SILENT_S):
                    data = await reader.read(65_536)
                if not data:
                    return
                self.sent += data
                http.receive_data(data)
        except (TimeoutError, h11.RemoteProtocolError):
            pass
        finally:
            with contextlib.suppress(OSError):
                text = (_SECRET if self.to.rule.inject else "hello").encode()
                head = b"HTTP/1.1 200 OK\r\nX-Sent: %s\r\nContent-Length: %d\r\n\r\n"
                writer.write(head % (text, len(text)) + text)
                await writer.drain()
                self.sent += await reader.read()
            writer.close()

    @staticmethod
    def _is_whole(http: h11.Connection) -> bool:
        while (event := http.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.EndOfMessage):
                return True
        return False

    def check(self) -> None:
        """What came is one request, and the one that was judged."""
        rule = AllowedHosts(_RULES).find(self.to.host, self.to.port)
        assert rule is not None
        assert rule == self.to.rule, (self.to, rule)
        if self.kind == "tunnel":
            assert not rule.is_inspected
            return
        assert (self.kind == "tls") == bool(rule.inject), (self.kind, rule)
        head, end, body = self.sent.partition(b"\r\n\r\n")
        if not end:
            assert not body
            return
        line, *fields = head.split(b"\r\n")
        assert not any(sign in each for each in (line, *fields) for sign in (b"\r", b"\n", b"\0"))
        assert not rule.methods or line.split(b" ")[0].decode() in rule.methods, line
        names = [name.lower() for name, _, _ in (each.partition(b":") for each in fields)]
        host = f"{rule.host}:{rule.port}" if rule.port else rule.host
        assert [each for each in fields if each.lower().startswith(b"host:")] == [
            f"Host: {host}".encode()
        ], fields
        assert not _HOP & set(names), names
        assert sum(names.count(each) for each in (b"content-length", b"transfer-encoding")) < 2
        http = h11.Connection(h11.SERVER)
        http.receive_data(self.sent)
        # Raises where something follows that a host could take for another request.
        while http.next_event() is not h11.NEED_DATA:
            if http.their_state in (h11.DONE, h11.MUST_CLOSE):
                assert not http.trailing_data[0], self.sent
                break


class _HostsInMemory(Dialer):
    """Gives a connection to nobody, and keeps what is sent to it."""

    def __init__(self) -> None:
        self.reached: list[_Reached] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def tunnel(self, to: Destination) -> Upstream:
        return await self._connected(to, "tunnel")

    async def tls(self, to: Destination) -> Upstream:
        return await self._connected(to, "tls")

    async def plain(self, to: Destination) -> Upstream:
        return await self._connected(to, "plain")

    async def _connected(self, to: Destination, kind: str) -> Upstream:
        there, here = socket.socketpair()
        self.reached.append(_Reached(to, kind))
        self.tasks.append(asyncio.ensure_future(self.reached[-1].serve(here)))
        return Upstream(*await asyncio.open_connection(sock=there))


@cache
def _authority() -> ChildAuthority:
    return ChildAuthority()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


async def _credential_of(rule: EgressHost) -> Credential | None:
    return Credential("placeholder", _SECRET, HiddenForms(_SECRET)) if rule.inject else None


async def _answered(data: bytes, hosts: _HostsInMemory, noted: list[Noted]) -> bytes:
    """What comes back for it, once everybody has ended."""
    proxy = ChildProxy(
        AllowedHosts(_RULES),
        hosts,
        note=noted.append,
        credential_of=_credential_of,
        limits=_LIMITS,
        authority=_authority(),
    )
    theirs, ours = socket.socketpair()
    # Not by its listener: what is raised there would be seen by nobody.
    serve = proxy._serve  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    serving = asyncio.ensure_future(serve(ours))
    reader, writer = await asyncio.open_connection(sock=theirs)
    try:
        writer.write(data)
        writer.write_eof()
        answer = await reader.read()
    except OSError:
        answer = b""
    finally:
        writer.close()
    await serving
    await asyncio.gather(*hosts.tasks)
    return answer


def check(data: bytes) -> None:
    """Send it, and look at what came back and at what went out."""
    hosts, noted = _HostsInMemory(), list[Noted]()
    answer = _loop().run_until_complete(_answered(data, hosts, noted))
    assert not answer or answer.startswith(b"HTTP/1."), answer[:80]
    assert _SECRET.encode() not in answer or _SECRET.encode() in data
    for each in hosts.reached:
        each.check()
    listed = {(each.to.host, each.to.port) for each in hosts.reached}
    assert {(each.host, each.port) for each in noted if each.outcome == "reached"} <= listed
