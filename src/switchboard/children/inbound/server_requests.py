"""What a child says of its own accord, and who is to hear it.

A child that several sessions share does not say whom it means. What belongs to one request shows by
its token or its stream. Of the rest, a log message goes to a client only when the child works, and
has worked lately, for that one alone; a question only when it has never worked for another.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count

import msgspec
from msgspec import Raw, Struct

from switchboard.children.inbound.attribution import (
    PAGE_ID,
    discreet,
    marked_error,
    marked_input,
    marked_log,
    pages_of,
)
from switchboard.children.inbound.audience import Audience
from switchboard.children.inbound.question_rate import MOST_AT_ONCE, TOO_FAST, QuestionRate
from switchboard.children.inbound.sizes import MOST_NOTE_BYTES, is_long
from switchboard.children.link import Link
from switchboard.core.channels.channel import Channel, Input
from switchboard.core.faults import Fault
from switchboard.core.privacy.secrets import NO_SECRETS, Redact
from switchboard.wire.eras import INPUT_METHODS
from switchboard.wire.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MessageId,
    Parts,
    RpcError,
    encode,
)
from switchboard.wire.peer import Answer

CHANGED = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}
_MOST_PAGES = 64
_NOBODY = (
    "`{}`: several clients share this server, or none is waiting, so it is unclear which one this "
    "is for; with `scope` set to `session` each client has a server of its own"
)
_APART = (
    "`{}`: this server has worked for several clients, so it is unclear which one this is for; "
    "call again: from now on each session has a server of its own, as with `scope` set to `session`"
)
# What a child of the handshake era has to ask in the middle of a call.
_QUESTIONS = frozenset({"elicitation/create", "sampling/createMessage"})
_CALLED_OFF = "the client went away or called its request off"


class _Progress(Struct):
    token: MessageId = msgspec.field(name="progressToken", default=None)


class _Page(Struct):
    id: str = msgspec.field(name=PAGE_ID, default="")


class _Updated(Struct):
    uri: str = ""


_read_progress = msgspec.json.Decoder(_Progress).decode
_read_page = msgspec.json.Decoder(_Page).decode
_read_updated = msgspec.json.Decoder(_Updated).decode


class ServerRequests:
    """Takes in the requests and notifications of one child."""

    def __init__(self, child: str) -> None:
        self._child = child
        self.audience = Audience(time.monotonic)
        # The way that the child speaks on now.
        self.link: Link | None = None
        # Who was sent to which page. The news that it was visited may come after the call.
        self._pages: dict[str, Channel] = {}
        self.rate = QuestionRate(time.monotonic)
        self._questions = count(1)
        # The questions that wait for an answer, each with the channels that it may be meant for.
        self._open: dict[asyncio.Task[Mapping[str, Raw]], Sequence[Channel]] = {}
        # Told that it asks without saying whom, and for which session that can only be, if any.
        # Not where there must be one alone.
        self.may_be_set_apart = True
        self.on_question: Callable[[str, str], None] = lambda _, __: None
        self.on_changed: Callable[[str], None] = lambda _: None
        self.on_updated: Callable[[str], None] = lambda _: None

    # Requests

    def request(self, method: str, params: Raw, message_id: MessageId) -> "Parts | Answer":
        """Answer a child, by asking the client that it works for."""
        del message_id
        if method == "ping":
            return (b"{}",)
        if method not in INPUT_METHODS:
            raise RpcError(METHOD_NOT_FOUND, f"`{method}` is not offered")
        if is_long(method, params):
            raise RpcError(INVALID_PARAMS, f"a question may have {MOST_NOTE_BYTES} bytes")
        channel = self._asked(method)
        channels = self.audience.under_way() if self._about() is None else (channel,)
        try:
            wanted = marked_input(self._child, method, params, self._hide)
            self._note_page(_read_page(wanted.params).id, channel)
        except msgspec.MsgspecError as error:
            raise RpcError(INVALID_PARAMS, str(error)) from None
        if not self.rate.allows(channel.holder, (method,)):
            raise RpcError(INTERNAL_ERROR, TOO_FAST)
        return self._ask(channel, wanted, channels)

    def _asked(self, method: str) -> Channel:
        """Whom a question is for. Raises RpcError where that is unclear."""
        is_unclear = self._about() is None and method in _QUESTIONS
        channel = self.audience.alone() if is_unclear else self._channel()
        if is_unclear and self.audience.under_way():
            self.on_question(method, channel.session_id if channel is not None else "")
            if channel is None and self.may_be_set_apart:
                raise RpcError(METHOD_NOT_FOUND, _APART.format(method))
        if channel is None:
            raise RpcError(METHOD_NOT_FOUND, _NOBODY.format(method))
        return channel

    def refused(self, error: RpcError, channel: Channel | None) -> RpcError:
        """A child's refusal, marked if it is a question."""
        marked = marked_error(self._child, error, self._hide)
        for page in pages_of(marked):
            self._note_page(page, channel)
        return marked

    def _note_page(self, page: str, channel: Channel | None) -> None:
        if page and channel is not None:
            self._pages[page] = channel
            if len(self._pages) > _MOST_PAGES:
                del self._pages[next(iter(self._pages))]

    async def _ask(self, channel: Channel, wanted: Input, channels: Sequence[Channel]) -> Parts:
        if len(self._open) >= MOST_AT_ONCE:
            raise RpcError(INTERNAL_ERROR, "too many questions wait for an answer")
        # The answer to a question that was taken back is none to the next.
        key = str(next(self._questions))
        asking = asyncio.ensure_future(channel.ask({key: wanted}))
        self._open[asking] = channels
        try:
            return ((await asking)[key],)
        except asyncio.CancelledError:
            if asking in self._open:
                raise
            raise RpcError(INTERNAL_ERROR, _CALLED_OFF) from None
        except Fault as fault:
            if isinstance(fault.__cause__, RpcError):
                # The client's own word.
                raise fault.__cause__ from fault
            code = METHOD_NOT_FOUND if fault.reason == "client-cannot-answer" else INTERNAL_ERROR
            raise RpcError(code, fault.message) from fault
        finally:
            self._open.pop(asking, None)

    async def called_off(self, channel: Channel | None) -> None:
        """A client wants no answer any more: what only this request was asked for is withdrawn."""
        others = [each for each in self.audience.under_way() if each is not channel]
        moot = [
            asking
            for asking, channels in self._open.items()
            if channel in channels and not any(each in others for each in channels)
        ]
        for asking in moot:
            del self._open[asking]
            asking.cancel()
        if moot:
            # The client hears it before the stream of its request ends.
            await asyncio.wait(moot)

    @property
    def _hide(self) -> Redact:
        """Takes out what the child may not tell of what it knows from us."""
        return self.link.hidden.book if self.link is not None else NO_SECRETS

    def _channel(self) -> Channel | None:
        """Whom the child means: the client of the request in question, or the only one there is."""
        about = self._about()
        # Late words about a request that has ended are for nobody.
        return self.audience.only() if about is None else self.audience.channels.get(about)

    def _about(self) -> MessageId:
        """Which request the message being read belongs to: some transports tell."""
        return self.link.peer.about if self.link is not None else None

    # Notifications

    def notification(self, method: str, params: Raw) -> None:
        """Pass on what concerns a client. A child that talks nonsense is not listened to."""
        if is_long(method, params):
            self._too_long(method, params)
            return
        try:
            if method == "notifications/progress":
                self._progress(params)
            elif method == "notifications/message":
                self._log(params)
            elif method == "notifications/elicitation/complete":
                self._visited(params)
            elif method == "notifications/resources/updated":
                self.on_updated(_read_updated(params).uri)
            elif method in CHANGED:
                self.on_changed(CHANGED[method])
        except msgspec.MsgspecError:
            return

    def _too_long(self, method: str, params: Raw) -> None:
        """What everybody would have to wait for is not read; that it was said is."""
        channel = self._channel() if method == "notifications/message" else None
        if channel is not None:
            length = len(memoryview(params))
            words = (
                f"a log message of {length:,} bytes is left out: {MOST_NOTE_BYTES:,} may be sent"
            )
            said = {"level": "warning", "data": words}
            channel.log(*marked_log(self._child, Raw(encode(said)), self._hide))

    def _progress(self, params: Raw) -> None:
        channel = self.audience.channels.get(_read_progress(params).token)
        if channel is None:
            return
        channel.progress(discreet(params, self._hide))

    def _visited(self, params: Raw) -> None:
        told = discreet(params, self._hide)
        channel = self._pages.pop(_read_page(told).id, None)
        if channel is not None:
            channel.visited(told)

    def _log(self, params: Raw) -> None:
        channel = self._channel()
        if channel is not None:
            channel.log(*marked_log(self._child, params, self._hide))
