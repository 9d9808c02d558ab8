"""Reading a stream of events over HTTP, and remembering where it ended."""

import asyncio
import contextlib
from collections.abc import Callable

import httpx2
from msgspec import Struct

from switchboard.wire.http_headers import SSE_TYPE, media_type
from switchboard.wire.sse import EventReader, ServerEvent

PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
# After an answer the end of its stream follows at once; waiting for it saves the connection.
LAST_BYTES_S = 0.5

_OK = 200


class StreamPosition(Struct):
    """How far a stream was read, and how long to wait before it is taken up again."""

    event_id: str = ""
    pause_s: float = PAUSE_S

    def note(self, event: ServerEvent) -> None:
        """Remember the position behind this event."""
        self.event_id = event.id or self.event_id
        if event.retry_ms is not None:
            # No server decides how much work it makes us.
            self.pause_s = min(max(event.retry_ms / 1000, PAUSE_S), LONGEST_PAUSE_S)


def is_event_stream(response: httpx2.Response) -> bool:
    """Whether events follow."""
    kind = media_type(response.headers.get("content-type", ""))
    return response.status_code == _OK and kind == SSE_TYPE


async def take_events(
    response: httpx2.Response,
    position: StreamPosition,
    *,
    receive: Callable[[bytes], None],
    is_done: Callable[[], bool],
) -> None:
    """Hand over every message until the stream ends or nothing more is expected of it.

    Raises FrameTooLarge. A stream that breaks off is an error only if it cannot be taken up again.
    """
    reader = EventReader()
    chunks = response.aiter_bytes()
    try:
        async for chunk in chunks:
            for event in reader.feed(chunk):
                position.note(event)
                if event.data and event.name == "message":
                    receive(event.data)
            if is_done():
                break
    except httpx2.TransportError:
        if not position.event_id:
            raise
        return
    with contextlib.suppress(TimeoutError, httpx2.TransportError):
        async with asyncio.timeout(LAST_BYTES_S):
            async for _ in chunks:
                pass
