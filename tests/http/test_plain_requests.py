"""Requests that take the short way: read and answered as the long way does, and no others."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import h11
import pytest
from edges.board import HEADERS, TOKEN, Json, Served, call, initialize, request, served_board
from hypothesis import given, settings
from hypothesis import strategies as st

from support.requirements import attack
from switchboard.surface.http.plain.head import LONGEST_HEAD, PlainHead, read_head

PATIENCE = 20

HEAD = b"POST /mcp HTTP/1.1\r\nHost: a:1\r\nAccept: */*\r\nContent-Length: 4\r\nX-Y: z\r\n\r\n"
LINES = (
    b"Content-Length: 4\r\n",
    b"Content-Length: 04\r\n",
    b"Content-Length: +4\r\n",
    b"Content-Length: 4, 4\r\n",
    b"content-length:4 \r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Connection: keep-alive\r\n",
    b"Connection: close\r\n",
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n",
    b"Expect: 100-continue\r\n",
    b"Host: b\r\n",
    b" folded\r\n",
    b"Name : value\r\n",
    b": value\r\n",
    b"Bare\r\n",
    b"Empty:\r\n",
    b"Tabs:\t\ta\tb\t\r\n",
    b"Accept: text/html\r\n",
    b"Broken: a\rb\r\n",
    b"Feed: a\nTransfer-Encoding: chunked\r\n",
    b"Nothing: a\x00b\r\n",
    b"Umlaut: \xc3\xa4\r\n",
)
FIRST = (
    b"POST /mcp HTTP/1.1\r\n",
    b"POST /a%2Fb%20c?d=%41 HTTP/1.1\r\n",
    b"GET / HTTP/1.1\r\n",
    b"HEAD / HTTP/1.1\r\n",
    b"POST /mcp HTTP/1.0\r\n",
    b"POST  /mcp HTTP/1.1\r\n",
    b"POST http://a/mcp HTTP/1.1\r\n",
    b"post /mcp HTTP/1.1\r\n",
)


def read_by_h11(data: bytes) -> tuple[h11.Request, bytes]:
    """The request, and its body as far as it is there. Raises what h11 has against it."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    found = connection.next_event()
    assert isinstance(found, h11.Request)
    body = b""
    while isinstance(event := connection.next_event(), h11.Data):
        body += event.data
    assert event is h11.NEED_DATA or isinstance(event, h11.EndOfMessage)
    return found, body


def assert_agree(head: PlainHead, data: bytes) -> None:
    found, body = read_by_h11(data)
    assert head.method.encode() == found.method
    assert head.path == unquote(found.target.partition(b"?")[0].decode())
    told = [(name.decode(), value.decode()) for name, value in found.headers]
    # h11 gives the same length that is said twice once.
    assert head.headers == dict(told)
    names = [name for name, _ in told]
    assert head.repeated == {name for name in names if names.count(name) > 1}
    assert data[head.size : head.size + head.length] == body


def _put_together(first: bytes, lines: list[bytes]) -> bytes:
    return b"".join((first, *lines, b"\r\nbodyGET / HTTP/1.1\r\n"))


def _spoilt(at: int, more: bytes, less: int) -> bytes:
    return HEAD[:at] + more + HEAD[at + less :] + b"body"


def _with_length(digits: bytes) -> bytes:
    return HEAD.replace(b": 4", b": " + digits) + b"b" * 20


heads = st.builds(
    _put_together,
    st.sampled_from(FIRST),
    st.lists(st.sampled_from((*LINES, b"Host: a:1\r\n", b"Content-Length: 4\r\n")), max_size=6),
)
spoilt = st.builds(_spoilt, st.integers(0, len(HEAD)), st.binary(max_size=3), st.integers(0, 3))
lengths = st.builds(_with_length, st.from_regex(rb"[0-9 +]{0,4}"))


@attack("HP")
@given(data=st.one_of(heads, spoilt))
@settings(max_examples=600, deadline=None)
def test_what_is_read_is_what_h11_reads(data: bytes) -> None:
    head = read_head(data)
    if head is not None:
        assert_agree(head, data)


@attack("HP")
@given(data=st.one_of(heads, spoilt, lengths))
@settings(max_examples=400, deadline=None)
def test_what_came_before_changes_nothing(data: bytes) -> None:
    last = read_head(HEAD)
    assert last is not None
    assert read_head(data, last) == read_head(data)


@pytest.mark.parametrize(
    "data",
    [
        HEAD[:-2],
        HEAD.replace(b"X-Y: z", b"X-Y: " + b"z" * LONGEST_HEAD),
        HEAD.replace(b"X-Y: z", b"Connection: close\r\nConnection: keep-alive"),
        HEAD.replace(b"X-Y: z", b"Transfer-Encoding: chunked"),
        HEAD.replace(b"X-Y: z", b"Host: b"),
        HEAD.replace(b"X-Y: z", b"Content-Length: 4"),
        HEAD.replace(b"Length: 4", b"Length: 1000000000000000"),
        HEAD.replace(b"Host", b"Most"),
    ],
    ids=range(8),
)
def test_what_is_unusual_is_left_to_h11(data: bytes) -> None:
    assert read_head(data + b"body") is None


def test_the_usual_is_read() -> None:
    for each in (b"X-Y: z", b"Connection: keep-alive", b"Accept: text/plain"):
        assert read_head(HEAD.replace(b"X-Y: z", each) + b"body") is not None


# Over a connection


@pytest.fixture
async def board(tmp_path: Path) -> AsyncGenerator[Served]:
    async with served_board(tmp_path) as served:
        yield served


class Talk:
    """One connection, byte by byte."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int
    ) -> None:
        self._reader = reader
        self.writer = writer
        self._port = port
        self.session = ""

    def wire(self, body: Json | None, *, more: str = "", token: str = TOKEN) -> bytes:
        data = b"" if body is None else json.dumps(body).encode()
        named = {**HEADERS, "authorization": f"Bearer {token}"}
        if self.session:
            named["mcp-session-id"] = self.session
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n{lines}{more}"
        if "chunked" in more:
            return f"{head}\r\n{len(data):x}\r\n".encode() + data + b"\r\n0\r\n\r\n"
        return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data

    async def answer(self) -> tuple[int, Json]:
        """The next answer: its status, and what it says."""
        async with asyncio.timeout(PATIENCE):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            lines = (line.partition(": ") for line in head[1:] if line)
            headers = {name.lower(): value for name, _, value in lines}
            if "mcp-session-id" in headers:
                self.session = headers["mcp-session-id"]
            body = await self._reader.readexactly(int(headers["content-length"]))
        return int(head[0].split()[1]), json.loads(body) if body else {}


@asynccontextmanager
async def talking(board: Served) -> AsyncGenerator[Talk]:
    port = urlsplit(board.url).port or 0
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    talk = Talk(reader, writer, port)
    writer.write(talk.wire(initialize()))
    status, _ = await talk.answer()
    assert status == 200
    try:
        yield talk
    finally:
        writer.close()


async def test_a_request_may_come_in_any_pieces(board: Served) -> None:
    async with talking(board) as talk:
        whole = talk.wire(request("ping", id_=7))
        end = whole.index(b"\r\n\r\n")
        for at in (1, 20, end, end + 2, end + 4, end + 5, len(whole) - 1):
            talk.writer.write(whole[:at])
            await talk.writer.drain()
            # Until the server, in this same loop, has read it.
            for _ in range(5):
                await asyncio.sleep(0)
            talk.writer.write(whole[at:])
            assert await talk.answer() == (200, {"jsonrpc": "2.0", "id": 7, "result": {}})


async def test_requests_behind_each_other_are_answered_in_order(board: Served) -> None:
    async with talking(board) as talk:
        slow = talk.wire(call("echo", {"text": "first"}, 1))
        quick = [talk.wire(request("ping", id_=each)) for each in range(2, 40)]
        other = talk.wire(request("ping", id_=40), more="Transfer-Encoding: chunked\r\n")
        last = talk.wire(call("echo", {"text": "last"}, 41))
        talk.writer.write(b"".join((slow, *quick, other, last)))
        found = [(await talk.answer())[1]["id"] for _ in range(1, 42)]
        assert found == list(range(1, 42))


async def test_the_rest_of_a_refused_body_is_not_taken_for_a_request(board: Served) -> None:
    async with talking(board) as talk:
        hidden = talk.wire(request("ping", id_=66))
        refused = talk.wire({"pad": hidden.decode()}, token="another-one")
        talk.writer.write(refused[:-5])
        status, _ = await talk.answer()
        assert status == 401
        talk.writer.write(refused[-5:] + talk.wire(request("ping", id_=5)))
        assert await talk.answer() == (200, {"jsonrpc": "2.0", "id": 5, "result": {}})


async def test_an_answer_that_is_large_comes_whole(board: Served) -> None:
    async with talking(board) as talk:
        text = "ä" * 400_000
        talk.writer.write(talk.wire(call("echo", {"text": text}, 1)))
        _, answer = await talk.answer()
        assert text in json.dumps(answer, ensure_ascii=False)
