"""A child, or a client, that reads nothing: what it is sent does not pile up without end."""

import asyncio
import sys
from pathlib import Path

import pytest
from msgspec import Raw

from fakes.boards import server, serving
from relay.visiting import Guest
from support.mcp_stdio import text_of
from support.requirements import attack
from switchboard.core.events import ChildStarted
from switchboard.wire import pipes
from switchboard.wire.pipes import Loss, StreamPipe

# Lists its tools, and reads no more once somebody calls `deafen`.
_CHILD = """
import json, sys, time
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    name = message.get("params", {}).get("name")
    result = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "one", "version": "1"}},
        "tools/list": {"tools": [{"name": n, "inputSchema": {"type": "object"}}
                                 for n in ("deafen", "echo")]},
        "tools/call": {"content": [{"type": "text", "text": str(name)}]},
    }.get(message["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    if name == "deafen":
        time.sleep(3600)
"""


@attack("D4")
async def test_calls_of_a_child_that_reads_nothing_fail_at_once_and_it_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever has not read for no time at all has not read for a while.
    monkeypatch.setattr(pipes, "UNREAD_S", -1.0)
    entry = server("one", [sys.executable, "-c", _CHILD], expose="tools", protocol="handshake")
    async with serving(tmp_path, entry) as desk:
        guest = Guest(desk, "handshake")
        assert text_of(await guest.call("deafen")) == "deafen"
        large = "x" * (6 * 1024 * 1024)
        # Each says something else: the same call, sent again meanwhile, would wait for the first.
        calls = [
            asyncio.ensure_future(guest.call("echo", {"text": f"{large}{number}"}))
            for number in range(6)
        ]
        async with asyncio.timeout(30):
            answers = await asyncio.gather(*calls)
        reasons = {each["_meta"]["switchboard/error"]["reason"] for each in answers}
        assert reasons == {"child-not-reading"}
        assert text_of(await guest.call("echo")) == "echo"
        assert len(desk.events.of(ChildStarted)) >= 2


class _Stuck:
    """A stream to somebody who does not read, as a transport shows it."""

    def __init__(self) -> None:
        self.held = 0
        self.was_aborted = False

    def write(self, data: bytes) -> None:
        self.held += len(data)

    def get_write_buffer_size(self) -> int:
        return self.held

    def set_write_buffer_limits(self, high: int) -> None:
        """Pressure is told by the test."""

    def is_closing(self) -> bool:
        return self.was_aborted

    def abort(self) -> None:
        self.was_aborted = True
        self.held = 0

    close = abort


class _Hears:
    def __init__(self) -> None:
        self.losses: list[Loss] = []

    def receive(self, message: bytes) -> None:
        """Nothing comes."""

    def lose(self, loss: Loss) -> None:
        self.losses.append(loss)

    def press(self, on: bool) -> None:
        """Nobody here is throttled."""


async def stuck(messages: int) -> tuple[_Stuck, _Hears]:
    pipe, stream, hears = StreamPipe(unread=1_000), _Stuck(), _Hears()
    pipe.attach(hears)
    pipe.write_to(stream)  # pyright: ignore[reportArgumentType]
    for number in range(messages):
        pipe.send((Raw(b"x" * 999),))
        await asyncio.sleep(0)
        if number == 0:
            pipe.press(on=True)
    return stream, hears


async def test_who_is_slow_for_a_moment_is_waited_for() -> None:
    stream, hears = await stuck(3)
    assert (stream.held, hears.losses) == (3_000, [])


async def test_who_reads_nothing_holds_no_more_than_a_few_times_what_is_allowed() -> None:
    """However quickly it asks for more: there is no time that it has to be silent for."""
    stream, hears = await stuck(50)
    assert stream.was_aborted
    assert stream.held == 0
    assert [loss.reason for loss in hears.losses] == ["not-reading"]


async def test_who_read_nothing_for_a_while_is_given_up_sooner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipes, "UNREAD_S", -1.0)
    _, hears = await stuck(3)
    assert [loss.reason for loss in hears.losses] == ["not-reading"]
