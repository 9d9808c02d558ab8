"""A model behind the Messages API of Anthropic, or behind what speaks like it."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec
from msgspec import Raw, Struct

from switchboard.children.http.client import certificates
from switchboard.children.http.proxy import proxy_for
from switchboard.core.faults import Fault, FaultCode
from switchboard.models.model import ModelTask
from switchboard.models.variables import KEY_NAME, URL_NAME
from switchboard.wire.http_hosts import is_loopback

DEFAULT_MODEL = "claude-haiku-4-5"

_DEFAULT_URL = "https://api.anthropic.com"
_VERSION = "2023-06-01"
_TOOL = "choose"
_CONNECT_S = 10.0
_MOST_TRIES = 3
_FIRST_PAUSE_S = 0.5
# A service that asks for more patience than this is told of instead.
_LONGEST_PAUSE_S = 5.0
_MOST_DIGITS = 5
_MAX_ANSWER = 1024 * 1024
_OK = 200
_OVERLOADED = 529
_AGAIN = frozenset({408, 429, 500, 502, 503, 504, _OVERLOADED})


class _Block(Struct, frozen=True):
    type: str = ""
    text: str = ""
    input: Raw = Raw(b"")


class _Answer(Struct, frozen=True):
    content: list[_Block]
    stop_reason: str | None = None


class _Error(Struct, frozen=True):
    type: str = ""


class _Refusal(Struct, frozen=True):
    error: _Error = _Error()


_read_answer = msgspec.json.Decoder(_Answer).decode
_read_refusal = msgspec.json.Decoder(_Refusal).decode


class MessagesModel:
    """Asks over HTTP. The key travels in one header, and is told nowhere else."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        model: str = "",
        timeout_s: float = 30.0,
        max_tokens: int = 4_096,
        first_pause_s: float = _FIRST_PAUSE_S,
    ) -> None:
        self._environ = environ
        self._model = model or DEFAULT_MODEL
        self._timeout_s = timeout_s
        self._max_tokens = max_tokens
        self._first_pause_s = first_pause_s
        self._http: httpx2.AsyncClient | None = None

    async def answer(self, task: ModelTask) -> bytes:
        key = self._environ.get(KEY_NAME, "").strip()
        if not key:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "model-key-missing",
                f"no model can be asked: `{KEY_NAME}` is not set",
                hint=f"set `{KEY_NAME}` where your client runs, or choose an `engine` in"
                " `[natural_language]`; a call of the subtool itself needs no model",
            )
        url = self._url()
        body = msgspec.json.encode(self._body(task))
        try:
            async with asyncio.timeout(self._timeout_s):
                return _chosen(await self._ask(url, key, body))
        except TimeoutError:
            raise Fault(
                FaultCode.DEADLINE_EXCEEDED,
                "model-timeout",
                f"the model did not answer within {self._timeout_s:g} s",
                hint="try again, or raise `timeout_ms` in `[natural_language]`",
            ) from None

    def _url(self) -> str:
        base = (self._environ.get(URL_NAME, "").strip() or _DEFAULT_URL).rstrip("/")
        try:
            parts = urlsplit(base)
            host = parts.hostname or ""
        except ValueError:
            parts, host = urlsplit(""), ""
        if parts.scheme not in {"http", "https"} or not host:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "model-url-invalid",
                f"`{URL_NAME}` is no address of a web service",
                hint=f"write it like {_DEFAULT_URL}",
            )
        if parts.scheme == "http" and not is_loopback(host):
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "model-url-insecure",
                f"`{URL_NAME}` would send the key over the network unencrypted",
                hint="write `https://`",
            )
        return f"{base}/v1/messages"

    def _body(self, task: ModelTask) -> dict[str, Any]:
        return {
            "model": self._model,
            "max_tokens": self._max_tokens,
            "system": task.rules,
            "messages": [{"role": "user", "content": task.material}],
            # A tool that must be used is the surest way to an answer of one shape.
            "tools": [{"name": _TOOL, "description": task.wanted, "input_schema": task.schema}],
            "tool_choice": {"type": "tool", "name": _TOOL, "disable_parallel_tool_use": True},
        }

    async def _ask(self, url: str, key: str, body: bytes) -> bytes:
        http = self._client(url)
        headers = {"x-api-key": key, "anthropic-version": _VERSION}
        pause_s = self._first_pause_s
        for tries in range(1, _MOST_TRIES + 1):
            is_last = tries == _MOST_TRIES
            try:
                async with http.stream("POST", url, headers=headers, content=body) as response:
                    status = response.status_code
                    read = await _bounded(response)
                if status == _OK:
                    return read
                wanted_s = _patience(response.headers.get("retry-after", ""))
                if status not in _AGAIN or is_last or wanted_s > _LONGEST_PAUSE_S:
                    raise _refused(status, read, self._model)
                await asyncio.sleep(max(pause_s, wanted_s))
            except (httpx2.RequestError, httpx2.InvalidURL) as error:
                # The words of an error may hold the address with what is in it.
                if is_last or isinstance(error, httpx2.InvalidURL | httpx2.LocalProtocolError):
                    raise _unreachable(error) from None
                await asyncio.sleep(pause_s)
            pause_s *= 2
        raise AssertionError("the last try returns or raises")

    def _client(self, url: str) -> httpx2.AsyncClient:
        if self._http is None:
            parts = urlsplit(url)
            host = parts.hostname or ""
            self._http = httpx2.AsyncClient(
                headers={
                    "content-type": "application/json",
                    "accept-encoding": "identity",
                    "user-agent": "switchboard",
                },
                timeout=httpx2.Timeout(_CONNECT_S, read=None, pool=None),
                # Another address must not be shown the key.
                follow_redirects=False,
                verify=certificates(self._environ) if parts.scheme == "https" else False,
                trust_env=False,
                proxy=None if is_loopback(host) else proxy_for(parts.scheme, host, self._environ),
            )
        return self._http

    async def aclose(self) -> None:
        if self._http is not None:
            await self._http.aclose()


async def _bounded(response: httpx2.Response) -> bytes:
    read = bytearray()
    async for chunk in response.aiter_bytes():
        read += chunk
        if len(read) > _MAX_ANSWER:
            raise Fault(
                FaultCode.RESOURCE_EXHAUSTED,
                "model-answer-too-large",
                "the model answered more than can be read",
                hint="ask for something smaller",
            )
    return bytes(read)


def _chosen(read: bytes) -> bytes:
    """What stands in the one use of the tool; a text where the model would not use it."""
    try:
        answer = _read_answer(read)
    except msgspec.MsgspecError:
        raise Fault(
            FaultCode.UNAVAILABLE,
            "model-answer-unreadable",
            f"the service at `{URL_NAME}` gave no answer of the Messages API",
            hint=f"check that `{URL_NAME}` is the address of such a service",
        ) from None
    if answer.stop_reason == "max_tokens":
        raise Fault(
            FaultCode.RESOURCE_EXHAUSTED,
            "model-answer-cut",
            "the answer of the model was cut off",
            hint="ask for something smaller, or raise `max_tokens` in `[natural_language]`",
        )
    if answer.stop_reason == "refusal":
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "model-declined",
            "the model declined to work on this query",
            hint="say it in other words, or call the subtool yourself",
        )
    used = [block.input for block in answer.content if block.type == "tool_use"]
    if len(used) > 1:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "model-answer-invalid",
            f"the model chose {len(used)} calls, and one query is one call",
            hint="ask for one thing at a time",
        )
    if used:
        return bytes(used[0])
    return "".join(block.text for block in answer.content).encode()


def _patience(header: str) -> float:
    """The seconds that the service asks us to wait; those that make no sense count as none."""
    return (
        float(header)
        if header.isascii() and header.isdigit() and len(header) <= _MOST_DIGITS
        else 0.0
    )


_WORDS = {
    401: ("model-key-refused", FaultCode.UNAUTHENTICATED, f"check `{KEY_NAME}`"),
    403: ("model-key-refused", FaultCode.UNAUTHENTICATED, f"check what `{KEY_NAME}` may do"),
    404: (
        "model-unknown",
        FaultCode.FAILED_PRECONDITION,
        f"check `model` in `[natural_language]`, and `{URL_NAME}`",
    ),
    413: ("model-refused", FaultCode.RESOURCE_EXHAUSTED, "ask for something smaller"),
    429: ("model-rate-limited", FaultCode.RESOURCE_EXHAUSTED, "wait a while, then ask again"),
}


def _refused(status: int, body: bytes, model: str) -> Fault:
    try:
        kind = _read_refusal(body).error.type
    except msgspec.MsgspecError:
        kind = ""
    if status in _AGAIN and status not in _WORDS:
        reason, code, hint = "model-unavailable", FaultCode.UNAVAILABLE, "ask again later"
    else:
        reason, code, hint = _WORDS.get(
            status,
            ("model-refused", FaultCode.FAILED_PRECONDITION, "see the log of Switchboard"),
        )
    return Fault(
        code,
        reason,
        f"the service of the model `{model}` refused the request (HTTP status {status})",
        hint=hint,
        private=f"error type: {kind[:100]}",
    )


def _unreachable(error: Exception) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        "model-unreachable",
        "the service of the model cannot be reached, or broke the connection",
        hint=f"check the network and `{URL_NAME}`, then ask again",
        private=type(error).__name__,
    )
