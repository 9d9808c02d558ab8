"""The last bytes of a stream that nobody else reads."""

import asyncio
from collections import deque

_DEFAULT_BYTES = 64 * 1024


class Tail(asyncio.Protocol):
    """Keeps a stream flowing and remembers its end."""

    def __init__(self, limit: int = _DEFAULT_BYTES) -> None:
        self._limit = limit
        self._chunks: deque[bytes] = deque()
        self._held = 0
        self.seen_bytes = 0

    def data_received(self, data: bytes) -> None:
        self.seen_bytes += len(data)
        self._chunks.append(data[-self._limit :])
        self._held += len(self._chunks[-1])
        while self._held - len(self._chunks[0]) >= self._limit:
            self._held -= len(self._chunks.popleft())

    def text(self, limit: int = 2_000) -> str:
        """The last characters, from a line's beginning where there is one."""
        data = b"".join(self._chunks)[-limit * 4 :]
        text = data.decode("utf-8", "replace").strip()
        if len(text) <= limit:
            return text
        cut = text[-limit:]
        return cut[cut.find("\n") + 1 :]
