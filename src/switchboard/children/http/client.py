"""The HTTP client of one remote child: its headers, its one origin, its failures as faults."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Mapping

import httpx2
import msgspec

from switchboard.children.authorization import Authorization
from switchboard.children.http.proxy import proxy_for
from switchboard.children.http.refusals import (
    FORBIDDEN,
    UNAUTHORIZED,
    credentials_fault,
    with_words,
)
from switchboard.children.http.socket_options import WATCHED
from switchboard.children.reaching.interruption import Interruption
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.lookup import LookedUp
from switchboard.children.secrets.texts import secret_headers
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.secrets import Redact
from switchboard.wire.frames import MAX_MESSAGE_BYTES, FrameTooLarge
from switchboard.wire.http_headers import JSON_TYPE, media_type
from switchboard.wire.http_hosts import is_loopback
from switchboard.wire.messages import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    RpcError,
    error_from_raw,
    read_envelope,
)

_MOST_REDIRECTS = 3
# A redirect that keeps the method and the body.
_KEEPING = frozenset({307, 308})
_AUTHORIZATION = "authorization"
_NOT_FOUND = 404
_UNAVAILABLE = 503
_BUSY_GATEWAYS = frozenset({502, _UNAVAILABLE, 504})
# A server that asks to be left alone for longer than this is left alone.
_LONGEST_WAIT_S = 5.0
# Servers much used close a connection that was idle for 5 s. One that they are just closing would
# take a request down with it, so ours are given up before.
_KEEP_S = 4.0


class RemoteClient:
    """Sends requests to one server, with the headers of its entry, and to no other origin."""

    def __init__(
        self,
        entry: ServerEntry,
        *,
        timeout_s: float,
        environ: Mapping[str, str],
        secrets: LookedUp,
        # Takes out of its words what stays between us and it.
        hide: Redact,
        authorization: Authorization | None = None,
    ) -> None:
        self._entry = entry
        self._secrets = secrets
        self._hide = hide
        self._authorization = authorization
        self.url = httpx2.URL(entry.url)
        self._origin = _origin(self.url)
        host = f"[{self.url.host}]" if ":" in self.url.host else self.url.host
        # Where it is, as people are told: nothing of an address but this is for everybody's eyes.
        self.place = f"{host}:{_port(self.url)}"
        self._timeout_s = timeout_s
        # The certificates take a while to load, and plain HTTP shows none.
        self._verify = certificates(environ) if self.url.scheme == "https" else False
        self._proxy = (
            None
            if is_loopback(self.url.host)
            else proxy_for(self.url.scheme, self.url.host, environ)
        )
        self._http = self._connections()
        # Those that were given up with requests under way.
        self._left: list[httpx2.AsyncClient] = []

    def _connections(self) -> httpx2.AsyncClient:
        limits = httpx2.Limits(
            max_connections=None, max_keepalive_connections=64, keepalive_expiry=_KEEP_S
        )
        return httpx2.AsyncClient(
            headers={
                # What was compressed could unfold to more than the limit of a message.
                "accept-encoding": "identity",
                "user-agent": "switchboard",
                **without_secrets(self._entry),
            },
            # How long an answer may take is for the road to decide, not for the connection.
            timeout=httpx2.Timeout(self._timeout_s, read=None, pool=None),
            follow_redirects=False,
            # The environment that counts is the session's, not that of the process.
            trust_env=False,
            transport=httpx2.AsyncHTTPTransport(
                verify=self._verify,
                trust_env=False,
                limits=limits,
                proxy=self._proxy,
                socket_options=WATCHED,
            ),
        )

    def forget_connections(self) -> None:
        """Use none of the connections of before: nobody knows which of them still lead there."""
        self._left.append(self._http)
        self._http = self._connections()

    @contextlib.asynccontextmanager
    async def stream(
        self, method: str, url: httpx2.URL, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncGenerator[httpx2.Response]:
        """Open the answer to a request. Raises a fault when there is none to be had."""
        headers = {**await self._secrets.values(), **headers}
        try:
            token = await self._token(url)
            response = await self._send(method, url, headers, body, token)
            if response.status_code == UNAUTHORIZED and token is not None:
                token = await self._another(response, token)
                response = (
                    await self._send(method, url, headers, body, token) if token else response
                )
            try:
                await self._check(response)
                yield response
            finally:
                await response.aclose()
        except httpx2.RequestError as error:
            raise self.unreachable(error) from error

    async def _token(self, url: httpx2.URL) -> str | None:
        """What `Authorization` says to this server; None where logins are not for us to bring."""
        # Nearly every request is to this very address; to take one apart costs the most of this.
        if self._authorization is None or not (url is self.url or self.is_ours(url)):
            return None
        return await self._authorization.header()

    async def _send(
        self,
        method: str,
        url: httpx2.URL,
        headers: Mapping[str, str],
        body: bytes | None,
        token: str | None,
    ) -> httpx2.Response:
        """The beginning of the answer, past redirects within the origin."""
        if token:
            headers = {**headers, _AUTHORIZATION: token}
        for _ in range(_MOST_REDIRECTS):
            request = self._http.build_request(method, url, headers=headers, content=body)
            response = await self._http.send(request, stream=True)
            if not response.has_redirect_location:
                return response
            await response.aclose()
            url = self._redirected(response, method)
        raise self._fault("remote-redirected", "redirects again and again")

    async def _another(self, refused: httpx2.Response, token: str) -> str:
        """Another token than the refused one. Nobody has acted on the request yet."""
        assert self._authorization is not None
        try:
            another = await self._authorization.renewed(token)
        except BaseException:
            await refused.aclose()
            raise
        if another:
            await refused.aclose()
        return another

    def _redirected(self, response: httpx2.Response, method: str) -> httpx2.URL:
        target = response.url.join(response.headers["location"])
        kept = method == "GET" or response.status_code in _KEEPING
        if not kept or not self.is_ours(target):
            raise self._fault(
                "remote-redirected",
                f"redirects to {target.scheme}://{target.host}, which is not followed",
                hint="set `url` to the address that it redirects to, if that is the right server",
            )
        return target

    def is_ours(self, url: httpx2.URL) -> bool:
        """Whether an address is of the server's own origin."""
        return _origin(url) == self._origin

    async def _check(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status in (UNAUTHORIZED, FORBIDDEN):
            fault = None
            if self._authorization is not None:
                said = response.headers.get("www-authenticate", "")
                fault = self._authorization.fault(status, said)
            fault = fault or credentials_fault(self._entry, response)
            raise await with_words(fault, response, self._hide)
        if status in _BUSY_GATEWAYS:
            raise self._busy(response)

    def _busy(self, response: httpx2.Response) -> Fault:
        status = response.status_code
        said = response.headers.get("retry-after", "")
        wait_s = float(said) if said.isdecimal() else 0.0
        message = f"`{self._entry.name}` at {self.place} answered with HTTP status {status}"
        if wait_s > _LONGEST_WAIT_S:
            return Fault(
                FaultCode.UNAVAILABLE,
                "remote-unreachable",
                message,
                hint=f"it asks to be left alone for {wait_s:g} s",
            )
        return Interruption(
            "remote-unreachable",
            message,
            # A gateway answers so too when it lost the server behind it half-way. Who says when to
            # come back has not begun.
            may_have_run=not (status == _UNAVAILABLE and said),
            wait_s=wait_s,
        )

    async def read(self, response: httpx2.Response) -> bytes:
        """The whole body. Raises a fault when it is larger than a message may be."""
        chunks: list[bytes] = []
        size = 0
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > MAX_MESSAGE_BYTES:
                raise self.too_large(FrameTooLarge(MAX_MESSAGE_BYTES))
            chunks.append(chunk)
        return b"".join(chunks)

    def too_large(self, error: FrameTooLarge) -> Fault:
        """It sent more than a message may hold."""
        return Fault(
            FaultCode.RESOURCE_EXHAUSTED,
            "message-too-large",
            f"`{self._entry.name}` answered too much: {error}",
            hint="ask it for less at a time",
        )

    def unreachable(self, error: httpx2.RequestError) -> Fault:
        """No way there, or the way broke. The error's own text may hold more than a host."""
        why = f"{type(error).__name__}: {error}"
        words = _in_words(error)
        if isinstance(error, _FOR_GOOD) or words == _NOT_TRUSTED:
            hint = _BELIEVE if words == _NOT_TRUSTED else ""
            return self._fault("remote-unreachable", words, hint=hint, private=why)
        is_away = isinstance(error, _NEVER_SENT)
        return Interruption(
            "remote-unreachable",
            f"`{self._entry.name}` at {self.place} {words}",
            may_have_run=not is_away,
            hint=self._way_there() if is_away else "",
            private=why,
        )

    def _way_there(self) -> str:
        if is_loopback(self.url.host):
            port = _port(self.url)
            return f"nothing listens on port {port} of this machine: start it, or correct its `url`"
        if self._proxy is not None:
            return "see whether the proxy of your environment works, and whether `url` is right"
        return (
            "see whether it runs and `url` is right; if there is a proxy, export HTTPS_PROXY"
            " where your host starts"
        )

    def interrupted(self, what: str, *, may_have_run: bool) -> Interruption:
        """It is there, but no answer to a request will come."""
        return Interruption(
            "remote-interrupted",
            f"`{self._entry.name}` at {self.place} {what}",
            may_have_run=may_have_run,
        )

    def _fault(self, reason: str, what: str, *, hint: str = "", private: str = "") -> Fault:
        return Fault(
            FaultCode.UNAVAILABLE,
            reason,
            f"`{self._entry.name}` at {self.place} {what}",
            hint=hint,
            private=private,
        )

    def unexpected(self, error: Exception) -> Fault:
        """A mistake of ours; the call must not wait for ever because of it."""
        return Fault(
            FaultCode.INTERNAL,
            "unexpected",
            f"the way to `{self._entry.name}` failed",
            private=f"{type(error).__name__}: {error}",
        )

    async def aclose(self) -> None:
        """Close every connection."""
        if self._authorization is not None:
            self._authorization.close()
        closing = asyncio.ensure_future(self._close_connections())
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            # Half closed they would stay open.
            await closing
            raise

    async def _close_connections(self) -> None:
        for each in (*self._left, self._http):
            await each.aclose()


def without_secrets(entry: ServerEntry) -> dict[str, str]:
    """The headers of an entry that are sent as they are written."""
    looked_up = secret_headers(entry)
    return {name: text for name, text in entry.headers.items() if name not in looked_up}


def refusal(response: httpx2.Response, body: bytes) -> RpcError:
    """The error that a status of 400 or more stands for; the one in the body where there is one."""
    if media_type(response.headers.get("content-type", "")) == JSON_TYPE:
        try:
            error = read_envelope(body).error
        except msgspec.MsgspecError:
            error = b""
        if error:
            return error_from_raw(msgspec.Raw(error))
    status = response.status_code
    # A server that does not know a method has no other way to say so without JSON-RPC.
    code = METHOD_NOT_FOUND if status == _NOT_FOUND else INTERNAL_ERROR
    return RpcError(code, f"HTTP status {status}")


def _port(url: httpx2.URL) -> int | None:
    return url.port or {"http": 80, "https": 443}.get(url.scheme)


_NEVER_SENT = (
    *(httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError),
)
# A second try would end the same way.
_FOR_GOOD = (httpx2.LocalProtocolError, httpx2.DecodingError, httpx2.UnsupportedProtocol)
_NOT_TRUSTED = "cannot be trusted: its certificate or its TLS is not accepted"
_BELIEVE = (
    "behind a proxy that looks into TLS, export SSL_CERT_FILE with the file of its authority where"
    " your host starts"
)
_WORDS: tuple[tuple[type[httpx2.RequestError], str], ...] = (
    (httpx2.ConnectTimeout, "did not accept a connection in time"),
    (httpx2.ConnectError, "cannot be reached"),
    (httpx2.ProxyError, "cannot be reached through the proxy"),
    (httpx2.LocalProtocolError, "is not asked: a header of its entry is not valid in HTTP"),
    (httpx2.DecodingError, "answered with a body that cannot be unpacked"),
)


def _in_words(error: httpx2.RequestError) -> str:
    cause: BaseException | None = error
    while cause is not None:
        # One that is just ending breaks off in the middle of the first words.
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
            return _NOT_TRUSTED
        cause = cause.__cause__ or cause.__context__
    return next(
        (words for kind, words in _WORDS if isinstance(error, kind)), "broke the connection"
    )


def certificates(environ: Mapping[str, str]) -> ssl.SSLContext | bool:
    """Whom to believe: the authorities that the session names, else the usual ones."""
    file, folder = environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")
    return ssl.create_default_context(cafile=file, capath=folder) if file or folder else True


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, _port(url)
