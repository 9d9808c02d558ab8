"""The address on this machine that a browser is led back to, for one login and once."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from switchboard.core.faults import Fault, FaultCode

PATH = "/callback"
PATIENCE_S = 300.0
_HOST = "127.0.0.1"
_HEAD_BYTES = 16_384
_HEAD_S = 10.0
_MOST_FIELDS = 20
# The same for every outcome: nothing that came with the request is ever shown.
_PAGE = (
    b"<!doctype html><meta charset=utf-8><title>Switchboard</title>"
    b"<p>Switchboard has got the answer. You can close this page; how it went stands where you"
    b" began."
)
_FIXED = (
    b"Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n"
    b"Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\n"
    b"X-Content-Type-Options: nosniff\r\nConnection: close\r\n"
)


class Callback:
    """Listens on this machine alone until the answer to one login has come."""

    def __init__(self, *, port: int = 0) -> None:
        self._wanted_port = port
        self._server: asyncio.Server | None = None
        self._port = 0
        self._is_ours: Callable[[Mapping[str, str]], bool] = lambda _: False
        self._answer: asyncio.Future[Mapping[str, str]] = asyncio.get_running_loop().create_future()

    @property
    def redirect_uri(self) -> str:
        """What the authorization server is told."""
        return f"http://{_HOST}:{self._port}{PATH}"

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_server(
                self._serve, _HOST, self._wanted_port, limit=_HEAD_BYTES
            )
        except OSError as error:
            raise Fault(
                FaultCode.UNAVAILABLE,
                "login-port-taken",
                f"port {self._wanted_port} of this machine cannot be listened on",
                private=str(error),
            ) from None
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()
        # Nobody may be left who waits for it.
        self._answer.cancel()

    def expect(self, is_ours: Callable[[Mapping[str, str]], bool]) -> None:
        """Say which answer is meant. Others are turned away, and the wait goes on."""
        self._is_ours = is_ours

    async def answer(self, within_s: float = PATIENCE_S) -> Mapping[str, str]:
        """What the browser brought back. Raises a fault when nothing comes."""
        try:
            async with asyncio.timeout(within_s):
                return await asyncio.shield(self._answer)
        except TimeoutError:
            raise Fault(
                FaultCode.DEADLINE_EXCEEDED,
                "login-unfinished",
                f"nobody finished the login within {within_s / 60:g} minutes",
                hint="begin again, and finish it in the browser",
            ) from None

    def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
            answer = self._read(head)
            status = b"400 Bad Request" if answer is None else b"200 OK"
            length = b"Content-Length: %d\r\n\r\n" % len(_PAGE)
            writer.write(b"HTTP/1.1 %b\r\n%b%b%b" % (status, _FIXED, length, _PAGE))
            with suppress(OSError):
                await writer.drain()
            if answer is not None and not self._answer.done():
                self._close()
                self._answer.set_result(answer)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, OSError):
            pass
        finally:
            writer.close()

    def _read(self, head: bytes) -> Mapping[str, str] | None:
        """The answer in a request, if it is one, and the one that is waited for."""
        line, *headers = head.decode("latin-1").split("\r\n")
        words = line.split(" ")
        hosts = [
            value.strip()
            for name, colon, value in (each.partition(":") for each in headers)
            if colon and name.strip().lower() == "host"
        ]
        # A page elsewhere can lead a name of its own here, and would be told by its name.
        if len(words) != 3 or words[0] != "GET" or hosts != [f"{_HOST}:{self._port}"]:  # noqa: PLR2004 - method, target, version
            return None
        answer = answer_in(words[1])
        if answer is None or self._answer.done() or not self._is_ours(answer):
            return None
        return answer


def answer_in(url: str) -> Mapping[str, str] | None:
    """What an address that a browser was led to says, if it is one of ours."""
    try:
        parts = urlsplit(url)
        pairs = parse_qsl(parts.query, strict_parsing=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return None
    answer = dict(pairs)
    # What stands there twice could be read in two ways.
    return answer if parts.path == PATH and len(answer) == len(pairs) else None
