"""The only way in which logins reach the web: every address is checked, and dialled as checked.

A server that we talk to names other addresses: of its metadata, of its authorization server, of
endpoints. Without this they could lead to whatever this machine alone can reach.
"""

import asyncio
import socket
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from urllib.parse import urlencode

import httpx2
from msgspec import Struct

from switchboard.children.http.client import certificates
from switchboard.children.http.proxy import proxy_for
from switchboard.oauth.addresses import AddressRules
from switchboard.oauth.faults import unreachable, url_refused
from switchboard.oauth.urls import checked_url
from switchboard.wire.http_headers import JSON_TYPE
from switchboard.wire.http_hosts import is_loopback

MOST_BYTES = 256 * 1024
_MOST_REDIRECTS = 3
_CONNECT_S = 10.0
_WHOLE_S = 20.0
_OK = 200
_MOST_DIGITS = 9


class WebAnswer(Struct, frozen=True, kw_only=True):
    """What came back."""

    status: int
    body: bytes = b""
    www_authenticate: str = ""
    # How long it asks to be left alone; 0 where it does not say.
    retry_after_s: float = 0.0

    @property
    def is_ok(self) -> bool:
        """Whether it is what was asked for."""
        return self.status == _OK


class GuardedWeb:
    """Asks servers of the web, for the login of one configured server."""

    def __init__(self, rules: AddressRules, environ: Mapping[str, str]) -> None:
        self.rules = rules
        self._environ = environ
        self._clients: dict[tuple[str, str | None], httpx2.AsyncClient] = {}

    async def get(self, url: str, what: str) -> WebAnswer:
        """Fetch something, past redirects that are as harmless. Raises a fault."""
        for _ in range(_MOST_REDIRECTS + 1):
            answer, location = await self._ask("GET", url, what, {"accept": JSON_TYPE})
            if not location:
                return answer
            url = location
        raise unreachable(what, "redirects again and again")

    async def post_form(
        self, url: str, what: str, form: Mapping[str, str], headers: Mapping[str, str] = {}
    ) -> WebAnswer:
        """Send a form. It may hold secrets, so no redirect is followed. Raises a fault."""
        sent = {"content-type": "application/x-www-form-urlencoded", "accept": JSON_TYPE, **headers}
        return (await self._ask("POST", url, what, sent, urlencode(form).encode()))[0]

    async def post_json(
        self, url: str, what: str, body: bytes, headers: Mapping[str, str] = {}
    ) -> WebAnswer:
        """Send JSON. Raises a fault."""
        sent = {"content-type": JSON_TYPE, "accept": JSON_TYPE, **headers}
        return (await self._ask("POST", url, what, sent, body))[0]

    async def delete(self, url: str, what: str, headers: Mapping[str, str]) -> WebAnswer:
        """Have something removed. Raises a fault."""
        return (await self._ask("DELETE", url, what, headers))[0]

    async def probe(self, method: str, url: str, what: str, body: bytes | None) -> WebAnswer:
        """How a server answers somebody without a token; nothing of its body is read."""
        headers = {"accept": f"{JSON_TYPE}, text/event-stream", "content-type": JSON_TYPE}
        return (await self._ask(method, url, what, headers, body, with_body=False))[0]

    async def _ask(
        self,
        method: str,
        url: str,
        what: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        with_body: bool = True,
    ) -> tuple[WebAnswer, str]:
        """The answer, and where it redirects to."""
        asked = self._checked(url, what)
        try:
            async with asyncio.timeout(_WHOLE_S):
                response = await self._send(method, asked, what, headers, body)
                try:
                    answer = WebAnswer(
                        status=response.status_code,
                        body=await _read(response, what) if with_body else b"",
                        www_authenticate=response.headers.get("www-authenticate", ""),
                        retry_after_s=_wait_in(response.headers.get("retry-after", "")),
                    )
                finally:
                    await response.aclose()
        except TimeoutError:
            raise unreachable(what, "did not answer in time") from None
        except httpx2.RequestError:
            # The error's own text may hold the whole address.
            raise unreachable(what, f"at {asked.host} cannot be reached") from None
        # Joined to what was asked: the address that was dialled is a number.
        location = response.headers.get("location", "") if response.is_redirect else ""
        try:
            return answer, str(asked.join(location)) if location else ""
        except httpx2.InvalidURL:
            raise url_refused(what, "it redirects to something that is no address") from None

    def _checked(self, url: str, what: str) -> httpx2.URL:
        try:
            return httpx2.URL(checked_url(url, what, self.rules))
        except httpx2.InvalidURL:
            raise url_refused(what, "it is no address of the web") from None

    async def _send(
        self,
        method: str,
        url: httpx2.URL,
        what: str,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> httpx2.Response:
        own = {"user-agent": "switchboard", "accept-encoding": "identity", **headers}
        proxy = None if is_loopback(url.host) else proxy_for(url.scheme, url.host, self._environ)
        if proxy is not None and not _is_address(url.host):
            # The proxy finds the address by itself, and only it knows what the name stands for.
            request = httpx2.Request(method, url, headers=own, content=body)
            return await self._client(url.scheme, proxy).send(request, stream=True)
        failure: httpx2.RequestError | None = None
        for address in await self._addresses(url, what):
            request = httpx2.Request(
                method,
                # Dialled is the very address that was checked; a second look at the name could
                # find another one. The certificate is still that of the name.
                url.copy_with(host=address),
                headers={**own, "host": url.netloc.decode("ascii")},
                content=body,
                extensions={"sni_hostname": url.host},
            )
            try:
                return await self._client(url.scheme, None).send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
        assert failure is not None, "a name stands for an address, or there is no such name"
        raise failure

    async def _addresses(self, url: httpx2.URL, what: str) -> list[str]:
        """What the host stands for, if every one of its addresses is allowed. Raises a fault."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
        except OSError:
            raise unreachable(what, f"at {url.host} cannot be found") from None
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        for address in addresses:
            if not self.rules.allows(url.host.lower(), address):
                raise url_refused(what, f"{url.host} leads into a network that is not public")
        return addresses

    def _client(self, scheme: str, proxy: str | None) -> httpx2.AsyncClient:
        client = self._clients.get((scheme, proxy))
        if client is None:
            client = self._clients[(scheme, proxy)] = httpx2.AsyncClient(
                # The certificates take a while to load, and plain HTTP shows none.
                verify=certificates(self._environ) if scheme == "https" else False,
                trust_env=False,
                proxy=proxy,
                follow_redirects=False,
                timeout=httpx2.Timeout(_WHOLE_S, connect=_CONNECT_S),
                # One address may stand for many names, each with its own certificate.
                limits=httpx2.Limits(max_keepalive_connections=0),
            )
        return client

    async def aclose(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()


async def _read(response: httpx2.Response, what: str) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > MOST_BYTES:
            raise unreachable(what, f"answered more than {MOST_BYTES // 1024} KiB")
        chunks.append(chunk)
    return b"".join(chunks)


def _wait_in(header: str) -> float:
    """The seconds of a `Retry-After`, which may also be a date; what makes no sense is none."""
    if header.isascii() and header.isdecimal():
        return float(header[:_MOST_DIGITS])
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def _is_address(host: str) -> bool:
    """Whether it is a number in any notation, which a proxy would dial unseen."""
    try:
        socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except OSError:
        return False
    return True
