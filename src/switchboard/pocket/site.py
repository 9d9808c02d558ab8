"""The page for a phone: one question, its answer, and the registration of the phone itself.

It is reached under one exact name and over HTTPS alone. Nothing is changed by a GET, and nothing
hangs on a cookie: a token is worth a no, and everything else takes the signature of a registered
device over exactly what is asked, with a number that counts once.
"""

import asyncio
import os
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from switchboard.control.answers import Decision, OfferedAnswers
from switchboard.core.faults import Fault, FaultCode
from switchboard.pocket.devices import Device, DeviceBook
from switchboard.pocket.guesses import Guesses
from switchboard.pocket.nonces import Nonces
from switchboard.pocket.pairing import PairingCodes
from switchboard.pocket.proofs import is_key, is_signed
from switchboard.pocket.shown_question import brief_fields, whole_fields
from switchboard.surface.http.access import check_names
from switchboard.surface.http.exchange import (
    BodyBudget,
    ClientLeft,
    Exchange,
    HttpReply,
    Receive,
    Refusal,
    Scope,
    Send,
    closing,
)
from switchboard.surface.http.own_pages import (
    check_method,
    check_own_page,
    guarded,
    reply_file,
)
from switchboard.wire.http_headers import JSON_TYPE, media_type

_FILES = os.path.join(os.path.dirname(__file__), "files")
_API = "/pocket/"
_MOST_BODY = 8_192
_MOST_BODIES = 1 << 20
_UNKEPT = ((b"cache-control", b"no-store"),)
_STATUS = {
    FaultCode.NOT_FOUND: 404,
    FaultCode.PERMISSION_DENIED: 403,
    FaultCode.UNAVAILABLE: 503,
    FaultCode.FAILED_PRECONDITION: 409,
}
# Whoever causes these may be guessing.
_MISSES = frozenset({"token-unknown", "device-unproven", "code-unknown"})


class PocketDesk(Protocol):
    """The queue, as the phone's page uses it. Every method may raise a fault."""

    async def offered(self, token: str) -> OfferedAnswers:
        """The question of a token, or with none all that wait."""
        ...

    async def answer(self, token: str, digest: str, device: str, *, approves: bool) -> Decision:
        """Give the answer that a token is for."""
        ...

    async def registered(self, device: Device) -> None:
        """Write down that there is a new device."""
        ...


class _Proof(Struct, frozen=True, kw_only=True):
    """Which device asks, for which nonce, and what it signed."""

    device: str = ""
    nonce: str = ""
    signature: str = ""


class _Pair(_Proof, frozen=True, kw_only=True, forbid_unknown_fields=True):
    code: str
    name: str
    key: str


class _Look(_Proof, frozen=True, kw_only=True, forbid_unknown_fields=True):
    token: str


class _Queue(_Proof, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class _Answer(_Proof, frozen=True, kw_only=True, forbid_unknown_fields=True):
    token: str
    approves: bool
    digest: str = ""


class PocketSite:
    """An ASGI application that serves the page on one address."""

    def __init__(
        self, desk: PocketDesk, devices: DeviceBook, pairing: PairingCodes, host: str
    ) -> None:
        """`host` is the address and port, as they stand in a URL."""
        self._desk = desk
        self._devices = devices
        self._pairing = pairing
        self._host = host
        self._origin = f"https://{host}"
        self._guesses = Guesses()
        self._bodies = BodyBudget(_MOST_BODIES)
        self._nonces = Nonces()
        self._is_closing = False
        self._routes = {
            "challenge": self._challenge,
            "pair": self._pair,
            "look": self._look,
            "queue": self._queue,
            "answer": self._answer,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, guarded(send))
        try:
            await self._serve(exchange)
        except Refusal as refusal:
            await exchange.reply(refusal.reply)
        except ClientLeft:
            return

    async def aclose(self) -> None:
        """Take nothing new in."""
        self._is_closing = True

    async def _serve(self, exchange: Exchange) -> None:
        check_names(exchange, {self._host}, "https")
        if not exchange.path.startswith(_API):
            await reply_file(exchange, _FILES)
            return
        route = self._routes.get(exchange.path.removeprefix(_API))
        if route is None:
            raise Refusal(404, "there is no such page")
        check_own_page(exchange)
        check_method(exchange, "POST")
        if self._is_closing:
            raise closing()
        if media_type(exchange.header("content-type") or "") != JSON_TYPE:
            raise Refusal(415, f"the content type must be `{JSON_TYPE}`")
        if self._guesses.is_barred(exchange.client_address):
            headers = ((b"retry-after", b"60"),)
            raise Refusal(429, "too much was wrong lately; try again in a minute", headers=headers)
        body = await exchange.body(_MOST_BODY, self._bodies)
        try:
            fields = await route(body)
        except msgspec.MsgspecError:
            raise Refusal(400, "this is not a valid request") from None
        except Fault as fault:
            if fault.reason in _MISSES:
                self._guesses.miss(exchange.client_address)
            told = {"error": {"reason": fault.reason, "message": fault.message}}
            await exchange.reply(_json(told, _STATUS.get(fault.code, 409)))
            return
        await exchange.reply(_json(fields))

    # What may be asked

    async def _challenge(self, _: bytes) -> Mapping[str, Any]:
        return {"nonce": self._nonces.issue()}

    async def _pair(self, body: bytes) -> Mapping[str, Any]:
        asked = msgspec.json.decode(body, type=_Pair)
        # The code counts once, and so the number need not: others would use up what we remember.
        if not is_key(asked.key) or not self._has_signed(asked.key, asked, "pair", asked.code):
            raise _unproven("the key of this device could not be checked")
        if not self._pairing.take(asked.code):
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "code-unknown",
                "this code is wrong, has been used, or is too old",
            )
        device = await asyncio.to_thread(self._devices.add, asked.name, asked.key)
        try:
            await self._desk.registered(device)
        except Fault:
            # What cannot be written down is not done.
            await asyncio.to_thread(self._devices.remove, device.id)
            raise
        return {"device": device.id, "name": device.name}

    async def _look(self, body: bytes) -> Mapping[str, Any]:
        asked = msgspec.json.decode(body, type=_Look)
        device = await self._proven(asked, "look", asked.token) if asked.device else None
        found = await self._desk.offered(asked.token) if asked.token else OfferedAnswers()
        if not found.offers:
            raise Fault(FaultCode.NOT_FOUND, "token-unknown", "this link leads to no question")
        if device is None:
            return brief_fields(found.offers[0])
        return whole_fields(found.offers[0], found.approved)

    async def _queue(self, body: bytes) -> Mapping[str, Any]:
        asked = msgspec.json.decode(body, type=_Queue)
        await self._proven(asked, "queue")
        found = await self._desk.offered("")
        return {"questions": [whole_fields(each, found.approved) for each in found.offers]}

    async def _answer(self, body: bytes) -> Mapping[str, Any]:
        asked = msgspec.json.decode(body, type=_Answer)
        device: Device | None = None
        if asked.approves or asked.device:
            verdict = "approved" if asked.approves else "denied"
            device = await self._proven(asked, "answer", asked.token, asked.digest, verdict)
        decision = await self._desk.answer(
            asked.token, asked.digest, str(device or ""), approves=asked.approves
        )
        return {"verdict": decision.verdict, "tool": decision.tool}

    # Proofs

    async def _proven(self, proof: _Proof, *words: str) -> Device:
        """The registered device that has signed these words just now. Raises a fault."""
        device = await asyncio.to_thread(self._devices.find, proof.device)
        if device is None or not self._has_signed(device.key, proof, *words):
            raise _unproven("this device is not registered, or has not signed what it asks for")
        self._nonces.use(proof.nonce)
        await asyncio.to_thread(self._devices.seen, device)
        return device

    def _has_signed(self, key: str, proof: _Proof, *words: str) -> bool:
        """Whether it has, for a number of ours. Raises a fault when that counts no more."""
        if not self._nonces.counts(proof.nonce):
            # Nobody's mistake: a phone may fall asleep before it signs, and we may begin anew.
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "nonce-unknown",
                "what was signed has been used, or is too old: ask for another number",
            )
        return is_signed(key, proof.signature, ("switchboard", self._origin, proof.nonce, *words))


def _json(fields: Mapping[str, Any], status: int = 200) -> HttpReply:
    return HttpReply(status, (msgspec.json.encode(fields),), _UNKEPT)


def _unproven(message: str) -> Fault:
    return Fault(FaultCode.PERMISSION_DENIED, "device-unproven", message)
