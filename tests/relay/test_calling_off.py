"""A client calls its request off while somebody is asked for it: the question goes too."""

import asyncio
import json
from pathlib import Path

import pytest

from fakes.boards import serving
from relay.bridges import EraName, each_child_era, each_client_era, question, wired
from relay.scripting import scripted
from relay.visiting import Guest, frank_entry
from support.processes import until_true
from support.relays import relays
from support.workspace import Json, Workspace
from switchboard.children.schema import ServerEntry

ASKING: Json = {"name": "ask", "arguments": {"questions": {"q": question()}}}


def questioner(notes: Path) -> ServerEntry:
    """A child that asks when it is called, and never takes its question back."""
    asked = json.dumps({"jsonrpc": "2.0", "id": "q-1", **question()})
    return scripted("handshake", {"tools/call": [asked, "\n"]}, notes=notes)


@relays("cancellation by the client")
@pytest.mark.parametrize("client_era", ["handshake"])
@each_child_era
async def test_the_question_of_a_call_that_the_client_cancels_is_withdrawn(
    client_era: EraName, asking: Workspace
) -> None:
    async with wired(client_era, asking) as client:
        begun = client.begin("tools/call", ASKING)
        asked = await client.message("elicitation/create")
        await client.notify("notifications/cancelled", {"requestId": begun})
        withdrawn = await client.message("notifications/cancelled")
        assert withdrawn["params"]["requestId"] == asked["id"]


@each_client_era
async def test_a_child_that_does_not_take_its_question_back_is_told_why_nobody_answers(
    tmp_path: Path, client_era: EraName
) -> None:
    notes = tmp_path / "notes"
    async with serving(tmp_path, questioner(notes)) as desk:
        guest = Guest(desk, client_era)
        calling = asyncio.ensure_future(guest.call("t"))
        if client_era == "handshake":
            await guest.until(lambda: guest.asked)
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)
            # Over HTTP nothing can be said any more once the request has ended.
            assert guest.withdrawn == 1
        else:
            await calling
            guest.suspended_calls.close()
        await until_true(lambda: '"id":"q-1","error"' in notes.read_text("utf-8"))
        assert "called its request off" in notes.read_text("utf-8")


async def test_a_question_that_may_belong_to_another_call_of_the_client_stays(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, frank_entry("handshake", "frank")) as desk:
        guest = Guest(desk, "handshake")
        asking = asyncio.ensure_future(guest.call("frank_ask", {"questions": {"q": question()}}))
        stalling = asyncio.ensure_future(guest.call("frank_stall"))
        await guest.call("frank_reach", {"of": "stalled", "more_than": 0})
        await guest.until(lambda: guest.asked)
        stalling.cancel()
        await guest.call("frank_reach", {"of": "cancelled", "more_than": 0})
        assert guest.withdrawn == 0
        asking.cancel()
        await guest.until(lambda: guest.withdrawn == 1)
