"""Whether the other side has taken what it was sent: read, where the system can tell."""

import asyncio
import os
from collections.abc import AsyncGenerator

import pytest

from support.processes import until_true
from switchboard.surface.stdio import connect
from switchboard.wire.pipes import Loss, StreamPipe

MESSAGE = b'{"an":"answer"}'
# More than a pipe holds.
LONG = b'"' + b"x" * 1_000_000 + b'"'


class Client:
    """The two ends that a client has of our streams."""

    def __init__(self) -> None:
        self._ours, self.writing = os.pipe()
        self.reading, self._out = os.pipe()
        self.told: list[str] = []
        self.losses: list[Loss] = []
        self._has_left = False
        self._pipe: StreamPipe | None = None

    def receive(self, message: bytes) -> None:
        self.told.append(f"said {message.decode()}")

    def press(self, on: bool) -> None:
        """However slowly it reads."""

    def lose(self, loss: Loss) -> None:
        self.losses.append(loss)

    async def sent(self, message: bytes = MESSAGE) -> StreamPipe:
        """Give the pipe after it has sent this to the client."""
        pipe = self._pipe = StreamPipe()
        pipe.attach(self)
        await connect(pipe, self._ours, self._out)
        pipe.send((message,))
        pipe.when_taken(lambda: self.told.append("taken"))
        return pipe

    def read(self, most: int = 1 << 20) -> bytes:
        return os.read(self.reading, most)

    def leave(self) -> None:
        if not self._has_left:
            self._has_left = True
            os.close(self.reading)
            os.close(self.writing)

    async def end(self) -> None:
        self.leave()
        if self._pipe is not None:
            self._pipe.abort(Loss())
        await asyncio.sleep(0.01)


@pytest.fixture
async def client() -> AsyncGenerator[Client]:
    made = Client()
    yield made
    await made.end()


async def test_an_answer_is_taken_when_it_was_read(client: Client) -> None:
    await client.sent()
    await asyncio.sleep(0.1)
    assert client.told == []
    assert client.read() == MESSAGE + b"\n"
    await until_true(lambda: client.told == ["taken"])


async def test_what_the_client_says_next_comes_after_what_it_has_read(client: Client) -> None:
    await client.sent()
    await asyncio.sleep(0)
    client.read()
    os.write(client.writing, b"{}\n")
    await until_true(lambda: len(client.told) == 2)
    assert client.told == ["taken", "said {}"]


async def test_a_client_that_reads_and_leaves_at_once_has_taken_it(client: Client) -> None:
    await client.sent()
    for _ in range(5):
        await asyncio.sleep(0)
    client.read()
    client.leave()
    await until_true(lambda: bool(client.losses))
    assert client.told == ["taken"]


@pytest.mark.parametrize("message", [MESSAGE, LONG])
async def test_a_client_that_dies_before_it_reads_has_not(client: Client, message: bytes) -> None:
    await client.sent(message)
    await asyncio.sleep(0.05)
    if message is LONG:
        client.read(1000)
    client.leave()
    await until_true(lambda: bool(client.losses))
    await asyncio.sleep(0.05)
    assert client.told == []


async def test_a_long_answer_is_taken_when_all_of_it_was_read(client: Client) -> None:
    await client.sent(LONG)
    left = len(LONG) + 1
    while left:
        assert client.told == []
        left -= len(await asyncio.to_thread(client.read, min(left, 1 << 16)))
    await until_true(lambda: client.told == ["taken"])


async def test_nothing_of_it_keeps_the_stream_open(client: Client) -> None:
    pipe = await client.sent()
    await asyncio.sleep(0.05)
    pipe.close()
    pipe.lose(Loss())
    assert await asyncio.to_thread(client.read) == MESSAGE + b"\n"
    assert await asyncio.wait_for(asyncio.to_thread(client.read), 60) == b""
