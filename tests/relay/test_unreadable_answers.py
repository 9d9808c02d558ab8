"""Bytes that are no message: one call fails at once with a reason, and nobody else notices."""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fakes.boards import server, serving
from relay.visiting import Guest
from support.mcp_stdio import text_of
from support.requirements import attack
from support.workspace import Json
from switchboard.children.schema import ServerEntry
from switchboard.core.events import ChildTalkedNonsense
from switchboard.wire.frames import FrameReader

# Reads requests and answers `tools/call` and `prompts/list` with the bytes of its argument.
_CHILD = """
import json, sys
said = {name: bytes.fromhex(text) for name, text in json.load(open(sys.argv[1])).items()}
out = sys.stdout.buffer
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    number = b"%d" % message["id"]
    method = message["method"]
    if method == "tools/call":
        method = message["params"]["name"]
    if method in said:
        out.write(said[method].replace(b"$id", number) + b"\\n")
        out.flush()
        continue
    result = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": True}, "prompts": {}},
            "serverInfo": {"name": "raw", "version": "1"},
        },
        "tools/list": {"tools": [{"name": n, "inputSchema": {"type": "object"}}
                                 for n in (*said, "fine")]},
        "fine": {"content": [{"type": "text", "text": "fine"}]},
    }.get(method, {})
    out.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())
    out.write(b"\\n")
    out.flush()
"""


def raw_child(folder: Path, **said: bytes) -> ServerEntry:
    """A child that answers these with exactly these bytes; `$id` becomes the id."""
    words = {name.replace("__", "/"): text.hex() for name, text in said.items()}
    script = folder / "said.json"
    script.write_text(json.dumps(words), "utf-8")
    command = [sys.executable, "-c", _CHILD, str(script)]
    return server("raw", command, expose="tools", protocol="handshake")


def answer(text: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":%b}]}}' % text


async def called(guest: Guest, name: str) -> Json:
    async with asyncio.timeout(20):
        return await guest.call(name)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(answer(b'"\xff"'), id="no UTF-8"),
        pytest.param(answer(b'"\xed\xa0\xbc"'), id="half a character as bytes"),
        pytest.param(answer(b"NaN"), id="NaN"),
        pytest.param(answer(b'"\x01"'), id="control letter"),
        pytest.param(answer(b"[" * 100_000 + b"]" * 100_000), id="too deep"),
        pytest.param(
            b'{"result":{"content":[{"type":"text","text":"\xff"}]},"jsonrpc":"2.0","id":$id}',
            id="the id behind the result",
        ),
    ],
)
@attack("W3")
async def test_an_answer_that_cannot_be_read_fails_its_call_at_once(
    tmp_path: Path, said: bytes
) -> None:
    async with serving(tmp_path, raw_child(tmp_path, broken=said)) as desk:
        guest = Guest(desk, "handshake")
        result = await called(guest, "broken")
        assert result["isError"]
        assert result["_meta"]["switchboard/error"]["reason"] == "result-malformed"
        # The child goes on, and so does everybody else.
        assert text_of(await called(guest, "fine")) == "fine"


@attack("W2")
async def test_half_a_character_in_an_answer_is_shown_as_a_replacement(tmp_path: Path) -> None:
    """As Node writes a text that was cut inside an emoji."""
    said = answer(rb'"party \ud83c, whole \ud83c\udf89, \\ud83c as text, \udf89"')
    async with serving(tmp_path, raw_child(tmp_path, cut=said)) as desk:
        result = await called(Guest(desk, "handshake"), "cut")
        assert text_of(result) == "party \ufffd, whole \N{PARTY POPPER}, \\ud83c as text, \ufffd"


async def test_a_byte_order_mark_is_not_part_of_an_answer(tmp_path: Path) -> None:
    async with serving(
        tmp_path, raw_child(tmp_path, marked=b"\xef\xbb\xbf" + answer(b'"hello"'))
    ) as desk:
        assert text_of(await called(Guest(desk, "handshake"), "marked")) == "hello"


@attack("W1")
async def test_a_listing_that_is_no_text_reaches_no_client(tmp_path: Path) -> None:
    said = b'{"jsonrpc":"2.0","id":$id,"result":{"prompts":[{"name":"p","description":"\xff"}]}}'
    async with serving(tmp_path, raw_child(tmp_path, prompts__list=said)) as desk:
        guest = Guest(desk, "handshake")
        async with asyncio.timeout(20):
            listed: Any = await guest.ask("prompts/list")
        assert listed["prompts"] == []
        assert text_of(await called(guest, "fine")) == "fine"


@attack("N6")
async def test_a_storm_of_changes_is_told_a_few_times(tmp_path: Path) -> None:
    change = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
    storm = change * 50_000 + answer(b'"over"')
    async with serving(tmp_path, raw_child(tmp_path, storm=storm)) as desk:
        guest, other = Guest(desk, "handshake"), Guest(desk, "handshake", session="other")
        began = time.monotonic()
        assert text_of(await called(guest, "storm")) == "over"
        lasted = time.monotonic() - began
        await asyncio.sleep(0.6)
        for client in (guest, other):
            told = [method for method, _ in client.told if method.endswith("list_changed")]
            # At once, and then no more than four times a second.
            assert 1 <= len(told) <= 4 * (lasted + 0.6) + 2


OK = b'{"jsonrpc":"2.0","id":%b,"result":{"content":[]}}'


@pytest.mark.parametrize(
    "said",
    [
        pytest.param((OK % b"1").decode().encode("utf-16"), id="UTF-16"),
        pytest.param(OK % b'"$id"', id="the id as a text"),
        pytest.param(OK % b"99999", id="an id of nobody"),
        pytest.param(OK % b"null", id="no id"),
        pytest.param(OK % (b"9" * 5_000), id="an id without end"),
    ],
)
async def test_an_answer_to_nothing_ends_the_only_call_that_waits(
    tmp_path: Path, said: bytes
) -> None:
    async with serving(tmp_path, raw_child(tmp_path, odd=said)) as desk:
        guest = Guest(desk, "handshake")
        began = time.monotonic()
        result = await called(guest, "odd")
        assert time.monotonic() - began < 10
        assert result["_meta"]["switchboard/error"]["reason"] == "result-malformed"
        assert "fine" in text_of(await called(guest, "fine"))
        await called(guest, "odd")
        # Told of once, however often it happens.
        assert [each.child for each in desk.events.of(ChildTalkedNonsense)] == ["raw"]


async def test_a_carriage_return_alone_ends_an_answer() -> None:
    reader = FrameReader()
    assert reader.feed(b'{"a":1}\r') == [b'{"a":1}']
    assert reader.feed(b'\n{"b":') == []
    assert reader.feed(b"2}\r\n") == [b'{"b":2}\r']
