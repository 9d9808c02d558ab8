"""Connections to what a child may reach: every address is checked, and dialled as checked."""

import asyncio
import base64
import ssl
from collections.abc import Coroutine, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from switchboard.children.http.proxy import proxy_for
from switchboard.core.network.egress import canonical_host
from switchboard.egress.allowed import AllowedHosts, Destination
from switchboard.egress.limits import EgressLimits
from switchboard.egress.refusals import Unreached
from switchboard.egress.resolving import HostResolver
from switchboard.egress.session_variables import SessionVariables
from switchboard.wire.http_hosts import in_url, is_loopback

_OK = 200


class Upstream(Struct, frozen=True, eq=False):
    """An open connection, and what a plain request over it has to say."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    # The other side is a proxy of the person's own, which is to forward the request.
    is_proxy: bool = False
    headers: tuple[tuple[str, str], ...] = ()

    def close(self) -> None:
        """Let go of it at once."""
        self.writer.transport.abort()


class Dialer:
    """Connects for one child. The variables are those of the session, for its own proxy."""

    def __init__(
        self,
        allowed: AllowedHosts,
        resolver: HostResolver,
        variables: SessionVariables,
        limits: EgressLimits,
    ) -> None:
        self._allowed = allowed
        self._resolver = resolver
        self._variables = variables
        self._limits = limits
        self._trusted: ssl.SSLContext | None = None

    async def tunnel(self, to: Destination) -> Upstream:
        """A connection for bytes that we do not look into. Raises `EgressRefusal`."""
        return await self._bounded(to, self._open(to, tls=False, tunnelled=True))

    async def tls(self, to: Destination) -> Upstream:
        """A connection with the certificate of the host checked by us. Raises `EgressRefusal`."""
        return await self._bounded(to, self._open(to, tls=True, tunnelled=True))

    async def plain(self, to: Destination) -> Upstream:
        """A connection for a plain request. Raises `EgressRefusal`."""
        return await self._bounded(to, self._open(to, tls=False, tunnelled=False))

    async def _bounded(self, to: Destination, opening: Coroutine[Any, Any, Upstream]) -> Upstream:
        where = f"{in_url(to.host)}:{to.port}"
        try:
            async with asyncio.timeout(self._limits.connect_s):
                return await opening
        except TimeoutError:
            why, says = "timeout", f"{where} did not answer in time"
        except ssl.SSLCertVerificationError:
            why, says = "certificate", f"the certificate of {where} is not one that can be believed"
            if left_out := self._variables.left_out:
                says += f" (`{left_out}` names a file of the workspace, which is not read)"
        except ssl.SSLError:
            why, says = "tls", f"{where} does not speak TLS"
            if to.rule.inject:
                says += "; a credential travels over TLS only"
        except (OSError, EOFError, ValueError):
            why, says = "unreachable", f"{where} cannot be reached"
        raise Unreached(why, says, to.host, to.port) from None

    async def _open(self, to: Destination, *, tls: bool, tunnelled: bool) -> Upstream:
        secure = await self._context() if tls else None
        proxy = None if is_loopback(to.host) else self._proxy(to, "https" if tunnelled else "http")
        if proxy is not None:
            if _is_address(to.host):
                self._allowed.check_address(to, to.host)
            # A name is looked up by that proxy, and only it knows what the name stands for.
            return await self._through(proxy, to, secure, tunnelled=tunnelled)
        addresses = await self._resolver.addresses(to.host, to.port)
        for address in addresses:
            self._allowed.check_address(to, address)
        # The very addresses that were checked: a second look could find others.
        return Upstream(*await _first(addresses, to.port, secure, to.host))

    def _proxy(self, to: Destination, scheme: str) -> str | None:
        """The person's own proxy. With a credential on, the client's word for it is not enough."""
        if not to.rule.inject:
            return proxy_for(scheme, to.host, self._variables.environ)
        own = proxy_for(scheme, to.host, self._variables.own)
        if own is None and proxy_for(scheme, to.host, self._variables.environ) is not None:
            raise Unreached(
                "proxy-not-yours",
                f"{to.host} gets a credential, and only the client's environment names the proxy "
                "on the way; name it in `env` of this server in your home",
                to.host,
                to.port,
            )
        return own

    async def _through(
        self, proxy: str, to: Destination, secure: ssl.SSLContext | None, *, tunnelled: bool
    ) -> Upstream:
        where = urlsplit(proxy)
        host, port = to.host, to.port
        if where.scheme not in ("http", "https") or not where.hostname:
            says = f"your own proxy is not one of HTTP, so {host} cannot be reached through it"
            raise Unreached("proxy", says, host, port)
        by_tls = await self._context() if where.scheme == "https" else None
        its_port = where.port or (443 if by_tls is not None else 80)
        # Looked up like every name: also that of a proxy may have a silent name server.
        addresses = await self._resolver.addresses(where.hostname, its_port)
        reader, writer = await _first(addresses, its_port, by_tls, where.hostname)
        headers: list[tuple[str, str]] = []
        if where.username is not None:
            login = f"{unquote(where.username)}:{unquote(where.password or '')}"
            basic = base64.b64encode(login.encode()).decode()
            headers.append(("Proxy-Authorization", f"Basic {basic}"))
        if not tunnelled:
            return Upstream(reader, writer, is_proxy=True, headers=tuple(headers))
        try:
            await self._ask_for_tunnel(reader, writer, host, port, headers)
            if secure is not None:
                await writer.start_tls(secure, server_hostname=host)
        except BaseException:
            writer.transport.abort()
            raise
        return Upstream(reader, writer)

    async def _ask_for_tunnel(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        host: str,
        port: int,
        headers: list[tuple[str, str]],
    ) -> None:
        where = f"{in_url(host)}:{port}"
        lines = [f"CONNECT {where} HTTP/1.1", f"Host: {where}"]
        lines += [f"{name}: {value}" for name, value in headers]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise OSError("too long") from None
        parts = head.split(b"\r\n", 1)[0].split(b" ", 2)
        status = parts[1].decode("ascii", "replace") if len(parts) > 1 else ""
        if status != str(_OK):
            raise Unreached("proxy", f"your own proxy does not lead to {where}", host, port)

    async def _context(self) -> ssl.SSLContext:
        if self._trusted is None:
            # Reading every authority of the machine takes a while.
            self._trusted = await asyncio.to_thread(trusted_authorities, self._variables.environ)
        return self._trusted


async def _first(
    addresses: list[str], port: int, secure: ssl.SSLContext | None, name: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first address that has somebody. Raises OSError."""
    failure: OSError = OSError("no address")
    for address in addresses:
        try:
            return await asyncio.open_connection(
                address, port, ssl=secure, server_hostname=name if secure is not None else None
            )
        except ssl.SSLError:
            raise
        except OSError as error:
            failure = error
    raise failure


def trusted_authorities(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Whom we believe: the authorities that the session names, else those of the machine."""
    file, folder = environ.get("SSL_CERT_FILE") or None, environ.get("SSL_CERT_DIR") or None
    context = ssl.create_default_context(cafile=file, capath=folder)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _is_address(host: str) -> bool:
    return ":" in host or canonical_host(host).replace(".", "").isdigit()
