"""Connections that take up room without a request: they end, and nobody else notices."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from edges.board import HEADERS, TOKEN, Served, initialize, served_board

from support.requirements import attack
from switchboard.surface.http.connection import Bounds

QUICK = Bounds(head_s=0.4, body_s=0.6, connections=12)


@pytest.fixture
async def quick(tmp_path: Path) -> AsyncGenerator[Served]:
    async with served_board(tmp_path, bounds=QUICK) as board:
        yield board


@asynccontextmanager
async def connected(
    board: Served, *sent: bytes
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    port = urlsplit(board.url).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for each in sent:
        writer.write(each.replace(b"PORT", str(port).encode()))
        await writer.drain()
    try:
        yield reader, writer
    finally:
        writer.close()


async def ended(reader: asyncio.StreamReader) -> bool:
    try:
        return await asyncio.wait_for(reader.read(), 10) == b""
    except ConnectionError:
        return True


HEAD = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAuthorization: Bearer %s\r\n"
    b"Content-Type: application/json\r\n" % TOKEN.encode()
)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /mcp",
        HEAD,
        HEAD + b"Content-Length: 9\r\n\r\n",
        HEAD + b"Content-Length: 9\r\n\r\n{",
    ],
)
@attack("F2")
async def test_whoever_does_not_finish_is_cut_off(quick: Served, sent: bytes) -> None:
    async with connected(quick, sent) as (reader, _):
        assert await ended(reader)


async def test_a_head_that_comes_byte_by_byte_gets_no_more_time(quick: Served) -> None:
    async with connected(quick) as (reader, writer):
        reading = asyncio.ensure_future(ended(reader))
        for letter in HEAD:
            if reading.done():
                break
            writer.write(bytes([letter]))
            await asyncio.sleep(0.05)
        assert await reading


async def test_those_that_wait_make_room_for_those_that_ask(quick: Served) -> None:
    async with asyncio.timeout(20):
        idle = [connected(quick) for _ in range(40)]
        opened = [await each.__aenter__() for each in idle]
        async with quick.client() as http:
            response = await http.post(quick.url, json=initialize())
            assert response.status_code == 200
        for each in idle:
            await each.__aexit__(None, None, None)
        assert len(opened) == 40


async def test_a_second_request_on_the_connection_has_its_own_time(quick: Served) -> None:
    async with quick.client() as http:
        for _ in range(2):
            assert (await http.post(quick.url, json=initialize())).status_code == 200
            # Longer than a head may take: an idle connection is not one that dawdles.
            await asyncio.sleep(QUICK.head_s * 1.5)


@attack("HP")
async def test_two_lengths_for_one_body_are_refused(quick: Served) -> None:
    sent = HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    async with connected(quick, sent) as (reader, _):
        answer = await asyncio.wait_for(reader.read(), 10)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"exclude each other" in answer


# Behind each of them is a second request, for whoever reads the first one otherwise.
HIDDEN = b"GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n"


@pytest.mark.parametrize(
    "lines",
    [
        b"Transfer-Encoding: chunked\r\nContent-Length: 4",
        b"Transfer-Encoding: chunked, chunked",
        b"Transfer-Encoding: identity, chunked",
        b"Transfer-Encoding: xchunked",
        b"Transfer-Encoding : chunked",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        b"Content-Length: 4\r\nContent-Length: 5",
        b"Content-Length: 4, 5",
        b"Content-Length: +4",
        b"Content-Length: -4",
        b"Content-Length: 0x4",
        b"Content-Length: 99999999999999999999999",
        b"Content-Length: 4\r\n Transfer-Encoding: chunked",
        b"Content-Length: 4\nTransfer-Encoding: chunked",
        b"Content-Length: 4\x00",
        b"X: a\x00b\r\nContent-Length: 4",
        b"X: " + b"a" * 200_000,
    ],
    ids=lambda lines: repr(lines[:60]),
)
@attack("HP")
async def test_a_head_that_can_be_read_in_two_ways_is_refused_and_nothing_behind_it_is_read(
    quick: Served, lines: bytes
) -> None:
    sent = HEAD + lines + b"\r\n\r\n0\r\n\r\n" + HIDDEN
    answer = b""
    with contextlib.suppress(ConnectionError):
        async with connected(quick, sent) as (reader, _), asyncio.timeout(10):
            answer = await reader.read()
    # Or the connection was ended without a word, while we were still sending.
    assert answer == b"" or answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))
    assert answer.count(b"HTTP/1.1 ") <= 1


@pytest.mark.parametrize("to", [b"h2c", b"websocket"])
@attack("HP")
async def test_a_connection_stays_what_it_is(quick: Served, to: bytes) -> None:
    lines = b"Connection: Upgrade\r\nUpgrade: %s\r\nContent-Length: 2\r\n\r\n{}" % to
    async with connected(quick, HEAD + lines) as (reader, _), asyncio.timeout(10):
        assert not (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 101")


async def test_junk_after_an_answer_ends_the_connection_in_silence(
    quick: Served, caplog: pytest.LogCaptureFixture
) -> None:
    sent = HEAD.replace(b"/mcp", b"/nowhere") + b"Transfer-Encoding: chunked\r\n\r\n"
    async with connected(quick, sent) as (reader, writer):
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
        assert answer.startswith(b"HTTP/1.1 404 ")
        writer.write(b"5\r\n\r\xae\xae\xae\xaejunk\r\n\r\n")
        await asyncio.wait_for(reader.read(), 10)
    assert "data_received() call failed" not in caplog.text


@attack("HB")
async def test_unfinished_bodies_together_are_bounded(quick: Served) -> None:
    quick.surface.unfinished.most = 1000
    head = HEAD + b"Content-Length: 900\r\n\r\n"
    async with (
        connected(quick, head, b" " * 600),
        connected(quick, head, b" " * 600) as (reader, _),
    ):
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
        assert answer.startswith(b"HTTP/1.1 503 ")
    async with quick.client() as http:
        response = await http.post(quick.url, json=initialize(), headers=HEADERS)
        assert response.status_code == 200


@pytest.mark.parametrize(
    "line", [b"Content-Length: 900000", b"Transfer-Encoding: chunked"], ids=["plain", "h11"]
)
@attack("T75")
async def test_whoever_was_refused_does_not_stay_by_sending_a_body_slowly(
    quick: Served, line: bytes
) -> None:
    head = HEAD.replace(TOKEN.encode(), b"of-nobody") + line + b"\r\n\r\n"
    async with connected(quick, head) as (reader, writer), asyncio.timeout(20):
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 401 ")
        piece = b"1\r\n \r\n" if b"chunked" in line else b" "
        reading = asyncio.ensure_future(reader.read())
        while not reading.done():
            writer.write(piece)
            # More often than a body has to go on coming.
            await asyncio.wait({reading}, timeout=QUICK.body_s / 4)
        with contextlib.suppress(ConnectionError):
            await reading
