"""What a process prints on one stream: counted, kept in part, and passed on while it comes.

Of each stream its beginning and its end are kept. What is kept is bounded, however much there is.
"""

import asyncio
import codecs
from collections.abc import Awaitable, Callable
from typing import cast

from switchboard.core.privacy.redaction import redacted_text
from switchboard.core.privacy.secrets import KnownSecrets
from switchboard.core.privacy.stream_redaction import StreamRedactor
from switchboard.procs.tail import Tail

KEPT_BYTES = 512 * 1024
_LAST_WORDS = 2_000

# Takes a piece of text. What it gives back, if anything, is waited for before more is read.
Tell = Callable[[str], Awaitable[None] | None]


class Output(Tail):
    """Reads one stream of a process."""

    def __init__(self, secrets: KnownSecrets, tell: Tell | None = None) -> None:
        super().__init__()
        self.seen_bytes: int = 0
        self._secrets = secrets
        self._tell = tell
        # So much of the end may be the rest of a secret that began before it.
        self._margin = 4 * secrets.longest
        self._head = bytearray()
        self._end = bytearray()
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._redactor = StreamRedactor(secrets)
        self._transport: asyncio.ReadTransport | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._waits_for_nobody = False
        self._is_full = False
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    # The protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        self.seen_bytes += len(data)
        if len(self._head) < KEPT_BYTES:
            self._head += data[: KEPT_BYTES - len(self._head)]
        self._end += data[-KEPT_BYTES - self._margin :]
        if len(self._end) > 2 * (KEPT_BYTES + self._margin):
            del self._end[: -KEPT_BYTES - self._margin]
        if self._tell is not None:
            self._pass_on(self._redactor.feed(self._decode(data)))

    def eof_received(self) -> None:
        self._over()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._over()

    def _over(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    # Passing on

    def _pass_on(self, text: str) -> None:
        if not text or self._tell is None:
            return
        if self._waits_for_nobody and self._is_full:
            # Who does not read is not told more: it would have to be kept for them.
            return
        busy = self._tell(text)
        self._is_full = busy is not None
        if busy is None or self._transport is None:
            return
        waiting = asyncio.ensure_future(busy)
        if self._waiting is not None or self._waits_for_nobody:
            waiting.cancel()
        else:
            # The process waits as soon as its pipe is full.
            self._transport.pause_reading()
            self._waiting = waiting
            self._waiting.add_done_callback(lambda _: self._go_on())

    def _go_on(self) -> None:
        if self._waiting is not None:
            self._is_full = self._waiting.cancelled()
            self._waiting = None
            if self._transport is not None and not self._transport.is_closing():
                self._transport.resume_reading()

    def release(self) -> None:
        """Read on, whoever is busy: the process is being ended."""
        self._waits_for_nobody = True
        if self._waiting is not None:
            self._waiting.cancel()

    def finish(self) -> None:
        """Pass on what is left. Nothing comes after this."""
        self.release()
        if self._transport is not None:
            self._transport.close()
        self._over()
        if self._tell is not None:
            self._pass_on(self._redactor.feed(self._decode(b"", True)) + self._redactor.flush())
            self._tell = None

    # What is kept

    def text(self, limit: int = _LAST_WORDS) -> str:
        """The last characters as they came, for who looks for the reason of a failure."""
        return bytes(self._end[-limit * 4 :]).decode("utf-8", "replace").strip()[-limit:]

    def kept(self) -> tuple[str, int]:
        """What can be told of it, and how many known secrets were taken out."""
        if self.seen_bytes <= KEPT_BYTES:
            text, count = self._secrets.counted(self._head.decode("utf-8", "replace"))
            return redacted_text(text), count
        return self._beginning_and_end()

    def _beginning_and_end(self) -> tuple[str, int]:
        redactor = StreamRedactor(self._secrets)
        # What it holds back may be the beginning of a secret, and is not asked for.
        beginning = redactor.feed(self._head.decode("utf-8", "replace"))
        end = bytes(self._end[-KEPT_BYTES - self._margin :])
        text, count = self._secrets.counted(end.decode("utf-8", "replace"))
        # From a line's beginning, if there is one, and not from within a secret.
        text = text[self._margin :]
        text = redacted_text(text[text.find("\n", 0, KEPT_BYTES // 8) + 1 :])
        left_out = max(0, self.seen_bytes - len(beginning.encode()) - len(text.encode()))
        mark = f"\n[… {left_out:,} bytes left out …]\n"
        return beginning.rstrip("\n") + mark + text, redactor.count + count
