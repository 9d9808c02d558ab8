"""Real pipes: framing of answers, batches of writes, pressure from who does not read, ends."""

import asyncio
import json
import os
import resource
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from io import FileIO
from typing import Any

import pytest
from msgspec import Raw

from support.requirements import attack, requirement
from switchboard.wire.frames import MAX_MESSAGE_BYTES
from switchboard.wire.messages import MessageId, Parts
from switchboard.wire.peer import Peer
from switchboard.wire.pipes import Loss, StreamPipe

PATIENCE = 15.0


class Ends:
    """A peer on a pair of real pipes, and our ends of them."""

    def __init__(self, peer: Peer, to_peer: FileIO, from_peer: FileIO) -> None:
        self.peer = peer
        self.to_peer = to_peer
        self.from_peer = from_peer

    def write(self, data: bytes) -> None:
        self.to_peer.write(data)

    async def read(self, wanted: int = 1) -> bytes:
        """Read until there are at least this many bytes."""
        data = b""
        async with asyncio.timeout(PATIENCE):
            while len(data) < wanted:
                chunk = await asyncio.to_thread(os.read, self.from_peer.fileno(), 1 << 20)
                if not chunk:
                    break
                data += chunk
        return data


@asynccontextmanager
async def connected(answer: Any, *, style: Any = None, **more: Any) -> AsyncGenerator[Ends]:
    pipe = StreamPipe(style=style)
    peer = Peer(pipe, on_request=answer, **more)
    pipe.attach(peer)
    loop = asyncio.get_running_loop()
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    with (
        FileIO(theirs_in) as reading,
        FileIO(theirs_out, "w") as writing,
        FileIO(ours_out, "w") as to_peer,
        FileIO(ours_in) as from_peer,
    ):
        await loop.connect_write_pipe(pipe.outlet, writing)
        reader, _ = await loop.connect_read_pipe(lambda: pipe, reading)
        try:
            yield Ends(peer, to_peer, from_peer)
        finally:
            # What still waits to be written has nobody to go to.
            from_peer.close()
            await peer.aclose()
            reader.close()
            for _ in range(5):
                await asyncio.sleep(0)


def echo(_method: str, params: Raw, _id: MessageId) -> Parts:
    return (params,)


def request(message_id: int, params: str = "{}") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{message_id},"method":"echo","params":{params}}}'.encode()


@requirement("S2.04", "S2.56")
async def test_a_client_that_begins_with_headers_is_answered_with_headers() -> None:
    async with connected(echo) as ends:
        body = request(1)
        ends.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        expected = b'{"jsonrpc":"2.0","id":1,"result":{}}'
        framed = b"Content-Length: %d\r\n\r\n%b" % (len(expected), expected)
        assert await ends.read(len(framed)) == framed
        ends.write(request(2) + b"\n")
        assert (await ends.read()).startswith(b"Content-Length:")


@requirement("S2.03")
async def test_a_client_that_begins_with_a_line_is_answered_with_lines() -> None:
    async with connected(echo) as ends:
        ends.write(request(1) + b"\n")
        assert await ends.read() == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


@requirement("S2.62")
async def test_a_pipe_that_is_told_so_announces_every_message() -> None:
    async with connected(echo, style="content-length") as ends:
        ends.peer.notify("notifications/initialized")
        body = b'{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}'
        assert await ends.read() == b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def test_answers_come_whole_and_in_order_when_many_are_asked_at_once() -> None:
    async with connected(echo) as ends:
        ends.write(b"".join(request(number) + b"\n" for number in range(200)))
        data = b""
        while data.count(b"\n") < 200:
            data += await ends.read()
        assert [json.loads(line)["id"] for line in data.splitlines()] == list(range(200))


async def test_an_answer_of_many_megabytes_passes_byte_for_byte() -> None:
    payload = b'{"n":12345678901234567890,"u":"\\u00e9","b":1,"a":"' + b"z" * (6 << 20) + b'"}'

    def large(_method: str, _params: Raw, _id: MessageId) -> Parts:
        return (Raw(payload),)

    async with connected(large) as ends:
        ends.write(request(1) + b"\n")
        expected = b'{"jsonrpc":"2.0","id":1,"result":%b}\n' % payload
        assert await ends.read(len(expected)) == expected


@attack("D5")
async def test_a_client_that_does_not_read_is_not_read_and_memory_stays_bounded() -> None:
    """200 MB of answers are asked for; a few megabytes of them may wait here, and no more."""
    answers = 0
    block = Raw(b'"' + b"x" * (1 << 20) + b'"')

    def large(_method: str, _params: Raw, _id: MessageId) -> Parts:
        nonlocal answers
        answers += 1
        return (block,)

    async with connected(large, throttled=True) as ends:
        line = request(1, '{"pad":"%s"}' % ("p" * 60_000)) + b"\n"
        os.set_blocking(ends.to_peer.fileno(), False)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        left, refused = line * 200, 0
        while left and refused < 100:
            try:
                left = left[os.write(ends.to_peer.fileno(), left[:65536]) :]
            except BlockingIOError:
                refused += 1
            # One turn of the loop, so that the peer may take what was written.
            await asyncio.sleep(0)
        grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        assert left
        assert answers <= 20
        assert grown_mb < 60


async def test_a_message_over_the_limit_ends_the_conversation_and_says_why() -> None:
    lost: asyncio.Future[Loss] = asyncio.get_running_loop().create_future()
    async with connected(echo, on_lost=lost.set_result) as ends:
        ends.write(b"Content-Length: %d\r\n\r\n" % (MAX_MESSAGE_BYTES + 1))
        async with asyncio.timeout(PATIENCE):
            assert (await lost).reason == "too-large"
        assert await ends.read() == b""


async def test_a_client_whose_message_is_too_large_is_told_before_it_is_left() -> None:
    async with connected(echo, throttled=True) as ends:
        ends.write(b"Content-Length: %d\r\n\r\n" % (MAX_MESSAGE_BYTES + 1))
        answer = json.loads(await ends.read())
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert "larger" in answer["error"]["message"]


async def test_the_end_of_the_stream_is_told_once() -> None:
    losses: list[Loss] = []
    gone = asyncio.Event()

    def lose(loss: Loss) -> None:
        losses.append(loss)
        gone.set()

    async with connected(echo, on_lost=lose) as ends:
        ends.to_peer.close()
        async with asyncio.timeout(PATIENCE):
            await gone.wait()
    assert [loss.reason for loss in losses] == ["closed"]


async def test_a_reader_that_goes_away_is_noticed_at_the_next_word() -> None:
    lost: asyncio.Future[Loss] = asyncio.get_running_loop().create_future()
    async with connected(echo, on_lost=lost.set_result) as ends:
        ends.from_peer.close()
        ends.write(request(1) + b"\n")
        async with asyncio.timeout(PATIENCE):
            await lost


@pytest.mark.parametrize("wait", [True, False])
async def test_what_was_sent_before_the_end_still_goes_out(wait: bool) -> None:
    async with connected(echo) as ends:
        ends.peer.notify("notifications/last")
        if wait:
            await asyncio.sleep(0)
        await ends.peer.aclose()
        assert b"notifications/last" in await ends.read()
        ends.peer.notify("notifications/too-late")
        assert await ends.read() == b""


@attack("D3")
async def test_others_take_their_turn_while_a_flood_is_worked_off() -> None:
    """In its order, to the last message, with the end behind it."""
    seen: list[int] = []
    turns = 0
    in_turn = Counter[int]()
    lost = asyncio.get_running_loop().create_future()

    def count() -> None:
        nonlocal turns
        if not lost.done():
            turns += 1
            asyncio.get_running_loop().call_soon(count)

    def answer(_method: str, _params: Raw, _id: MessageId) -> Parts:
        return (b"{}",)

    def note(_method: str, params: Raw) -> None:
        seen.append(int(bytes(params)))
        in_turn[turns] += 1

    async with connected(
        answer,
        style="newline",
        on_notification=note,
        on_lost=lost.set_result,
    ) as ends:
        flood = b"".join(b'{"method":"m","params":%d}\n' % number for number in range(2_000))
        count()
        await asyncio.to_thread(ends.write, flood)
        ends.to_peer.close()
        async with asyncio.timeout(PATIENCE):
            await lost
        assert seen == list(range(2_000))
        assert max(in_turn.values()) <= 256
