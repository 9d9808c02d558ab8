"""How long a call may take: progress keeps it alive, silence ends it, questions stop its clock."""

import asyncio
from pathlib import Path

from fakes.boards import serving
from relay.bridges import EraName, each_bridge, question
from relay.scripting import scripted
from relay.visiting import Guest, frank_entry
from support.mcp_stdio import text_of
from support.relays import relays
from support.workspace import Json
from switchboard.settings.sections import Timeouts


def short(longest_ms: int) -> Timeouts:
    """A plain limit of 0.6 s, and a ceiling."""
    return Timeouts(rpc_ms=600, longest_ms=longest_ms)


@relays("long calls that report progress")
@each_bridge
async def test_progress_keeps_a_call_alive_past_the_plain_limit(
    tmp_path: Path, client_era: EraName, child_era: EraName
) -> None:
    async with serving(tmp_path, frank_entry(child_era, "frank"), timeouts=short(60_000)) as desk:
        guest = Guest(desk, client_era)
        await guest.names()
        worked = await guest.call("frank_work", {"steps": 10, "pause_s": 0.1}, progressToken=1)
        assert text_of(worked) == "worked"
        assert len(guest.told) == 10
        # Whether the client wants to be told makes no difference.
        assert text_of(await guest.call("frank_work", {"steps": 10, "pause_s": 0.1})) == "worked"


@each_bridge
async def test_silence_ends_a_call_and_the_child_hears_of_it(
    tmp_path: Path, client_era: EraName, child_era: EraName
) -> None:
    async with serving(tmp_path, frank_entry(child_era, "frank"), timeouts=short(60_000)) as desk:
        guest = Guest(desk, client_era)
        await guest.names()
        silent = {"steps": 20, "pause_s": 0.1, "silent": True}
        answer = await guest.call("frank_work", silent)
        assert answer["_meta"]["switchboard/error"]["reason"] == "tool-timeout"
        assert "did not finish within 0.6 s" in text_of(answer)
        assert "rpcTimeoutMs" in text_of(answer)
        ended = await guest.call("frank_reach", {"of": "cancelled", "more_than": 0})
        assert text_of(ended) == "1"


@each_bridge
async def test_silence_ends_what_is_no_call_of_a_tool_too(
    tmp_path: Path, client_era: EraName, child_era: EraName
) -> None:
    asked: dict[str, Json] = {
        "resources/read": {"uri": "a://1"},
        "prompts/get": {"name": "p"},
        "completion/complete": {
            "ref": {"type": "ref/prompt", "name": "p"},
            "argument": {"name": "n", "value": "v"},
        },
    }
    mute = scripted(child_era, {method: ["hush"] for method in asked})
    async with serving(tmp_path, mute, timeouts=short(60_000)) as desk:
        guest = Guest(desk, client_era)
        for method, params in asked.items():
            refused = await guest.refused(method, params)
            assert f"`{method}` did not finish within 0.6 s" in refused.message
            assert refused.data["reason"] == "tool-timeout"


@each_bridge
async def test_no_progress_keeps_a_call_alive_past_the_ceiling(
    tmp_path: Path, client_era: EraName, child_era: EraName
) -> None:
    async with serving(tmp_path, frank_entry(child_era, "frank"), timeouts=short(800)) as desk:
        guest = Guest(desk, client_era)
        await guest.names()
        answer = await guest.call("frank_work", {"steps": 100, "pause_s": 0.1})
        assert answer["_meta"]["switchboard/error"]["reason"] == "tool-timeout"
        assert "longestMs" in text_of(answer)


@each_bridge
async def test_the_clock_stands_still_while_the_client_is_asked(
    tmp_path: Path, client_era: EraName, child_era: EraName
) -> None:
    async with serving(tmp_path, frank_entry(child_era, "frank"), timeouts=short(800)) as desk:
        guest = Guest(desk, client_era)
        await guest.names()
        call = {"name": "frank_ask", "arguments": {"questions": {"q": question()}}}
        accepted = {"action": "accept", "content": {"name": "Ada"}}
        if client_era == "handshake":
            guest.answers_after_s = 1.2
            guest.answers = [accepted]
            answer = await guest.ask("tools/call", call)
        else:
            asked = await guest.ask("tools/call", call)
            await asyncio.wait(guest.suspended_calls.tasks, timeout=1.2)
            [key] = asked["inputRequests"]
            more = {"requestState": asked["requestState"], "inputResponses": {key: accepted}}
            answer = await guest.ask("tools/call", {**call, **more})
        assert "Ada" in text_of(answer)
