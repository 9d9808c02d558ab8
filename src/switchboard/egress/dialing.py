"""Connections to what a child may reach: every address is checked, and dialled as checked."""

import asyncio
import base64
import ssl
from collections.abc import Coroutine, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from switchboard.children.http.proxy import proxy_for
from switchboard.core.egress import canonical_host
from switchboard.egress.allowed import AllowedHosts
from switchboard.egress.limits import EgressLimits
from switchboard.egress.refusals import Unreached
from switchboard.egress.resolving import HostResolver
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
    """Connects for one child. The environment is that of the session, for its own proxy."""

    def __init__(
        self,
        allowed: AllowedHosts,
        resolver: HostResolver,
        environ: Mapping[str, str],
        limits: EgressLimits,
    ) -> None:
        self._allowed = allowed
        self._resolver = resolver
        self._environ = environ
        self._limits = limits
        self._trusted: ssl.SSLContext | None = None

    async def tunnel(self, host: str, port: int) -> Upstream:
        """A connection for bytes that we do not look into. Raises `EgressRefusal`."""
        return await self._bounded(host, port, self._open(host, port, tls=False, tunnelled=True))

    async def tls(self, host: str, port: int) -> Upstream:
        """A connection with the certificate of the host checked by us. Raises `EgressRefusal`."""
        return await self._bounded(host, port, self._open(host, port, tls=True, tunnelled=True))

    async def plain(self, host: str, port: int) -> Upstream:
        """A connection for a plain request. Raises `EgressRefusal`."""
        return await self._bounded(host, port, self._open(host, port, tls=False, tunnelled=False))

    async def _bounded(
        self, host: str, port: int, opening: Coroutine[Any, Any, Upstream]
    ) -> Upstream:
        where = f"{in_url(host)}:{port}"
        try:
            async with asyncio.timeout(self._limits.connect_s):
                return await opening
        except TimeoutError:
            raise Unreached("timeout", f"{where} did not answer in time", host, port) from None
        except ssl.SSLCertVerificationError:
            says = f"the certificate of {where} is not one that can be believed"
            raise Unreached("certificate", says, host, port) from None
        except (OSError, EOFError, ValueError):
            raise Unreached("unreachable", f"{where} cannot be reached", host, port) from None

    async def _open(self, host: str, port: int, *, tls: bool, tunnelled: bool) -> Upstream:
        secure = await self._context() if tls else None
        scheme = "https" if tunnelled else "http"
        proxy = None if is_loopback(host) else proxy_for(scheme, host, self._environ)
        if proxy is not None:
            if _is_address(host):
                self._allowed.check_address(host, port, host)
            # A name is looked up by that proxy, and only it knows what the name stands for.
            return await self._through(proxy, host, port, secure, tunnelled=tunnelled)
        addresses = await self._resolver.addresses(host, port)
        for address in addresses:
            self._allowed.check_address(host, port, address)
        failure: OSError = OSError("no address")
        for address in addresses:
            try:
                # The very address that was checked: a second look could find another one.
                opened = await asyncio.open_connection(
                    address,
                    port,
                    ssl=secure,
                    server_hostname=host if secure is not None else None,
                )
                return Upstream(*opened)
            except ssl.SSLError:
                raise
            except OSError as error:
                failure = error
        raise failure

    async def _through(
        self, proxy: str, host: str, port: int, secure: ssl.SSLContext | None, *, tunnelled: bool
    ) -> Upstream:
        where = urlsplit(proxy)
        if where.scheme not in ("http", "https") or not where.hostname:
            says = f"your own proxy is not one of HTTP, so {host} cannot be reached through it"
            raise Unreached("proxy", says, host, port)
        by_tls = await self._context() if where.scheme == "https" else None
        usual = 443 if by_tls is not None else 80
        reader, writer = await asyncio.open_connection(
            where.hostname, where.port or usual, ssl=by_tls
        )
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
            self._trusted = await asyncio.to_thread(trusted_authorities, self._environ)
        return self._trusted


def trusted_authorities(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Whom we believe: the authorities that the session names, else those of the machine."""
    file, folder = environ.get("SSL_CERT_FILE") or None, environ.get("SSL_CERT_DIR") or None
    context = ssl.create_default_context(cafile=file, capath=folder)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _is_address(host: str) -> bool:
    return ":" in host or canonical_host(host).replace(".", "").isdigit()
