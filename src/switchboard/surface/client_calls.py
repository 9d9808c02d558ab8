"""The calls of one client, and what else of its requests takes the road of calls."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from switchboard.core.board import Board
from switchboard.core.calls.call import EMPTY_OBJECT, Call
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.faults import Fault
from switchboard.core.ports import Boards
from switchboard.core.sessions import Era, Session
from switchboard.surface.asking.askers import ChannelAsker
from switchboard.surface.asking.late_replies import late_note
from switchboard.surface.channel import ClientChannel
from switchboard.surface.known_client import KnownClient
from switchboard.surface.params import Meta, Params
from switchboard.surface.results import (
    error_from_fault,
    fault_parts,
    is_the_childs_own,
    noted_parts,
    outcome_parts,
    relayed_parts,
)
from switchboard.surface.sink import Sink
from switchboard.surface.suspended_calls import SuspendedCall, SuspendedCalls
from switchboard.surface.task_words import call_parts, takes_tasks
from switchboard.wire.messages import INVALID_PARAMS, MessageId, Parts, RpcError
from switchboard.wire.peer import Answer

_NULL = Raw(b"null")


class ClientCalls:
    """Makes calls of requests, and results of what becomes of them."""

    def __init__(
        self, boards: Boards, client: KnownClient, suspended_calls: SuspendedCalls | None = None
    ) -> None:
        self._boards = boards
        self._client = client
        # Where each request is a connection of its own, calls wait in a place that all share.
        self._owns_suspended_calls = suspended_calls is None
        self._suspended_calls = suspended_calls or SuspendedCalls()
        self._count = 0

    def call(self, params: Params, meta: Meta, sink: Sink, message_id: MessageId) -> Answer:
        """`tools/call`. Raises RpcError."""
        if params.name is UNSET:
            raise RpcError(INVALID_PARAMS, "`name` is missing")
        name, client = params.name, self._client
        # What is asked in line here and below spares every call a few calls of functions.
        session = client.session if meta.wishes is None else client.told(meta)
        arguments = EMPTY_OBJECT if params.arguments == _NULL else params.arguments
        if not client.is_modern or not client.may_be_asked(params):
            channel = client.channel(meta, sink, request_id=message_id)
            return self._run(name, arguments, session, channel)
        about = (name, msgspec.json.decode(arguments))
        suspended = self._suspended(params, meta, sink, message_id)
        work = partial(self._run, name, arguments, session, suspended.channel)
        return self._converse(params, suspended, about, work)

    def relay(
        self,
        spec: ToolSpec,
        raw: Raw,
        params: Params,
        meta: Meta,
        sink: Sink,
        *,
        message_id: MessageId,
    ) -> Answer:
        """What is no call of a tool, and still passes the gates."""
        session = self._client.told(meta)
        if not self._client.may_be_asked(params):
            channel = self._client.channel(meta, sink, request_id=message_id)
            return self._pass(spec, raw, session, channel)
        about = (spec.name, params.name, params.uri, msgspec.json.decode(params.arguments))
        suspended = self._suspended(params, meta, sink, message_id)
        work = partial(self._pass, spec, raw, session, suspended.channel)
        return self._converse(params, suspended, about, work)

    async def act(
        self, board: Board, spec: ToolSpec, arguments: Raw, channel: ClientChannel
    ) -> None:
        """What a request does to a task: judged and written down as a call is. Raises RpcError."""
        session = self._client.session
        call = self._new_call(session, spec, arguments, channel)
        try:
            await board.pipeline(call)
        except Fault as fault:
            raise error_from_fault(fault, call.id, session.era) from fault

    @property
    def is_waiting(self) -> bool:
        """Whether a call waits for an answer of its client."""
        return not self._suspended_calls.is_empty

    def close(self) -> None:
        """The client is gone: no call waits for it any more."""
        if self._owns_suspended_calls:
            self._suspended_calls.close()

    async def _run(
        self, name: str, arguments: Raw, session: Session, channel: ClientChannel
    ) -> Parts:
        with self._boards.lease() as board:
            tool = board.catalog.tools.get(name)
            is_shown = tool is None
            if tool is None:
                tool = await _shown(board, name, session, channel)
            if tool is None:
                words = await _words_for_unknown(board, name, session, channel)
                raise RpcError(INVALID_PARAMS, words)
            call = self._new_call(session, tool, arguments, channel)
            try:
                outcome = await board.pipeline(call)
                if outcome.task_id or outcome.on_delivered is not None:
                    return await call_parts(outcome, session, board, channel)
                return outcome_parts(outcome, session.era)
            except Fault as fault:
                if is_the_childs_own(fault, is_shown=is_shown):
                    raise error_from_fault(fault, call.id, session.era) from fault
                return fault_parts(fault, call.id, session.era, tool.fault_text)

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
        self._count += 1
        return Call(
            id=f"{session.id}-{self._count}",
            session=session,
            tool=tool,
            arguments=arguments,
            channel=channel,
            client_timeout_s=channel.timeout_s,
            clock=channel.clock,
            takes_tasks=session.era is Era.MODERN and takes_tasks(session),
            asker=ChannelAsker(channel, session) if channel.can_be_shown_forms else None,
            on_decided=channel.note_decision,
        )

    # Requests that wait for their client

    def _suspended(
        self, params: Params, meta: Meta, sink: Sink, message_id: MessageId
    ) -> SuspendedCall:
        """A request with the channel to its client as it introduced itself; the next may differ."""
        make = partial(self._client.channel, meta, sink, request_id=message_id)
        return SuspendedCall(make, params.input_responses or {})

    async def _converse(
        self, params: Params, suspended: SuspendedCall, about: Any, work: Callable[[], Answer]
    ) -> Parts:
        """Run a request that may ask its client something on the way, or go on with one."""
        late: dict[str, Raw] = {}
        if params.request_state:
            given = suspended.given
            suspended = self._suspended_calls.take(params.request_state, about, suspended.channel)
            late = suspended.answer(given)
        else:
            self._suspended_calls.begin(suspended, work(), about)
        parts = await self._suspended_calls.word(suspended)
        if not late or not suspended.is_over:
            return parts
        note = late_note(late, suspended.channel.decided)
        return self._noted(parts, note, params.name) if note else parts

    def _noted(self, parts: Parts, note: str, name: str | UnsetType) -> Parts:
        with self._boards.lease() as board:
            tool = board.catalog.tools.get(name) if name is not UNSET else None
        # What is not in the catalog is shown under its own name, with the schema of its server.
        is_promised = tool is None or tool.output_schema is not None
        return noted_parts(parts, note, is_promised=is_promised)


async def _shown(
    board: Board, name: str, session: Session, channel: ClientChannel
) -> ToolSpec | None:
    """A tool that a child shows under its own name."""
    if "tools" not in board.listing or board.directory is None:
        return None
    return await board.directory().tool(name, session, channel)


async def _words_for_unknown(
    board: Board, name: str, session: Session, channel: ClientChannel
) -> str:
    """That there is no such tool, and how those are called that have this name at their server."""
    words = f"no tool `{name}`"
    if "tools" not in board.listing or board.directory is None:
        return words
    offers = await board.directory().offers("tools", session, channel)
    meant = [f"`{offer.name}`" for offer in offers if offer.own == name]
    return f"{words}: several servers have one, call {' or '.join(meant)}" if meant else words
