"""A client that does not read: what is said meanwhile does not pile up, and no news is lost."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from fakes.boards import serving
from fakes.events import MemoryEvents
from switchboard.surface.stdio import MOST_NEWS, StreamClient
from switchboard.wire.pipes import StreamPipe

CHANGED = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"


class Sink(asyncio.WriteTransport):
    """Takes what is written, and says nothing of how fast."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.lines += bytes(data).splitlines()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """None that count here."""

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        """Nothing to close."""


@asynccontextmanager
async def slow_client(folder: Path) -> AsyncGenerator[tuple[StreamClient, StreamPipe, Sink]]:
    async with serving(folder) as desk:
        pipe, sink = StreamPipe(), Sink()
        pipe.write_to(sink)
        client = StreamClient(
            pipe,
            desk.runtime.boards,
            MemoryEvents(),
            workspace=str(folder),
            instructions=lambda: "",
        )
        yield client, pipe, sink
        await client.aclose()


async def test_news_that_repeat_themselves_are_told_once_when_the_client_reads_again(
    tmp_path: Path,
) -> None:
    async with slow_client(tmp_path) as (client, pipe, sink):
        client.notify(CHANGED, (b"{}",))
        pipe.pause_writing()
        for _ in range(10_000):
            client.notify(CHANGED, (b"{}",))
            client.notify(UPDATED, (b'{"uri":"a://1"}',))
            client.notify("notifications/message", (b"{}",))
        await asyncio.sleep(0)
        assert len(sink.lines) == 1
        pipe.resume_writing()
        client.notify(CHANGED, (b"{}",))
        await asyncio.sleep(0)
        said = [json.loads(line)["method"] for line in sink.lines]
        assert said == [CHANGED, CHANGED, UPDATED, CHANGED]


async def test_a_child_that_names_ever_other_parts_of_a_resource_does_not_fill_memory(
    tmp_path: Path,
) -> None:
    async with slow_client(tmp_path) as (client, pipe, sink):
        pipe.pause_writing()
        client.notify(CHANGED, (b"{}",))
        for part in range(10_000):
            client.notify(UPDATED, (b'{"uri":"a://1/%d"}' % part,))
        pipe.resume_writing()
        await asyncio.sleep(0)
        said = [json.loads(line) for line in sink.lines]
        assert len(said) == MOST_NEWS
        assert said[0]["method"] == CHANGED
        assert said[-1]["params"] == {"uri": "a://1/9999"}
