"""A child that hangs in one call does not let every later call wait for its whole time."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fakes.boards import server, serving
from relay.visiting import Guest
from support.mcp_stdio import text_of
from support.processes import until_gone, until_true
from support.requirements import attack
from switchboard.children.reaching import sign_of_life
from switchboard.children.schema import ServerEntry
from switchboard.core.events import ChildExited, ChildStarted

# Works off one request after the other, as a synchronous server does; `busy` speaks meanwhile.
_CHILD = """
import json, sys, threading, time
def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def note(text):
    say({"method": "notifications/message", "params": {"level": "info", "data": text}})
muted = False
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    name = message["params"].get("name") if message["method"] == "tools/call" else ""
    if name == "mute":
        muted = True
    if muted and message["method"] == "tools/call":
        continue
    if name == "hang":
        time.sleep(3600)
    if name == "busy":
        for _ in range(30):
            time.sleep(0.1)
            note("at work")
    names = ("hang", "busy", "quick", "mute")
    tools = [{"name": n, "inputSchema": {"type": "object"}} for n in names]
    result = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "one", "version": "1"}},
        "tools/list": {"tools": tools},
        "tools/call": {"content": [{"type": "text", "text": name}]},
    }.get(message["method"], {})
    say({"id": message["id"], "result": result})
"""


def one_at_a_time(expose: str) -> ServerEntry:
    command = [sys.executable, "-c", _CHILD]
    return server("one", command, expose=expose, protocol="handshake")


def words(expose: str, tool: str) -> tuple[str, dict[str, Any]]:
    return ("one_suite", {"action": "call", "subtool": tool}) if expose == "suite" else (tool, {})


def reason(result: dict[str, Any]) -> str:
    return result["_meta"]["switchboard/error"]["reason"] if result.get("isError") else ""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_of_life, "PATIENCE_S", 1.0)


@pytest.mark.parametrize("expose", ["suite", "tools"])
@attack("D1")
async def test_a_child_that_hangs_is_replaced_for_everybody(tmp_path: Path, expose: str) -> None:
    async with serving(tmp_path, one_at_a_time(expose)) as desk:
        guest, other = Guest(desk, "handshake"), Guest(desk, "handshake", session="other")
        assert "quick" in text_of(await guest.call(*words(expose, "quick")))
        [started] = desk.events.of(ChildStarted)
        hung = await guest.call(*words(expose, "hang"), **{"switchboard/timeout_ms": 300})
        assert reason(hung) == "tool-timeout"
        await until_gone([started.pid])
        async with asyncio.timeout(30):
            assert "quick" in text_of(await other.call(*words(expose, "quick")))
        assert len(desk.events.of(ChildStarted)) == 2
        [ended] = desk.events.of(ChildExited)
        assert "no sign of life" in ended.reason


async def test_a_child_that_speaks_is_at_work_and_goes_on(tmp_path: Path) -> None:
    async with serving(tmp_path, one_at_a_time("suite")) as desk:
        guest = Guest(desk, "handshake")
        late = await guest.call(*words("suite", "busy"), **{"switchboard/timeout_ms": 300})
        assert reason(late) == "tool-timeout"
        async with asyncio.timeout(30):
            assert "quick" in text_of(await guest.call(*words("suite", "quick")))
        assert len(desk.events.of(ChildStarted)) == 1


async def test_a_call_that_its_client_calls_off_casts_no_doubt(tmp_path: Path) -> None:
    async with serving(tmp_path, one_at_a_time("suite")) as desk:
        guest = Guest(desk, "handshake")
        calling = asyncio.create_task(guest.call(*words("suite", "busy")))
        await until_true(lambda: any(child.connection.in_flight for child in desk.runtime.needed()))
        calling.cancel()
        async with asyncio.timeout(30):
            assert "quick" in text_of(await guest.call(*words("suite", "quick")))
        assert len(desk.events.of(ChildStarted)) == 1


@attack("T26")
async def test_a_child_that_answers_nothing_but_signs_of_life_is_replaced(tmp_path: Path) -> None:
    """It answers every ping, and lets call after call wait for its whole time."""
    entry = replace(one_at_a_time("suite"), rpc_timeout_ms=400)
    async with serving(tmp_path, entry) as desk:
        guest, other = Guest(desk, "handshake"), Guest(desk, "handshake", session="other")
        await guest.call(*words("suite", "quick"))
        [started] = desk.events.of(ChildStarted)
        assert reason(await guest.call(*words("suite", "mute"))) == "tool-timeout"
        # Who was content with less than its limit has not waited in vain.
        for _ in range(sign_of_life.MOST_UNANSWERED):
            late = await guest.call(*words("suite", "quick"), **{"switchboard/timeout_ms": 50})
            assert reason(late) == "tool-timeout"
        assert desk.events.of(ChildExited) == []
        for _ in range(sign_of_life.MOST_UNANSWERED - 1):
            assert reason(await other.call(*words("suite", "quick"))) == "tool-timeout"
        await until_gone([started.pid])
        assert "quick" in text_of(await other.call(*words("suite", "quick")))
        [ended] = desk.events.of(ChildExited)
        assert "3 calls in a row" in ended.reason
