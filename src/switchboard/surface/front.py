"""The methods of MCP over the current board, for one connected client."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from switchboard.core.calls import EMPTY_OBJECT, Call
from switchboard.core.faults import Fault
from switchboard.core.ports import Boards
from switchboard.core.sessions import Era, Session
from switchboard.surface.outlets import Outlet
from switchboard.surface.results import (
    SERVER_INFO,
    discover_parts,
    fault_parts,
    listing_parts,
    outcome_parts,
)
from switchboard.wire.eras import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    MODERN_VERSIONS,
    PROTOCOL_VERSION_KEY,
    SUBSCRIPTION_ID_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
    negotiated,
)
from switchboard.wire.messages import (
    ABSENT,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MessageId,
    Parts,
    RpcError,
    encode,
)
from switchboard.wire.peer import Answer

LIST_CHANGED = "notifications/tools/list_changed"
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_AFTER_ANSWER_S = 0.002
_CAPABILITIES = {"tools": {"listChanged": True}}


class _Implementation(Struct, frozen=True):
    name: str = ""
    version: str = ""


class _Meta(Struct):
    version: Any = msgspec.field(name=PROTOCOL_VERSION_KEY, default=UNSET)
    client: _Implementation | None = msgspec.field(name=CLIENT_INFO_KEY, default=None)
    capabilities: dict[str, Any] | UnsetType = msgspec.field(
        name=CLIENT_CAPABILITIES_KEY, default=UNSET
    )


class _Params(Struct):
    meta: _Meta | None = msgspec.field(name="_meta", default=None)
    name: str | UnsetType = UNSET
    arguments: Raw = EMPTY_OBJECT
    cursor: str | None = None


class _Initialize(Struct, rename="camel"):
    protocol_version: str
    capabilities: dict[str, Any] = {}
    client_info: _Implementation = _Implementation()


class _Filter(Struct, rename="camel", omit_defaults=True):
    tools_list_changed: bool = False


class _Listen(Struct):
    notifications: _Filter


_read_params = msgspec.json.Decoder(_Params).decode
_read_initialize = msgspec.json.Decoder(_Initialize).decode
_read_listen = msgspec.json.Decoder(_Listen).decode
_NO_PARAMS = _Params()
_NULL = Raw(b"null")


class Front:
    """One client's view of Switchboard. Which era it is in is decided by its first request."""

    def __init__(
        self,
        boards: Boards,
        session: Session,
        *,
        outlet: Outlet,
        instructions: Callable[[], str],
        on_listed: Callable[[], None] | None = None,
    ) -> None:
        self._boards = boards
        self._outlet = outlet
        self._instructions = instructions
        self._on_listed = on_listed
        self._calls = 0
        self._listeners: set[MessageId] = set()
        self._is_open = False
        self._is_modern: bool | None = None
        self.session = session

    # What it asks

    def request(
        self, method: str, params: Raw, message_id: MessageId, outlet: Outlet | None = None
    ) -> "Parts | Answer":
        """Answer a request. What belongs to it goes to `outlet`. Raises RpcError."""
        del outlet
        if method == "initialize":
            return self._initialize(params)
        read = _params(params)
        session = self._session_for(read.meta)
        if method == "ping" and session.era is Era.HANDSHAKE:
            return (b"{}",)
        if self._is_modern is None:
            raise RpcError(INVALID_REQUEST, "`initialize` comes first")
        if method == "tools/call":
            return self._call(read, session)
        if method == "tools/list":
            return self._list(read.cursor, session)
        if session.era is Era.MODERN:
            if method == "server/discover":
                return discover_parts(MODERN_VERSIONS, self._about())
            if method == "subscriptions/listen":
                return self._listen(params, message_id)
        raise RpcError(METHOD_NOT_FOUND, f"`{method}` is not offered")

    def notification(self, method: str, params: Raw) -> None:
        """Take note of what the client says."""

    def tools_changed(self) -> None:
        """Tell the client, in the way of its era, that another listing is worth asking for."""
        if self._is_modern:
            for listener in self._listeners:
                self._outlet.notify(LIST_CHANGED, (encode(_subscription(listener)),))
        elif self._is_open:
            self._outlet.notify(LIST_CHANGED, (b"{}",))

    # The handshake era

    def _initialize(self, params: Raw) -> Parts:
        try:
            asked = _read_initialize(params or b"{}")
        except msgspec.MsgspecError as error:
            raise RpcError(INVALID_PARAMS, str(error)) from None
        if self._is_modern:
            supported = {"supported": MODERN_VERSIONS, "requested": asked.protocol_version}
            message = "this connection has begun without a handshake"
            raise RpcError(UNSUPPORTED_PROTOCOL_VERSION, message, supported)
        self._is_modern = False
        self._is_open = True
        version = negotiated(asked.protocol_version)
        self.session = replace(
            self.session,
            protocol=version,
            client=_label(asked.client_info),
            capabilities=asked.capabilities,
        )
        body = {"protocolVersion": version, "serverInfo": SERVER_INFO, **self._about()}
        return (encode(body),)

    def _about(self) -> dict[str, Any]:
        about: dict[str, Any] = {"capabilities": _CAPABILITIES}
        if instructions := self._instructions():
            about["instructions"] = instructions
        return about

    # The modern era

    def _session_for(self, meta: _Meta | None) -> Session:
        """The session as this request sees it; in the modern era each one introduces itself."""
        claims_modern = meta is not None and meta.version is not UNSET
        if self._is_modern is None and claims_modern:
            self._is_modern = True
        if not self._is_modern:
            if claims_modern:
                message = "this connection has begun with the handshake of an earlier protocol"
                raise RpcError(INVALID_REQUEST, message)
            return self.session
        if meta is None or not claims_modern or meta.capabilities is UNSET:
            message = f"`_meta` needs `{PROTOCOL_VERSION_KEY}` and `{CLIENT_CAPABILITIES_KEY}`"
            raise RpcError(INVALID_PARAMS, message)
        if not isinstance(meta.version, str):
            raise RpcError(INVALID_PARAMS, f"`{PROTOCOL_VERSION_KEY}` must be a string")
        if meta.version not in MODERN_VERSIONS:
            supported = {"supported": MODERN_VERSIONS, "requested": meta.version}
            raise RpcError(
                UNSUPPORTED_PROTOCOL_VERSION, "the protocol version is not supported", supported
            )
        session = self.session
        if session.protocol != meta.version or session.capabilities != meta.capabilities:
            session = self.session = replace(
                session,
                era=Era.MODERN,
                protocol=meta.version,
                client=_label(meta.client) if meta.client else session.client,
                capabilities=meta.capabilities,
            )
        return session

    async def _listen(self, params: Raw, message_id: MessageId) -> Parts:
        """Announce changes until the client cancels."""
        try:
            wanted = _read_listen(params).notifications
        except msgspec.MsgspecError as error:
            raise RpcError(INVALID_PARAMS, str(error)) from None
        honoured = {"notifications": wanted, **_subscription(message_id)}
        self._outlet.notify(_ACKNOWLEDGED, (encode(honoured),))
        if wanted.tools_list_changed:
            self._listeners.add(message_id)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._listeners.discard(message_id)
        raise AssertionError("a subscription ends by being cancelled")

    # Calls

    def _list(self, cursor: str | None, session: Session) -> Parts:
        if cursor:
            raise RpcError(INVALID_PARAMS, "there is no such page")
        if self._on_listed is not None:
            # The answer goes out first: whoever listed thinks before it calls.
            asyncio.get_running_loop().call_later(_AFTER_ANSWER_S, self._on_listed)
            self._on_listed = None
        with self._boards.lease() as board:
            return listing_parts(board.catalog, session.era)

    def _call(self, params: _Params, session: Session) -> Answer:
        if params.name is UNSET:
            raise RpcError(INVALID_PARAMS, "`name` is missing")
        return self._run(params.name, params.arguments, session)

    async def _run(self, name: str, arguments: Raw, session: Session) -> Parts:
        with self._boards.lease() as board:
            tool = board.catalog.tools.get(name)
            if tool is None:
                raise RpcError(INVALID_PARAMS, f"no tool `{name}`")
            self._calls += 1
            call = Call(
                id=f"{session.id}-{self._calls}",
                session=session,
                tool=tool,
                arguments=EMPTY_OBJECT if arguments == _NULL else arguments,
            )
            try:
                return outcome_parts(await board.pipeline(call), session.era)
            except Fault as fault:
                return fault_parts(fault, call.id, session.era)


def _params(raw: Raw) -> _Params:
    # Some clients write `null` for parameters that they do not have.
    if raw in (ABSENT, _NULL):
        return _NO_PARAMS
    try:
        return _read_params(raw)
    except msgspec.MsgspecError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from None


def _label(client: _Implementation) -> str:
    return f"{client.name} {client.version}".strip()


def _subscription(message_id: MessageId) -> dict[str, Any]:
    return {"_meta": {SUBSCRIPTION_ID_KEY: message_id}}
