"""The methods of MCP over the current board, for one connected client."""

import asyncio
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Raw, UnsetType

from switchboard.core.calls.contents import LISTINGS
from switchboard.core.catalog.offers import CONTENTS, Kind
from switchboard.core.channels.channel import ROOTS_CHANGED
from switchboard.core.people import Person
from switchboard.core.ports import Boards, Directory
from switchboard.core.sessions import Era, Session
from switchboard.core.text.levels import LEVELS
from switchboard.surface.capabilities import capabilities_of
from switchboard.surface.channel import PATIENCE_S, ClientChannel
from switchboard.surface.known_client import KnownClient
from switchboard.surface.params import Meta, Params, initialize_from, meta_from, params_from
from switchboard.surface.results import SERVER_INFO, discover_parts, entries_parts, listing_parts
from switchboard.surface.sink import Sink
from switchboard.surface.subscriptions import ClientSubscriptions, Listening
from switchboard.wire.eras import MODERN_VERSIONS, TASK_METHODS
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

if TYPE_CHECKING:
    from switchboard.surface.client_calls import ClientCalls
    from switchboard.surface.suspended_calls import SuspendedCalls
    from switchboard.surface.tasks import ClientTasks

_AFTER_ANSWER_S = 0.002
_LISTED = ("tools", "prompts", "resources")


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
        suspended_calls: "SuspendedCalls | None" = None,
        # How long the client may take to answer a question.
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._boards = boards
        self._sink = sink
        self._instructions = instructions
        self._on_listed = on_listed
        self._client = KnownClient(session, patience_s=patience_s)
        self._suspended_calls = suspended_calls
        self._subscriptions = ClientSubscriptions(sink)
        # What the client began with, in the handshake era.
        self._greeting = b""

    @property
    def session(self) -> Session:
        """The client as it has introduced itself so far."""
        return self._client.session

    @cached_property
    def _calls(self) -> "ClientCalls":
        # Everyone waits for the first listing; what runs calls is loaded while the client reads it.
        from switchboard.surface.client_calls import ClientCalls  # noqa: PLC0415

        return ClientCalls(self._boards, self._client, self._suspended_calls)

    @cached_property
    def _tasks(self) -> "ClientTasks":
        # Few clients know of tasks.
        from switchboard.surface.tasks import ClientTasks  # noqa: PLC0415

        return ClientTasks(self._boards, self._client, self._calls)

    def is_of(self, person: Person | None) -> bool:
        """Whether the client is that person's; their rights are from now on those of today."""
        return self._client.is_of(person)

    # What it asks

    def request(
        self, method: str, params: Raw, message_id: MessageId, sink: Sink | None = None
    ) -> "Parts | Answer":
        """Answer a request. What belongs to it goes to `sink`. Raises RpcError."""
        if method == "initialize":
            return self._initialize(params)
        read = params_from(params)
        meta = meta_from(read.meta)
        session = self._client.hear(meta)
        if method == "ping" and session.era is Era.HANDSHAKE:
            return (b"{}",)
        if self._client.is_modern is None:
            raise RpcError(INVALID_REQUEST, "`initialize` comes first")
        if method == "tools/call":
            return self._calls.call(read, meta, sink or self._sink, message_id)
        if method == "tools/list":
            return self._list_tools(read, meta, sink or self._sink)
        if method == "subscriptions/listen" and session.era is Era.MODERN:
            listening = Listening(message_id, session, self._contents(), self._tasks)
            return self._subscriptions.listen(params, listening, sink or self._sink)
        if self._client.is_modern and method in TASK_METHODS:
            answer = self._tasks.answer(method, read, meta, sink or self._sink, message_id)
        else:
            answer = self._of_era(method, read)
        return answer or self._relayed(
            method, params, read, meta, sink or self._sink, message_id=message_id
        )

    def notification(self, method: str, params: Raw) -> None:
        """Take note of what the client says."""
        del params
        if method == ROOTS_CHANGED:
            directory = self._contents()
            if directory is not None:
                directory.pass_on(method, self.session)

    def changed(self, kind: str, session_id: str = "") -> None:
        """Tell the client, in the way of its era, that another listing is worth asking for."""
        if not session_id or session_id == self.session.id:
            self._subscriptions.changed(kind)

    # A session that goes on elsewhere

    def introduction(self) -> Iterator[tuple[str, bytes]]:
        """The requests, with params, that make another endpoint know what this one knows."""
        if self._greeting:
            yield "initialize", self._greeting
        if self._client.log_level:
            yield "logging/setLevel", encode({"level": self._client.log_level})
        for uri in self._subscriptions.followed:
            yield "resources/subscribe", encode({"uri": uri})

    def listening(self) -> dict[MessageId, bytes]:
        """The params of requests that stay open, by their ids."""
        return self._subscriptions.asked

    @property
    def is_waiting(self) -> bool:
        """Whether a call of the client has come to a question that it is yet to answer."""
        return "_calls" in vars(self) and self._calls.is_waiting

    def changed_all(self) -> None:
        """Every listing may be another now."""
        with self._boards.lease() as board:
            can = capabilities_of(board, is_modern=bool(self._client.is_modern))
        for kind in _LISTED:
            if kind in can:
                self.changed(kind)

    def renew(self, message_id: "MessageId | UnsetType") -> None:
        """A request that stays open comes again, from another process."""
        if message_id is not UNSET:
            self._subscriptions.renewed.add(message_id)

    def close(self) -> None:
        """The client is gone: nothing is followed for it and no call waits for it any more."""
        self._subscriptions.close()
        if "_calls" in vars(self):
            self._calls.close()

    def _of_era(self, method: str, params: Params) -> "Parts | Answer | None":
        """Methods that only one era has."""
        if self._client.is_modern:
            found = method == "server/discover"
            return discover_parts(MODERN_VERSIONS, self._about()) if found else None
        if method in {"logging/setLevel", "resources/subscribe", "resources/unsubscribe"}:
            return self._adjust(method, params)
        return None

    # The handshake era

    def _initialize(self, params: Raw) -> Parts:
        version = self._client.shake_hands(initialize_from(params))
        self._greeting = bytes(params)
        self._subscriptions.open()
        body = {"protocolVersion": version, "serverInfo": SERVER_INFO, **self._about()}
        return (encode(body),)

    def _about(self) -> dict[str, Any]:
        with self._boards.lease() as board:
            can = capabilities_of(board, is_modern=bool(self._client.is_modern))
        about: dict[str, Any] = {"capabilities": can}
        if instructions := self._instructions():
            about["instructions"] = instructions
        return about

    def _adjust(self, method: str, params: Params) -> "Parts | Answer":
        if method == "logging/setLevel":
            if params.level not in LEVELS:
                raise RpcError(INVALID_PARAMS, f"`level` must be one of {', '.join(LEVELS)}")
            self._client.log_level = params.level
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

    # Listings

    def _listed(self, tell: Callable[[], None]) -> None:
        tell()
        _ = self._calls

    def _list_tools(self, params: Params, meta: Meta, sink: Sink) -> "Parts | Answer":
        _refuse_cursor(params)
        if self._on_listed is not None:
            # The answer goes out first: whoever listed thinks before it calls.
            asyncio.get_running_loop().call_later(_AFTER_ANSWER_S, self._listed, self._on_listed)
            self._on_listed = None
        session = self._client.told(meta)
        with self._boards.lease() as board:
            if "tools" in board.listing:
                return self._list_with_children(session, self._client.channel(meta, sink))
            return listing_parts(board.catalog, session)

    async def _list_with_children(self, session: Session, channel: ClientChannel) -> Parts:
        with self._boards.lease() as board:
            assert board.directory is not None
            directory = board.directory()
            shown = await directory.entries("tools", session, channel)
            is_whole = not directory.awaits("tools")
            return listing_parts(board.catalog, session, shown, is_whole=is_whole)

    async def _list_entries(self, kind: Kind, member: str, channel: ClientChannel) -> Parts:
        session = self.session
        with self._boards.lease() as board:
            assert board.directory is not None
            directory = board.directory()
            entries = await directory.entries(kind, session, channel)
            is_whole = not directory.awaits(kind)
            return entries_parts(member, entries, session.era, is_whole=is_whole)

    # What providers have beside tools

    def _relayed(
        self,
        method: str,
        raw: Raw,
        params: Params,
        meta: Meta,
        sink: Sink,
        *,
        message_id: MessageId,
    ) -> "Parts | Answer":
        directory = self._contents()
        spec = directory.spec(method) if directory is not None else None
        if directory is None or (spec is None and method not in LISTINGS):
            raise RpcError(METHOD_NOT_FOUND, f"`{method}` is not offered")
        if spec is not None:
            return self._calls.relay(spec, raw, params, meta, sink, message_id=message_id)
        _refuse_cursor(params)
        kind, member = LISTINGS[method]
        return self._list_entries(kind, member, self._client.channel(meta, sink))

    def _contents(self) -> Directory | None:
        """The directory, where somebody may have prompts or resources."""
        with self._boards.lease() as board:
            if board.directory is None or not board.listing & CONTENTS:
                return None
            return board.directory()


def _refuse_cursor(params: Params) -> None:
    if params.cursor:
        raise RpcError(INVALID_PARAMS, "there is no such page")
