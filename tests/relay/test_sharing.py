"""Two sessions on one child: what belongs to one never reaches the other."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from conformance.targets import direct
from fakes.boards import serving
from relay.bridges import EraName, board, each_bridge, question, wired
from relay.scripting import scripted
from relay.visiting import Guest, frank_entry
from support.mcp_stdio import META, text_of
from support.processes import until_true, wait_until_none_mention
from support.relays import relays
from support.requirements import attack
from support.workspace import Json, Workspace
from switchboard.children.inbound import audience
from switchboard.wire.messages import RpcError

LOG = {"method": "notifications/message", "params": {"level": "error", "data": "to whom?"}}
PROGRESS = {
    "method": "notifications/progress",
    "params": {"progressToken": "$token", "progress": 1},
}


@each_bridge
async def test_progress_reaches_its_own_session_while_another_waits(
    tmp_path: Path, client_era: EraName, child_era: EraName
) -> None:
    async with serving(tmp_path, frank_entry(child_era, "frank")) as desk:
        one, two = (Guest(desk, client_era, session=name) for name in ("one", "two"))
        waiting = asyncio.ensure_future(two.call("frank_stall", progressToken="theirs"))
        await one.call("frank_reach", {"of": "stalled", "more_than": 0})
        await one.call("frank_say", {"messages": [PROGRESS]}, progressToken="mine")
        assert [params["progressToken"] for _, params in one.told] == ["mine"]
        assert two.told == []
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


@each_bridge
async def test_a_child_cannot_tell_progress_of_a_call_that_is_not_its_own(
    tmp_path: Path, client_era: EraName, child_era: EraName
) -> None:
    tokens: list[Any] = [*range(200), "mine", "theirs", None, [], {}]
    guesses: list[Json] = [
        {"method": "notifications/progress", "params": {"progressToken": token, "progress": 9}}
        for token in tokens
    ]
    servers = frank_entry(child_era, "frank"), frank_entry(child_era, "other")
    async with serving(tmp_path, *servers) as desk:
        guest = Guest(desk, client_era)
        waiting = asyncio.ensure_future(guest.call("other_stall", progressToken="theirs"))
        await guest.call("other_reach", {"of": "stalled", "more_than": 0})
        await guest.call("frank_say", {"messages": guesses})
        assert guest.told == []
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


@pytest.mark.parametrize("child_era", ["handshake", "modern"])
async def test_a_resource_that_is_followed_twice_at_once_is_followed_once(
    tmp_path: Path, child_era: EraName
) -> None:
    followed = {"uri": "frank://1"}
    async with serving(tmp_path, frank_entry(child_era, "frank")) as desk:
        guest = Guest(desk, "handshake")
        await asyncio.gather(*(guest.ask("resources/subscribe", followed) for _ in range(3)))
        await guest.call("frank_touch", followed)
        assert guest.told == [("notifications/resources/updated", followed)]
        await guest.ask("resources/unsubscribe", followed)
        await guest.call("frank_heard")
        await guest.call("frank_touch", followed)
        assert len(guest.told) == 1


@relays("resource subscriptions")
@each_bridge
@attack("S7")
async def test_who_follows_a_resource_hears_of_its_parts_and_of_nothing_beside_it(
    tmp_path: Path, client_era: EraName, child_era: EraName
) -> None:
    updated = [
        {"method": "notifications/resources/updated", "params": {"uri": uri}}
        for uri in ("frank://1/part", "frank://10", "frank://", "frank://1?page=2", "frank://1")
    ]
    servers = frank_entry(child_era, "one"), frank_entry(child_era, "two")
    for prefix, offered in (("", servers[:1]), ("switchboard://one/", servers)):
        async with serving(tmp_path, *offered) as desk:
            guest = Guest(desk, client_era)
            following = await guest.follow(f"{prefix}frank://1")
            for server in offered:
                await guest.call(f"{server.name}_say", {"messages": updated})
            told = [params["uri"] for method, params in guest.told if method.endswith("/updated")]
            parts = ("frank://1/part", "frank://1?page=2", "frank://1")
            assert told == [prefix + uri for uri in parts]
            await following()


@pytest.mark.parametrize("child_era", ["handshake", "modern"])
async def test_a_resource_that_ends_in_a_slash_has_parts_too(
    tmp_path: Path, child_era: EraName
) -> None:
    updated = {"method": "notifications/resources/updated", "params": {"uri": "frank://item/a/b"}}
    async with serving(tmp_path, frank_entry(child_era, "frank")) as desk:
        guest = Guest(desk, "handshake")
        await guest.follow("frank://item/a/")
        await guest.call("frank_say", {"messages": [updated]})
        assert guest.told == [(updated["method"], updated["params"])]


@each_bridge
async def test_a_log_message_that_may_be_either_ones_reaches_neither(
    tmp_path: Path, client_era: EraName, child_era: EraName, monkeypatch: pytest.MonkeyPatch
) -> None:
    level: Json = {META + "logLevel": "debug"} if client_era == "modern" else {}
    async with serving(tmp_path, frank_entry(child_era, "frank")) as desk:
        one, two = (Guest(desk, client_era, session=name) for name in ("one", "two"))
        waiting = asyncio.ensure_future(two.call("frank_stall", **level))
        await one.call("frank_reach", {"of": "stalled", "more_than": 0})
        await one.call("frank_say", {"messages": [LOG]}, **level)
        assert (one.told, two.told) == ([], [])
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await one.call("frank_reach", {"of": "cancelled", "more_than": 0})
        await one.call("frank_say", {"messages": [LOG]}, **level)
        assert (one.told, two.told) == ([], [])
        monkeypatch.setattr(audience, "LINGER_S", -1.0)
        await one.call("frank_say", {"messages": [LOG]}, **level)
        assert [params["logger"] for _, params in one.told] == ["frank"]
        assert two.told == []


@pytest.mark.parametrize("client_era", ["handshake", "modern"])
async def test_a_question_that_may_be_for_either_is_refused_and_the_child_told_what_helps(
    tmp_path: Path, client_era: EraName
) -> None:
    async with serving(tmp_path, frank_entry("handshake", "frank")) as desk:
        one, two = (Guest(desk, client_era, session=name) for name in ("one", "two"))
        waiting = asyncio.ensure_future(two.call("frank_stall"))
        await one.call("frank_reach", {"of": "stalled", "more_than": 0})
        answer = await one.call("frank_ask", {"questions": {"q": question()}})
        told = json.loads(text_of(answer))["answers"]["q"]["error"]
        assert told["code"] == -32601
        assert "`scope` set to `session`" in told["message"]
        assert (one.asked, two.asked) == ([], [])
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


@pytest.mark.parametrize("client_era", ["handshake", "modern"])
async def test_a_modern_child_says_whom_it_means_by_answering_so_both_can_be_asked_at_once(
    tmp_path: Path, client_era: EraName
) -> None:
    async with serving(tmp_path, frank_entry("modern", "frank")) as desk:
        guests = [Guest(desk, client_era, session=name) for name in ("one", "two")]
        for guest in guests:
            name = guest.endpoint.session.id
            guest.answers = [{"action": "accept", "content": {"name": name}}]
        answers = await asyncio.gather(*map(ask_for_a_name, guests))
        assert answers == ["one", "two"]


async def ask_for_a_name(guest: Guest) -> str:
    call = {"name": "frank_ask", "arguments": {"questions": {"q": question()}}}
    answer = await guest.ask("tools/call", call)
    if answer.get("resultType") == "input_required":
        more = {"requestState": answer["requestState"], "inputResponses": {"q": guest.answers[0]}}
        answer = await guest.ask("tools/call", {**call, **more})
    given = json.loads(text_of(answer))["answers"]["q"]
    assert "content" in given, given
    return given["content"]["name"]


@pytest.mark.parametrize("client_era", ["handshake", "modern"])
async def test_a_question_while_a_child_starts_is_refused_if_several_sessions_wait_for_it(
    tmp_path: Path, client_era: EraName
) -> None:
    asked = json.dumps({"jsonrpc": "2.0", "id": "q-1", **question()})
    script = {"notifications/initialized": [asked, "\n"]}
    notes = tmp_path / "notes"
    notes.touch()
    async with serving(tmp_path, scripted("handshake", script, notes=notes)) as desk:
        guests = [Guest(desk, client_era, session=name) for name in ("one", "two")]
        calls = [asyncio.ensure_future(guest.call("t")) for guest in guests]
        await until_true(lambda: '"id":"q-1"' in notes.read_text("utf-8"))
        assert "`scope` set to `session`" in notes.read_text("utf-8")
        assert [guest.asked for guest in guests] == [[], []]
        for answer in await asyncio.gather(*calls, return_exceptions=True):
            # Or it has a server of its own by now, which asks it and nobody else.
            is_asked = isinstance(answer, dict) and answer["resultType"] == "input_required"
            assert is_asked or isinstance(answer, RpcError)


async def test_a_question_while_a_child_starts_reaches_the_only_session_that_waits_for_it(
    tmp_path: Path,
) -> None:
    asked = json.dumps({"jsonrpc": "2.0", "id": "q-1", **question()})
    script = {"notifications/initialized": [asked, "\n"]}
    async with serving(tmp_path, scripted("handshake", script)) as desk:
        one, two = (Guest(desk, "handshake", session=name) for name in ("one", "two"))
        await one.names()
        await one.until(lambda: one.asked)
        assert two.asked == []


async def test_with_scope_session_each_has_a_child_of_its_own_and_may_be_asked(
    tmp_path: Path,
) -> None:
    entry = frank_entry("handshake", "frank", scope="session")
    async with serving(tmp_path, entry) as desk:
        guests = [Guest(desk, "handshake", session=name) for name in ("one", "two")]
        for guest in guests:
            name = guest.endpoint.session.id
            guest.answers = [{"action": "accept", "content": {"name": name}}]
        assert await asyncio.gather(*map(ask_for_a_name, guests)) == ["one", "two"]


async def test_a_child_over_http_is_understood_by_the_stream_that_it_asks_on(
    tmp_path: Path,
) -> None:
    """Both sessions share the server, and each answers only when both have been asked."""
    async with direct(tmp_path) as remote:
        entry: Json = {"url": remote.url, "protocol": "handshake", "expose": "tools"}
        workspace = board(tmp_path / "board", {"remote": entry}, daemon=True)
        both_asked = asyncio.Barrier(2)
        try:
            names = await asyncio.gather(
                greeted(workspace, "Ada", both_asked), greeted(workspace, "Bob", both_asked)
            )
        finally:
            workspace.stop_daemon()
    wait_until_none_mention(str(workspace.root))
    assert names == ["Hello, Ada!", "Hello, Bob!"]


async def greeted(workspace: Workspace, name: str, both_asked: asyncio.Barrier) -> str:
    """What a tool says to somebody who tells it a name."""
    async with wired("handshake", workspace) as client:
        call: Json = {"name": "test_input_required_result_elicitation", "arguments": {}}
        begun = client.begin("tools/call", call)
        asked = await client.message("elicitation/create")
        async with asyncio.timeout(10):
            await both_asked.wait()
        answer = {"action": "accept", "content": {"name": name}}
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
        return text_of((await client.answer_to(begun))["result"])
