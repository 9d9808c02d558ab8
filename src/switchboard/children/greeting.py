"""The first words with a child: which era it speaks and what it can do."""

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Raw, Struct

from switchboard import __version__
from switchboard.children.listings.legible import plain
from switchboard.children.schema import Protocol, Sharing
from switchboard.core.privacy.orders import gives_orders
from switchboard.core.sessions import Era, Session
from switchboard.wire.eras import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    LATEST_HANDSHAKE,
    LATEST_MODERN,
    MODERN_VERSIONS,
    PROTOCOL_VERSION_KEY,
    SERVER_INFO_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from switchboard.wire.messages import RpcError, encode
from switchboard.wire.peer import Peer

# A child that is up answers the probe in milliseconds. One that is still starting, or that does
# not know the question and keeps silent, gets the handshake behind it.
PROBE_PATIENCE_S = 1.0

_CLIENT_INFO = {"name": "switchboard", "title": "Switchboard", "version": __version__}
# What of a client's capabilities reaches a child.
_RELAYED = ("elicitation", "sampling", "roots")
# Nobody knows yet who will use a child that many share; who cannot answer says so when asked.
_SHARED: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}}


class Greeting(Struct, frozen=True, kw_only=True):
    """What a child said of itself."""

    era: Era = Era.HANDSHAKE
    protocol: str = ""
    capabilities: dict[str, Any] = {}
    # Its name for people, and how it wants to be used; empty where it does not say.
    title: str = ""
    instructions: str = ""
    # Whether it has words for either that give a model orders, which are shown to nobody.
    gives_orders: bool = False
    # What every request of the modern era says of itself; empty for the other.
    meta: bytes = b""

    def offers(self, feature: str) -> bool:
        """Whether it has tools, prompts, resources, completions or logging at all."""
        return isinstance(self.capabilities.get(feature), dict)

    def can(self, feature: str, part: str) -> bool:
        """Whether it declares a part of a feature: `tools` and `listChanged`."""
        declared: Any = self.capabilities.get(feature)
        return isinstance(declared, dict) and bool(cast("dict[str, Any]", declared).get(part))


class _About(Struct, rename="camel"):
    """What a server says of itself. Nonsense in it is no reason to do without the server."""

    server_info: Any = None
    instructions: Any = None
    meta: Any = msgspec.field(name="_meta", default=None)

    @property
    def title(self) -> str:
        """Its name for people, in letters that are seen."""
        return _judged(self._title)

    @property
    def manual(self) -> str:
        """Its instructions, likewise."""
        return _judged(self._manual)

    @property
    def gives_orders(self) -> bool:
        """Whether either is meant for a model and against its user."""
        return gives_orders(self._title) or gives_orders(self._manual)

    @property
    def _title(self) -> str:
        info = _member(self.meta, SERVER_INFO_KEY) or self.server_info
        title = _member(info, "title")
        return plain(title) if isinstance(title, str) else ""

    @property
    def _manual(self) -> str:
        return plain(self.instructions) if isinstance(self.instructions, str) else ""


def _judged(words: str) -> str:
    """Words that a model may read: none, if they give it orders as no tool may either."""
    return "" if gives_orders(words) else words


class _Initialized(_About, rename="camel"):
    protocol_version: str = ""
    capabilities: dict[str, Any] = {}


class _Discovered(_About, rename="camel"):
    supported_versions: list[str] = []
    capabilities: dict[str, Any] = {}


class _Supported(Struct):
    supported: list[str]


class NotModern(Exception):
    """The child does not speak the modern era."""


def client_capabilities(session: Session | None, scope: Sharing, *, is_own: bool) -> dict[str, Any]:
    """What a handshake says that our side can do; it holds for as long as the child runs."""
    theirs: Mapping[str, Any] = session.capabilities if session is not None else {}
    own = {name: theirs[name] for name in _RELAYED if name in theirs}
    if is_own:
        return own
    # Sessions of one workspace work in the same folders; those of one user do not.
    with_roots = scope != "user" and "roots" in own
    return {**_SHARED, "roots": own["roots"]} if with_roots else dict(_SHARED)


def modern_meta(version: str) -> bytes:
    """The members of `_meta` that every modern request carries, but for the capabilities."""
    about = {PROTOCOL_VERSION_KEY: version, CLIENT_INFO_KEY: _CLIENT_INFO}
    return encode(about)[1:-1]


def modern_capabilities(declared: bytes) -> bytes:
    """The member of `_meta` with the client's capabilities."""
    return b"%b:%b" % (encode(CLIENT_CAPABILITIES_KEY), declared)


async def greet(peer: Peer, mode: Protocol, capabilities: Mapping[str, Any]) -> Greeting:
    """Agree on an era. Raises RpcError or NotModern when the child refuses every one."""
    if mode == "handshake":
        return await _handshake(peer, capabilities)
    probe = asyncio.ensure_future(_discover(peer))
    try:
        if mode == "modern":
            try:
                return await probe
            except RpcError as error:
                raise NotModern from error
        await asyncio.wait({probe}, timeout=PROBE_PATIENCE_S)
        if not probe.done():
            return await _first_of(probe, asyncio.ensure_future(_handshake(peer, capabilities)))
        try:
            return probe.result()
        except (RpcError, NotModern):
            return await _handshake(peer, capabilities)
    finally:
        probe.cancel()


async def _first_of(
    probe: asyncio.Future[Greeting], handshake: asyncio.Future[Greeting]
) -> Greeting:
    """Whichever era answers well first; the handshake's refusal is the one to report."""
    try:
        waiting = {probe, handshake}
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for answer in done:
                if answer.exception() is None:
                    return answer.result()
        return handshake.result()
    finally:
        handshake.cancel()


async def _discover(peer: Peer) -> Greeting:
    try:
        answer = await _ask_what_it_is(peer, LATEST_MODERN)
    except RpcError as error:
        if error.code != UNSUPPORTED_PROTOCOL_VERSION:
            raise
        # It says which versions it would have understood.
        mutual = _mutual(_read(_Supported, Raw(encode(error.data))))
        if not mutual:
            raise
        answer = await _ask_what_it_is(peer, mutual[-1])
    found = _read(_Discovered, answer)
    if found is None:
        raise NotModern
    mutual = _mutual(_Supported(found.supported_versions))
    if not mutual:
        raise NotModern
    return Greeting(
        title=found.title,
        instructions=found.manual,
        gives_orders=found.gives_orders,
        era=Era.MODERN,
        protocol=mutual[-1],
        capabilities=found.capabilities,
        meta=modern_meta(mutual[-1]),
    )


async def _ask_what_it_is(peer: Peer, version: str) -> Raw:
    meta = b"%b,%b" % (modern_meta(version), modern_capabilities(b"{}"))
    return await peer.request("server/discover", (b'{"_meta":{%b}}' % meta,))


def _mutual(offer: "_Supported | None") -> list[str]:
    if offer is None:
        return []
    return [version for version in MODERN_VERSIONS if version in offer.supported]


async def _handshake(peer: Peer, capabilities: Mapping[str, Any]) -> Greeting:
    params = {
        "protocolVersion": LATEST_HANDSHAKE,
        "capabilities": capabilities,
        "clientInfo": _CLIENT_INFO,
    }
    answer = await peer.request("initialize", (encode(params),))
    agreed = _read(_Initialized, answer)
    if agreed is None or not agreed.protocol_version:
        raise RpcError(0, "its answer to `initialize` makes no sense")
    peer.notify("notifications/initialized")
    return Greeting(
        title=agreed.title,
        instructions=agreed.manual,
        gives_orders=agreed.gives_orders,
        era=Era.HANDSHAKE,
        protocol=agreed.protocol_version,
        capabilities=agreed.capabilities,
    )


async def knock(peer: Peer, greeting: Greeting) -> None:
    """Ask for a sign of life in the words of the child's era. Raises RpcError where it is rude."""
    if greeting.era is Era.MODERN:
        await _ask_what_it_is(peer, greeting.protocol)
    else:
        await peer.request("ping")


def _member(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None


T = TypeVar("T")


def _read(kind: type[T], raw: Raw) -> T | None:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.MsgspecError:
        return None
