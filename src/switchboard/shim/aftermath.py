"""What is left to do when a daemon has ended: its clients' calls, and a place for the next daemon.

The ledger has every byte that was taken from the client since its last checkpoint, and every byte
that it was to get. So it is known which requests are open: exactly those get an answer here, or are
asked again where that can do no harm.
"""

import os
from select import POLLOUT, poll

from switchboard.ipc.json_text import listed, quoted, read, scan, written
from switchboard.ipc.ledger import Ledger
from switchboard.wire.frames import FrameReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]
    MessageId = int | str | float | None

# They change nothing, or say the same again.
_REPEATABLE = {
    *("initialize", "server/discover", "ping", "logging/setLevel"),
    *("tools/list", "prompts/list", "resources/list", "resources/templates/list"),
    *("resources/subscribe", "resources/unsubscribe"),
}
_INTRODUCING = {
    *("initialize", "logging/setLevel"),
    *("resources/subscribe", "resources/unsubscribe"),
}
_LISTEN = "subscriptions/listen"
_CANCELLED = "notifications/cancelled"
_ID = b'{"jsonrpc":"2.0","id":'
_TAKEN_BACK = b'{"jsonrpc":"2.0","method":"notifications/cancelled"'
# What only a question of our own has, whether a call may run: `surface.asking.approval_form`.
_APPROVAL = "switchboard/approval"
_INTERNAL_ERROR = -32603
_WORDS = "the daemon of Switchboard ended while this call was open; it may or may not have run"
_HINT = "see whether it had an effect before you call again"
_ASKED_WORDS = (
    "the daemon of Switchboard ended while the user was asked about this call; it has not run"
)
_ASKED_HINT = "make the call again to ask again"
# The next daemon says what is too large.
_NO_LIMIT = 1 << 60


def settle(files: "tuple[int, ...]", stream: int) -> bool:
    """Answer what nobody will answer any more, and make the ledger ready for the next daemon.

    Gives False when the client has left. Raises `OtherLedger`, `OSError`.
    """
    book, sent = files
    ledger = Ledger(os.dup(book), os.dup(sent))
    try:
        left = _Left(ledger)
        ledger.add(left.last_words())
        if not _sent_all(ledger, stream):
            return False
        ledger.turn(left.checkpoint(), left.unheard(), is_read=False)
        return True
    finally:
        ledger.close()


def _sent_all(ledger: Ledger, stream: int) -> bool:
    waiting = poll()
    waiting.register(stream, POLLOUT)
    try:
        while ledger.unsent:
            try:
                ledger.send(stream)
            except BlockingIOError:
                waiting.poll()
    except OSError:
        return False
    return True


class _Left:
    """What a daemon has left open."""

    def __init__(self, ledger: Ledger) -> None:
        self._before = _as_object(read(ledger.checkpoint().decode()))
        frames = FrameReader(_NO_LIMIT)
        heard = frames.feed(ledger.heard())
        self._held = frames.held()
        framing: str | None = self._before.get("framing")
        self._framing = framing or (frames.style if heard else None)
        self._next_id: int = self._before.get("next_id", 1)
        # Questions of the daemon to the client, and the calls that wait for the answer to one.
        self._asked: set[MessageId] = set(self._before.get("asked", ()))
        self._waiting: dict[MessageId, MessageId] = {}
        # How often each id was answered, and which with a result.
        self._answers: dict[MessageId, int] = {}
        self._succeeded: set[MessageId] = set()
        self._cancelled: set[MessageId] = set()
        self._read_said(FrameReader(_NO_LIMIT).feed(ledger.said()))
        self._kept: dict[tuple[str, ...], str] = {
            _key(text, read(text)): text for text in self._before.get("introduction", ())
        }
        self._listening: dict[MessageId, str] = {
            read(text)["id"]: text for text in self._before.get("listening", ())
        }
        self._open: list[MessageId] = [
            each for each in self._before.get("open", ()) if not self._is_answered(each)
        ]
        self._again: list[str] = []
        self._read_heard(heard)

    # What was said to the client

    def _read_said(self, messages: "list[bytes]") -> None:
        for message in messages:
            if message.startswith(_TAKEN_BACK):
                # Decided elsewhere: from now on the call may run.
                params = _as_object(read(message.decode("utf-8", "replace")).get("params"))
                self._waiting.pop(_as_id(params.get("requestId")), None)
            if not message.startswith(_ID):
                continue
            text = message.decode("utf-8", "replace")
            number, end = scan(text, len(_ID))
            if text.startswith(',"method"', end):
                self._asked.add(number)
                self._next_id = max(self._next_id, number + 1)
                if _APPROVAL in text:
                    self._waiting[number] = _about(read(text))
                continue
            self._answers[number] = self._answers.get(number, 0) + 1
            if text.startswith(',"result"', end):
                self._succeeded.add(number)

    def _is_answered(self, number: "MessageId") -> bool:
        """Whether there is an answer for it, which then is its own."""
        count = self._answers.get(number, 0)
        self._answers[number] = count - 1
        return count > 0

    # What the client said

    def _read_heard(self, messages: "list[bytes]") -> None:
        for message in messages:
            text = message.decode("utf-8", "replace")
            value = read(text)
            batch = _as_list(value)
            for part in batch:
                self._hear(_as_object(part), "")
            if not batch:
                self._hear(_as_object(value), text)
        self._open = [each for each in self._open if each not in self._cancelled]
        for number in self._cancelled:
            self._listening.pop(number, None)

    def _hear(self, message: "Json", text: str) -> None:
        method = message.get("method")
        if method is None:
            number = _as_id(message.get("id"))
            self._asked.discard(number)
            self._waiting.pop(number, None)
        elif "id" in message:
            self._hear_request(message, text)
        elif method == _CANCELLED:
            number = _as_id(_as_object(message.get("params")).get("requestId"))
            if number is not None:
                self._cancelled.add(number)

    def _hear_request(self, message: "Json", text: str) -> None:
        method, number = message["method"], _as_id(message["id"])
        if self._is_answered(number):
            if number in self._succeeded:
                self._keep(message, text)
        elif method == _LISTEN and text:
            self._listening[number] = text
        elif method in _REPEATABLE and text:
            self._again.append(text)
        else:
            self._open.append(number)

    def _keep(self, message: "Json", text: str) -> None:
        key = _key(text, message)
        if message["method"] == "resources/unsubscribe":
            self._kept.pop(key, None)
        elif key:
            self._kept[key] = text

    # What is to be done

    def last_words(self) -> "list[bytes]":
        """Errors for the calls that are open, and the end of questions that nobody asks now."""
        unknown, asked = _error(_WORDS, _HINT), _error(_ASKED_WORDS, _ASKED_HINT)
        waiting = self._waiting.values()
        errors = [(each, asked if each in waiting else unknown) for each in self._open]
        texts = [f'{{"jsonrpc":"2.0","id":{written(each)},"error":{why}}}' for each, why in errors]
        texts += [
            f'{{"jsonrpc":"2.0","method":"{_CANCELLED}","params":{{"requestId":{written(each)}}}}}'
            for each in self._asked
        ]
        if self._framing == "content-length":
            return [f"Content-Length: {len(text)}\r\n\r\n{text}".encode() for text in texts]
        return [f"{text}\n".encode() for text in texts]

    def checkpoint(self) -> bytes:
        """How the session stands: `surface.resuming.SessionCheckpoint`."""
        # The handshake comes before what it is about.
        kept = sorted(self._kept, key=lambda key: key != ("initialize",))
        members = (
            f'"framing":{written(self._framing)}',
            f'"introduction":{listed([self._kept[key] for key in kept])}',
            f'"listening":{listed(list(self._listening.values()))}',
            f'"next_id":{self._next_id}',
        )
        return f"{{{','.join(members)}}}".encode()

    def unheard(self) -> bytes:
        """What the next daemon hears first: what can be asked again, then half a message."""
        return "".join(f"{text}\n" for text in self._again).encode() + self._held


def _error(words: str, hint: str) -> str:
    data = f'{{"code":"UNAVAILABLE","reason":"daemon-ended","hint":{quoted(hint)}}}'
    return f'{{"code":{_INTERNAL_ERROR},"message":{quoted(words)},"data":{data}}}'


def _about(question: "Json") -> "MessageId":
    """The request whose call a question is about."""
    meta = _as_object(_as_object(question.get("params")).get("_meta"))
    return _as_object(meta.get(_APPROVAL)).get("request")


def _key(text: str, message: "Json") -> "tuple[str, ...]":
    """What a request of an introduction is about; nothing if it is no part of one."""
    method = message.get("method")
    if not text or method not in _INTRODUCING:
        return ()
    if method in ("initialize", "logging/setLevel"):
        return (method,)
    return ("resources/subscribe", str(_as_object(message.get("params")).get("uri")))


def _as_id(value: object) -> "MessageId":
    """An id that an answer can bear. What is none is answered as JSON-RPC has it: with `null`."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    return None


def _as_object(value: "Any") -> "Json":
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] - JSON keys are strings


def _as_list(value: "Any") -> "list[Any]":
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]
