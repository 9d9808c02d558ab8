"""The channel of one request: what the client is told and asked while the request is under way."""

import asyncio
import contextlib
import math
import os
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from switchboard.core.calls.clock import Clock
from switchboard.core.calls.receipts import Receipt
from switchboard.core.channels.channel import Ask, Input
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import Answer
from switchboard.core.sessions import Era, Session
from switchboard.core.text.levels import reaches
from switchboard.surface.sink import Sink
from switchboard.wire.messages import MessageId, RpcError, encode
from switchboard.wire.pending import PeerLost

# How long a client may take to answer a question.
PATIENCE_S = 300.0
# How much is kept of what was said of a call while its client may come back to it.
MOST_HELD_BYTES = 64 * 1024

_CAPABILITIES = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}

_PAGE_ID = "elicitationId"
_PROGRESS = "notifications/progress"
_HAIR = 1e-6

_read_members = msgspec.json.Decoder(dict[str, Raw]).decode
_read_number = msgspec.json.Decoder(float).decode
_read_any = msgspec.json.Decoder(dict[str, Any]).decode


class _Progress(Struct, frozen=True, omit_defaults=True):
    progress: float
    total: float | None = None
    message: str = ""


class ClientChannel:
    """A channel to a client of either era."""

    __slots__ = (
        *("_ask", "_held", "_held_bytes", "_is_resting", "_patience_s", "_receipts", "_session"),
        *(
            "_shown",
            "clock",
            "decided",
            "declared",
            "holder",
            "log_level",
            "meta",
            "receipt",
            "request_id",
        ),
        *("sink", "timeout_s", "token"),
    )

    def __init__(
        self,
        session: Session,
        sink: Sink,
        *,
        ask: Ask | None = None,
        token: Raw | None = None,
        meta: bytes = b"",
        log_level: str = "",
        declared: bytes = b"{}",
        patience_s: float = PATIENCE_S,
        timeout_s: float | None = None,
        request_id: MessageId = None,
    ) -> None:
        self._session = session
        # Asked for several times by every call.
        self.holder = session.holder
        self.request_id = request_id
        self.sink = sink
        self._ask = ask
        self.token = token
        self._is_resting = False
        # What waits to be told, oldest first.
        self._held: deque[tuple[str, bytes]] | None = None
        self._held_bytes = 0
        # Who wants to know that the answer got there, while there is no request to answer.
        self._receipts: list[Callable[[], None]] = []
        self._patience_s: float | None = patience_s
        self.meta = meta
        self.log_level = log_level
        self.declared = declared
        # How long the client waits for the answer to its request.
        self.timeout_s = timeout_s
        # Of the call that the request makes, if it makes one.
        self.clock = Clock()
        # What was decided about that call, if somebody had to.
        self.decided: Answer | None = None
        self.receipt: Receipt | None = None
        # The progress that the client was told last.
        self._shown: dict[str, Any] | None = None

    @property
    def session_id(self) -> str:
        return self._session.id

    @property
    def session(self) -> Session:
        """Of the client."""
        return self._session

    @property
    def can_be_shown_forms(self) -> bool:
        """Whether the client can ask its user with a form."""
        declared = self._session.capabilities.get("elicitation")
        return isinstance(declared, dict) and _shows_forms(cast("dict[str, Any]", declared))

    def note_decision(self, answer: Answer) -> None:
        """Keep what was decided about the call."""
        self.decided = answer

    def rest(self) -> None:
        """The request has an answer. Until another takes its place nothing can be told."""
        self._is_resting = True
        if self.receipt is not None:
            self.receipt.is_parked = True

    def move(self, channel: "ClientChannel") -> None:
        """The client goes on with its request by another one, over this channel."""
        self.sink = channel.sink
        self.token = channel.token
        self.request_id = channel.request_id
        self._is_resting = False
        held, self._held, self._held_bytes = self._held, None, 0
        for method, params in held or ():
            self._tell(method, params)
        receipts, self._receipts = self._receipts, []
        for tell in receipts:
            self.when_answered(tell)
        if self.receipt is not None:
            self.receipt.is_parked = False
            self.sink.held[self.request_id] = self.receipt

    def hold(self, receipt: Receipt) -> None:
        self.receipt = receipt
        self.sink.held[self.request_id] = receipt

    def when_answered(self, tell: Callable[[], None]) -> None:
        """Have somebody told once the client has the answer to its request."""
        if self._is_resting:
            self._receipts.append(tell)
        else:
            self.sink.when_answered(self.request_id, tell)

    # Telling

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        self.clock.touch()
        if self.token is not None:
            self._tell(_PROGRESS, encode(_Progress(done, total, message)))

    def progress(self, params: Raw) -> None:
        self.clock.touch()
        if self.token is not None:
            self._tell(_PROGRESS, params)

    def log(self, level: str, params: bytes) -> None:
        if self._session.era is Era.MODERN and not self.log_level:
            # In this era who does not ask for log messages must not get any.
            return
        if not self.log_level or reaches(level, self.log_level):
            self._tell("notifications/message", params)

    def notify(self, method: str, params: bytes) -> None:
        if method == _PROGRESS:
            params = encode({**_read_members(params), **_a_hair_further(self._shown or {})})
        self._tell(method, params)

    @property
    def _is_given_up(self) -> bool:
        """Whether the call goes on and nobody waits for it: its client has forgotten the id."""
        return self.receipt is not None and bool(self.receipt.given_up)

    def _tell(self, method: str, params: bytes | Raw) -> None:
        if self._is_given_up:
            return
        if self._is_resting:
            self._hold(method, bytes(params))
        elif method != _PROGRESS:
            self.sink.notify(method, (params,))
        elif self.token is not None:
            members = self._shown = {**_read_members(params), "progressToken": self.token}
            self.sink.notify(method, (encode(members),))

    def _hold(self, method: str, params: bytes) -> None:
        held = self._held = self._held or deque()
        held.append((method, params))
        self._held_bytes += len(params)
        while self._held_bytes > MOST_HELD_BYTES:
            self._held_bytes -= len(held.popleft()[1])

    def visited(self, params: Raw) -> None:
        if self._session.era is Era.HANDSHAKE:
            self.sink.notify("notifications/elicitation/complete", (params,))

    @property
    def is_pressed(self) -> bool:
        return self.sink.is_pressed

    async def relieved(self) -> None:
        await self.sink.relieved()

    # Asking

    async def ask(self, wanted: Mapping[str, Input]) -> Mapping[str, Raw]:
        wanted = {key: self._checked(each) for key, each in wanted.items()}
        if self._is_given_up:
            raise Fault(
                FaultCode.UNAVAILABLE, "client-gone", "the client does not wait for this call"
            )
        self.clock.pause()
        try:
            async with asyncio.timeout(self._patience_s):
                return await (self._ask or self._ask_one_by_one)(wanted)
        except TimeoutError:
            raise Fault(
                FaultCode.DEADLINE_EXCEEDED,
                "question-unanswered",
                f"nobody answered within {self._patience_s or 0:g} s",
            ) from None
        except RpcError as error:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "client-refused",
                f"the client refused to answer: {error.message}",
            ) from error
        except PeerLost as lost:
            raise Fault(
                FaultCode.UNAVAILABLE, "client-gone", "the client went away before it answered"
            ) from lost
        finally:
            self.clock.resume()

    def ask_elsewhere(self, ask: Ask) -> None:
        self._ask = ask
        # Whoever asks knows how long it waits.
        self._patience_s = None

    async def _ask_one_by_one(self, wanted: Mapping[str, Input]) -> Mapping[str, Raw]:
        """A person reads one question at a time."""
        return {
            key: await self.sink.request(each.method, (each.params,))
            for key, each in wanted.items()
        }

    def _checked(self, wanted: Input) -> Input:
        """The question in the words of the client's era. Raises a fault if it cannot be asked."""
        is_elicitation = wanted.method == "elicitation/create"
        params: dict[str, Any] = _read_any(wanted.params) if is_elicitation else {}
        if not _can(self._session.capabilities, wanted.method, params.get("mode", "form")):
            name = _CAPABILITIES[wanted.method]
            raise Fault(
                FaultCode.UNIMPLEMENTED,
                "client-cannot-answer",
                f"this client does not offer `{name}` in the way that is asked for",
            )
        if params.get("mode") == "url":
            return Input(wanted.method, Raw(encode(_located(params, self._session.era))))
        return wanted


def _a_hair_further(shown: Mapping[str, Any]) -> dict[str, Any]:
    """The progress of a sign of our own, which must be more each time.

    It is so little that whatever the server itself reports later is more.
    """
    last = 0.0
    with contextlib.suppress(msgspec.MsgspecError):
        last = _read_number(shown.get("progress", b"0"))
    further: dict[str, Any] = {"progress": max(last + _HAIR, math.nextafter(last, math.inf))}
    return {**further, "total": shown["total"]} if "total" in shown else further


def declared_by(capabilities: Mapping[str, Any]) -> bytes:
    """The part of a client's capabilities that a child may build on."""
    return encode(
        {name: capabilities[name] for name in _CAPABILITIES.values() if name in capabilities}
    )


def _can(capabilities: Mapping[str, Any], method: str, mode: str) -> bool:
    """Whether the client said that it can be asked this."""
    declared = capabilities.get(_CAPABILITIES[method])
    if not isinstance(declared, dict):
        return False
    if method != "elicitation/create":
        return True
    modes = cast("dict[str, Any]", declared)
    return _shows_forms(modes) if mode == "form" else mode in modes


def _shows_forms(modes: Mapping[str, Any]) -> bool:
    # Before there were modes an empty object meant forms.
    return "form" in modes or "url" not in modes


def _located(params: dict[str, Any], era: Era) -> dict[str, Any]:
    """A page to visit: 2025-11-25 wants an id for it, 2026-07-28 has none."""
    if era is Era.MODERN:
        return {name: value for name, value in params.items() if name != _PAGE_ID}
    return params if params.get(_PAGE_ID) else {**params, _PAGE_ID: os.urandom(8).hex()}
