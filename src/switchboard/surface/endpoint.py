"""The methods of MCP over the current board, for one connected client."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from switchboard.core.board import Board
from switchboard.core.calls import EMPTY_OBJECT, Call
from switchboard.core.contents import LISTINGS
from switchboard.core.faults import Fault
from switchboard.core.levels import LEVELS
from switchboard.core.offers import CONTENTS, Kind
from switchboard.core.ports import Boards, Directory
from switchboard.core.sessions import Era, Session
from switchboard.core.tools import ToolSpec
from switchboard.surface.askers import ChannelAsker
from switchboard.surface.capabilities import capabilities_of
from switchboard.surface.channel import PATIENCE_S, Ask, ClientChannel, declared_by
from switchboard.surface.params import (
    SESSION_KEY,
    Meta,
    Params,
    initialize_from,
    introduced,
    meta_from,
    overrides_from,
    params_from,
)
from switchboard.surface.results import (
    SERVER_INFO,
    discover_parts,
    entries_parts,
    error_from_fault,
    fault_parts,
    is_the_childs_own,
    listing_parts,
    outcome_parts,
    relayed_parts,
)
from switchboard.surface.sink import Sink
from switchboard.surface.subscriptions import ClientSubscriptions
from switchboard.surface.suspended_calls import SuspendedCall, SuspendedCalls
from switchboard.surface.tasks import TASK_METHODS, answer_about_task, later_parts, takes_tasks
from switchboard.wire.eras import (
    CLIENT_CAPABILITIES_KEY,
    MODERN_VERSIONS,
    PROTOCOL_VERSION_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
    negotiated,
)
from switchboard.wire.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MessageId,
    Parts,
    RpcError,
    encode,
)
from switchboard.wire.peer import Answer

_AFTER_ANSWER_S = 0.002
_NULL = Raw(b"null")


class Endpoint:
    """One client's view of Switchboard. Which era it is in is decided by its first request."""

    def __init__(
        self,
        boards: Boards,
        session: Session,
        *,
        sink: Sink,
        instructions: Callable[[], str],
        on_listed: Callable[[], None] | None = None,
        suspended_calls: SuspendedCalls | None = None,
        # How long the client may take to answer a question.
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._boards = boards
        self._sink = sink
        self._instructions = instructions
        self._on_listed = on_listed
        # Where each request is a connection of its own, calls wait in a place that all share.
        self._owns_suspended_calls = suspended_calls is None
        self._patience_s = patience_s
        self._suspended_calls = suspended_calls or SuspendedCalls()
        self._subscriptions = ClientSubscriptions(sink)
        self._calls = 0
        self._is_modern: bool | None = None
        self._log_level = ""
        self._declared = b"{}"
        # How the last request of the modern era introduced itself.
        self._introduced: tuple[Raw, Raw] | None = None
        self.session = session

    # What it asks

    def request(
        self, method: str, params: Raw, message_id: MessageId, sink: Sink | None = None
    ) -> "Parts | Answer":
        """Answer a request. What belongs to it goes to `sink`. Raises RpcError."""
        if method == "initialize":
            return self._initialize(params)
        read = params_from(params)
        meta = meta_from(read.meta)
        session = self._session_for(meta)
        if method == "ping" and session.era is Era.HANDSHAKE:
            return (b"{}",)
        if self._is_modern is None:
            raise RpcError(INVALID_REQUEST, "`initialize` comes first")
        if method == "tools/call":
            return self._call(read, meta, sink or self._sink, message_id)
        if method == "tools/list":
            return self._list_tools(read, meta, sink or self._sink)
        if method == "subscriptions/listen" and session.era is Era.MODERN:
            about = (message_id, session, self._contents())
            return self._subscriptions.listen(params, about, sink or self._sink)
        return self._of_era(method, read) or self._relayed(
            method, params, read, meta, sink or self._sink
        )

    def notification(self, method: str, params: Raw) -> None:
        """Take note of what the client says."""
        del params
        if method == "notifications/roots/list_changed":
            directory = self._contents()
            if directory is not None:
                directory.pass_on(method, self.session)

    def changed(self, kind: str, session_id: str = "") -> None:
        """Tell the client, in the way of its era, that another listing is worth asking for."""
        if not session_id or session_id == self.session.id:
            self._subscriptions.changed(kind)

    def close(self) -> None:
        """The client is gone: nothing is followed for it and no call waits for it any more."""
        self._subscriptions.close()
        if self._owns_suspended_calls:
            self._suspended_calls.close()

    def _of_era(self, method: str, params: Params) -> "Parts | Answer | None":
        """Methods that only one era has."""
        if self._is_modern:
            if method in TASK_METHODS:
                return answer_about_task(method, params, self.session, self._boards)
            found = method == "server/discover"
            return discover_parts(MODERN_VERSIONS, self._about()) if found else None
        if method in {"logging/setLevel", "resources/subscribe", "resources/unsubscribe"}:
            return self._adjust(method, params)
        return None

    # The handshake era

    def _initialize(self, params: Raw) -> Parts:
        asked = initialize_from(params)
        if self._is_modern:
            supported = {"supported": MODERN_VERSIONS, "requested": asked.protocol_version}
            message = "this connection has begun without a handshake"
            raise RpcError(UNSUPPORTED_PROTOCOL_VERSION, message, supported)
        self._is_modern = False
        self._subscriptions.open()
        version = negotiated(asked.protocol_version)
        wanted = (asked.meta or {}).get(SESSION_KEY)
        self._declared = declared_by(asked.capabilities)
        self.session = replace(
            self.session,
            protocol=version,
            client=str(asked.client_info),
            capabilities=asked.capabilities,
            overrides=self.session.overrides if wanted is None else overrides_from(wanted),
        )
        body = {"protocolVersion": version, "serverInfo": SERVER_INFO, **self._about()}
        return (encode(body),)

    def _about(self) -> dict[str, Any]:
        with self._boards.lease() as board:
            can = capabilities_of(board, is_modern=bool(self._is_modern))
        about: dict[str, Any] = {"capabilities": can}
        if instructions := self._instructions():
            about["instructions"] = instructions
        return about

    def _adjust(self, method: str, params: Params) -> "Parts | Answer":
        if method == "logging/setLevel":
            if params.level not in LEVELS:
                raise RpcError(INVALID_PARAMS, f"`level` must be one of {', '.join(LEVELS)}")
            self._log_level = params.level
            return (b"{}",)
        if params.uri is UNSET:
            raise RpcError(INVALID_PARAMS, "`uri` is missing")
        directory = self._contents()
        if directory is None:
            raise RpcError(METHOD_NOT_FOUND, f"`{method}` is not offered")
        if method == "resources/unsubscribe":
            self._subscriptions.unsubscribe(params.uri)
            return (b"{}",)
        return self._subscriptions.subscribe(params.uri, self.session, directory)

    # The modern era

    def _session_for(self, meta: Meta) -> Session:
        """The session as this request sees it; in the modern era each one introduces itself."""
        claims_modern = meta.version is not None
        if self._is_modern is None and claims_modern:
            self._is_modern = True
        if not self._is_modern:
            if claims_modern:
                message = "this connection has begun with the handshake of an earlier protocol"
                raise RpcError(INVALID_REQUEST, message)
            return self.session
        if meta.version is None or meta.capabilities is None:
            message = f"`_meta` needs `{PROTOCOL_VERSION_KEY}` and `{CLIENT_CAPABILITIES_KEY}`"
            raise RpcError(INVALID_PARAMS, message)
        if (meta.version, meta.capabilities) != self._introduced:
            self.session = introduced(self.session, meta)
            self._introduced = (meta.version, meta.capabilities)
            self._declared = declared_by(self.session.capabilities)
        return self.session

    # Listings

    def _list_tools(self, params: Params, meta: Meta, sink: Sink) -> "Parts | Answer":
        _refuse_cursor(params)
        if self._on_listed is not None:
            # The answer goes out first: whoever listed thinks before it calls.
            asyncio.get_running_loop().call_later(_AFTER_ANSWER_S, self._on_listed)
            self._on_listed = None
        with self._boards.lease() as board:
            if "tools" in board.listing:
                return self._list_with_children(self._told(meta), self._channel(meta, sink))
            return listing_parts(board.catalog, self._told(meta))

    async def _list_with_children(self, session: Session, channel: ClientChannel) -> Parts:
        with self._boards.lease() as board:
            assert board.directory is not None
            shown = await board.directory().entries("tools", session, channel)
            return listing_parts(board.catalog, session, shown)

    async def _list_entries(self, kind: Kind, member: str, channel: ClientChannel) -> Parts:
        session = self.session
        with self._boards.lease() as board:
            assert board.directory is not None
            entries = await board.directory().entries(kind, session, channel)
            return entries_parts(member, entries, session.era)

    # Calls

    def _call(self, params: Params, meta: Meta, sink: Sink, message_id: MessageId) -> Answer:
        if params.name is UNSET:
            raise RpcError(INVALID_PARAMS, "`name` is missing")
        name, session = params.name, self._told(meta)
        arguments = EMPTY_OBJECT if params.arguments == _NULL else params.arguments
        if not self._may_ask(params):
            channel = self._channel(meta, sink, request_id=message_id)
            return self._run(name, arguments, session, channel)
        about = (name, msgspec.json.decode(arguments))
        suspended = self._suspended(params, meta, sink, message_id)
        work = partial(self._run, name, arguments, session, suspended.channel)
        return self._converse(params, suspended, about, work)

    async def _run(
        self, name: str, arguments: Raw, session: Session, channel: ClientChannel
    ) -> Parts:
        with self._boards.lease() as board:
            tool = board.catalog.tools.get(name)
            is_shown = tool is None
            if tool is None:
                tool = await self._shown(board, name, session, channel)
            if tool is None:
                raise RpcError(INVALID_PARAMS, f"no tool `{name}`")
            call = self._new_call(session, tool, arguments, channel)
            try:
                outcome = await board.pipeline(call)
                if outcome.task_id:
                    return await later_parts(outcome, session, board)
                return outcome_parts(outcome, session.era)
            except Fault as fault:
                if is_the_childs_own(fault, is_shown=is_shown):
                    raise error_from_fault(fault, call.id, session.era) from fault
                return fault_parts(fault, call.id, session.era, tool.fault_text)

    async def _shown(
        self, board: Board, name: str, session: Session, channel: ClientChannel
    ) -> ToolSpec | None:
        """A tool that a child shows under its own name."""
        if "tools" not in board.listing or board.directory is None:
            return None
        return await board.directory().tool(name, session, channel)

    def _relayed(
        self, method: str, raw: Raw, params: Params, meta: Meta, sink: Sink
    ) -> "Parts | Answer":
        """What is no call of a tool, and still passes the gates."""
        directory = self._contents()
        spec = directory.spec(method) if directory is not None else None
        if directory is None or (spec is None and method not in LISTINGS):
            raise RpcError(METHOD_NOT_FOUND, f"`{method}` is not offered")
        if spec is None:
            _refuse_cursor(params)
            kind, member = LISTINGS[method]
            return self._list_entries(kind, member, self._channel(meta, sink))
        session = self.session
        if not self._may_ask(params):
            return self._pass(spec, raw, session, self._channel(meta, sink))
        about = (method, params.name, params.uri, msgspec.json.decode(params.arguments))
        suspended = self._suspended(params, meta, sink)
        work = partial(self._pass, spec, raw, session, suspended.channel)
        return self._converse(params, suspended, about, work)

    async def _pass(
        self, spec: ToolSpec, raw: Raw, session: Session, channel: ClientChannel
    ) -> Parts:
        with self._boards.lease() as board:
            call = self._new_call(session, spec, raw, channel)
            try:
                outcome = await board.pipeline(call)
            except Fault as fault:
                raise error_from_fault(fault, call.id, session.era) from fault
            is_cacheable = spec.name == "resources/read"
            return relayed_parts(outcome, session.era, is_cacheable=is_cacheable)

    def _new_call(
        self, session: Session, tool: ToolSpec, arguments: Raw, channel: ClientChannel
    ) -> Call:
        self._calls += 1
        return Call(
            id=f"{session.id}-{self._calls}",
            session=session,
            tool=tool,
            arguments=arguments,
            channel=channel,
            client_timeout_s=channel.timeout_s,
            clock=channel.clock,
            takes_tasks=session.era is Era.MODERN and takes_tasks(session),
            asker=ChannelAsker(channel) if channel.can_be_shown_forms else None,
        )

    def _may_ask(self, params: Params) -> bool:
        """Whether a request of the modern era may come to a question, or comes from one."""
        return bool(self._is_modern) and (self._declared != b"{}" or bool(params.request_state))

    def _suspended(
        self, params: Params, meta: Meta, sink: Sink, message_id: MessageId = None
    ) -> SuspendedCall:
        """A request with the channel to its client as it introduced itself; the next may differ."""
        make = partial(self._channel, meta, sink, request_id=message_id)
        return SuspendedCall(make, params.input_responses or {})

    async def _converse(
        self, params: Params, suspended: SuspendedCall, about: Any, work: Callable[[], Answer]
    ) -> Parts:
        """Run a request that may ask its client something on the way, or go on with one."""
        if params.request_state:
            given = suspended.given
            suspended = self._suspended_calls.take(params.request_state, about, suspended.channel)
            suspended.answer(given)
        else:
            self._suspended_calls.begin(suspended, work(), about)
        return await self._suspended_calls.word(suspended)

    def _channel(
        self, meta: Meta, sink: Sink, ask: Ask | None = None, request_id: MessageId = None
    ) -> ClientChannel:
        return ClientChannel(
            self.session,
            sink,
            ask=ask,
            token=meta.token,
            meta=meta.foreign,
            log_level=meta.log_level or self._log_level,
            declared=self._declared,
            patience_s=self._patience_s,
            timeout_s=meta.timeout_s,
            request_id=request_id,
        )

    def _told(self, meta: Meta) -> Session:
        """The session, with what this one request wants otherwise."""
        if meta.session is None:
            return self.session
        return replace(self.session, overrides=overrides_from(meta.session))

    def _contents(self) -> Directory | None:
        """The directory, where somebody may have prompts or resources."""
        with self._boards.lease() as board:
            if board.directory is None or not board.listing & CONTENTS:
                return None
            return board.directory()


def _refuse_cursor(params: Params) -> None:
    if params.cursor:
        raise RpcError(INVALID_PARAMS, "there is no such page")
