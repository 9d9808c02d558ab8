"""What is said and asked while a call runs, whichever eras meet."""

import asyncio
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server.subscriptions import ServerEvent

from relay.bridges import (
    ROOT,
    EraName,
    Person,
    answered,
    client_of,
    each_bridge,
    each_child_era,
    question,
    texts,
    wired,
)
from support.mcp_stdio import StdioClient, text_of
from support.relays import relays
from support.workspace import Json, Workspace

# The clients of the SDK still have what the newest version deprecates.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

NAMED = "The server `frank` asks: "


@relays("progress")
@each_bridge
async def test_progress_reaches_the_call_that_it_belongs_to(
    client_era: EraName, warm: Workspace
) -> None:
    person = Person()
    async with client_of(client_era, warm, person) as client:
        await client.call_tool("test_tool_with_progress", {}, progress_callback=person.advance)
    assert person.progress == [
        (done, 100, f"Completed step {done} of 100") for done in (0, 50, 100)
    ]


@each_bridge
async def test_who_does_not_ask_for_progress_gets_none(
    client_era: EraName, warm: Workspace
) -> None:
    async with wired(client_era, warm) as client:
        await client.call("test_tool_with_progress", {})
        assert [message for message in client.messages if "method" in message] == []


@relays("logging", how="under the child's name")
@each_bridge
async def test_log_messages_are_passed_from_the_level_that_the_client_wants(
    client_era: EraName, warm: Workspace
) -> None:
    person = Person()
    async with client_of(client_era, warm, person, log_level="notice") as client:
        await client.call_tool("chatter", {})
    wanted = ["notice", "warning", "error", "critical", "alert", "emergency"]
    assert [line.level for line in person.logged] == wanted
    assert {line.logger for line in person.logged} == {"frank/mouth"}
    assert person.logged[0].data == "said at notice"


@each_bridge
async def test_the_first_call_after_a_level_was_set_is_already_heard_at_that_level(
    client_era: EraName, warm: Workspace
) -> None:
    person = Person()
    async with client_of(client_era, warm, person, log_level="debug") as client:
        await client.call_tool("chatter", {})
        await client.call_tool("test_logging_tool", {})
    assert len(person.logged) == 9
    assert person.logged[-1].logger == "everything/everything"


@relays("elicitation by form")
@each_bridge
async def test_a_form_is_filled_in_and_the_tool_goes_on_with_the_answer(
    client_era: EraName, asking: Workspace
) -> None:
    person = Person()
    async with client_of(client_era, asking, person) as client:
        answer = await client.call_tool("test_elicitation", {"message": "Who are you?"})
        rounds = await client.call_tool("test_input_required_result_multi_round", {})
    assert '"username": "ada"' in texts(answer.content)
    assert texts(rounds.content).startswith("Ada likes")
    messages = [asked.message for asked in person.asked]
    assert messages[0] == "The server `everything` asks: Who are you?"
    assert len(messages) == 3


@relays("elicitation by form")
@each_bridge
async def test_a_prompt_may_ask_too(client_era: EraName, asking: Workspace) -> None:
    person = Person()
    async with client_of(client_era, asking, person) as client:
        got = await client.get_prompt("test_input_required_result_prompt", {})
    assert "Use this context" in texts([message.content for message in got.messages])
    assert len(person.asked) == 1


@relays("elicitation by URL")
@each_bridge
async def test_a_page_to_visit_is_offered_with_everything_that_the_clients_era_wants(
    client_era: EraName, child_era: EraName, asking: Workspace
) -> None:
    asked: Json = {"mode": "url", "message": "Log in", "url": "https://example.org/login"}
    if child_era == "handshake":
        asked["elicitationId"] = "e-1"
    person = Person()
    async with client_of(client_era, asking, person) as client:
        visit = {"method": "elicitation/create", "params": asked}
        answer = await client.call_tool("ask", {"questions": {"visit": visit}})
    assert answered(texts(answer.content)) == {"visit": {"action": "accept"}}
    [seen] = person.asked
    assert isinstance(seen, types.ElicitRequestURLParams)
    assert (seen.message, seen.url) == (f"{NAMED}Log in", "https://example.org/login")
    # 2025-11-25 requires an id, 2026-07-28 has none.
    assert bool(seen.elicitation_id) == (client_era == "handshake")


@pytest.mark.parametrize("child_era", ["handshake"])
async def test_the_news_that_a_page_was_visited_reaches_who_was_asked_and_nobody_else(
    asking: Workspace,
) -> None:
    page = {"mode": "url", "message": "Log in", "url": "https://e.org/", "elicitationId": "e-7"}
    done = {"method": "notifications/elicitation/complete", "params": {"elicitationId": "e-7"}}
    async with wired("handshake", asking) as client, wired("handshake", asking) as other:
        visit = {"method": "elicitation/create", "params": page}
        begun = client.begin(
            "tools/call", {"name": "ask", "arguments": {"questions": {"v": visit}}}
        )
        asked = await client.message("elicitation/create")
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}})
        await client.answer_to(begun)
        # The call is over, and the child says it in another. It is this session's alone by now.
        await other.call("heard", {})
        await client.call("say", {"messages": [done, done]})
        told = await client.message("notifications/elicitation/complete")
        assert told["params"] == {"elicitationId": "e-7"}
        await client.call("heard", {})
        assert sum(each.get("method") == done["method"] for each in client.messages) == 1
        assert all("method" not in each for each in other.messages)


@each_bridge
async def test_a_refusal_that_wants_a_page_visited_first_is_marked_like_a_question(
    client_era: EraName, asking: Workspace
) -> None:
    page = {
        "mode": "url",
        "message": "\x1b[1mLog in",
        "url": "https://e.org/",
        "elicitationId": "e",
    }
    error = {"code": -32042, "message": "first log in", "data": {"elicitations": [page, 7]}}
    async with wired(client_era, asking) as client:
        begun = client.begin("tools/call", {"name": "refuse", "arguments": {"error": error}})
        refused = (await client.answer_to(begun))["error"]
    assert refused["code"] == -32042
    [shown] = refused["data"]["elicitations"]
    assert shown["message"] == f"{NAMED}Log in"
    assert shown["_meta"] == {"switchboard/server": "frank"}


@relays("sampling")
@each_bridge
async def test_the_clients_model_is_asked_in_the_childs_name(
    client_era: EraName, asking: Workspace
) -> None:
    person = Person()
    async with client_of(client_era, asking, person) as client:
        answer = await client.call_tool("test_sampling", {"prompt": "The capital?"})
    assert texts(answer.content) == "LLM response: Paris"
    [sampled] = person.sampled
    assert sampled.meta is not None
    assert sampled.meta["switchboard/server"] == "everything"


@relays("roots")
@each_bridge
async def test_the_clients_roots_reach_the_child(client_era: EraName, asking: Workspace) -> None:
    async with client_of(client_era, asking, Person()) as client:
        answer = await client.call_tool("test_input_required_result_list_roots", {})
    assert texts(answer.content) == f"roots: {ROOT}"


@each_bridge
async def test_several_questions_at_once_are_all_answered(
    client_era: EraName, asking: Workspace
) -> None:
    person = Person()
    async with client_of(client_era, asking, person) as client:
        answer = await client.call_tool("test_input_required_result_multiple_inputs", {})
    assert texts(answer.content) == f"Paris Ada, {ROOT}"


@each_bridge
async def test_a_client_that_cannot_be_asked_is_not_and_the_child_is_told(
    client_era: EraName, child_era: EraName, asking: Workspace
) -> None:
    async with wired(client_era, asking, capabilities={}) as client:
        answer = await client.answer_to(
            client.begin(
                "tools/call", {"name": "ask", "arguments": {"questions": {"q": question()}}}
            )
        )
    if child_era == "handshake":
        told = answered(text_of(answer["result"]))["q"]["error"]
        assert told["code"] == -32601
        assert "elicitation" in told["message"]
    else:
        text = text_of(answer["result"])
        assert answer["result"]["isError"]
        assert "this client does not offer `elicitation`" in text


@each_bridge
async def test_a_client_may_decline_and_the_child_hears_it(
    client_era: EraName, asking: Workspace
) -> None:
    async def decline(_context: object, _params: object) -> Any:
        return types.ElicitResult(action="decline")

    async with client_of(client_era, asking, Person(), elicitation_callback=decline) as client:
        answer = await client.call_tool("ask", {"questions": {"q": question()}})
    assert answered(texts(answer.content)) == {"q": {"action": "decline"}}


# Cancellation


@relays("cancellation by the client")
@each_bridge
async def test_a_call_that_the_client_cancels_is_cancelled_at_the_child(
    client_era: EraName, warm: Workspace
) -> None:
    async with wired(client_era, warm) as client:
        stalls, ends = await tally(client, "stalled"), await tally(client, "cancelled")
        stalled = client.begin("tools/call", {"name": "stall", "arguments": {}})
        await client.call("reach", {"of": "stalled", "more_than": stalls})
        await client.notify("notifications/cancelled", {"requestId": stalled})
        ended = await client.call("reach", {"of": "cancelled", "more_than": ends})
        assert int(text_of(ended)) == ends + 1
        assert all(message.get("id") != stalled for message in client.messages)


@relays("cancellation by the child", "handshake→handshake")
@pytest.mark.parametrize("child_era", ["handshake"])
async def test_a_question_that_the_child_takes_back_is_cancelled_at_the_client(
    asking: Workspace,
) -> None:
    async with wired("handshake", asking) as client:
        arguments = {"questions": {"q": question()}, "then": "withdraw"}
        call = client.begin("tools/call", {"name": "ask", "arguments": arguments})
        asked = await client.message("elicitation/create")
        cancelled = await client.message("notifications/cancelled")
        assert cancelled["params"]["requestId"] == asked["id"]
        answer = await client.answer_to(call)
        assert text_of(answer["result"]) == "withdrawn"


@relays("cancellation by the child", "modern→handshake", "the retry gets the result")
@pytest.mark.parametrize("child_era", ["handshake"])
async def test_a_modern_client_that_answers_a_question_taken_back_gets_the_result_all_the_same(
    asking: Workspace,
) -> None:
    async with wired("modern", asking) as client:
        arguments = {"questions": {"q": question()}, "then": "withdraw"}
        call = {"name": "ask", "arguments": arguments}
        withdrawals = await tally(client, "withdrawn")
        asked = await client.request("tools/call", call)
        assert asked["resultType"] == "input_required"
        # The child goes on by itself; when it has, the answer to the question is no longer needed.
        await client.call("reach", {"of": "withdrawn", "more_than": withdrawals})
        answers = {key: {"action": "decline"} for key in asked["inputRequests"]}
        answer = await client.request(
            "tools/call", {**call, "requestState": asked["requestState"], "inputResponses": answers}
        )
        assert text_of(answer) == "withdrawn"


# News


@relays("list changes")
@pytest.mark.parametrize("kind", ["tools", "prompts", "resources"])
@each_bridge
async def test_a_listing_that_changes_is_announced_and_shows_the_change(
    client_era: EraName, warm: Workspace, kind: str
) -> None:
    person = Person()
    async with client_of(client_era, warm, person) as client:
        before = await count_of(client, kind)
        if client_era == "handshake":
            await client.call_tool("grow", {"kind": kind})
            await person.until(lambda: f"notifications/{kind}/list_changed" in person.told)
        else:
            wanted: Any = {f"{kind}_list_changed": True}
            async with client.listen(**wanted) as events:
                await client.call_tool("grow", {"kind": kind})
                assert await first(events) is not None
        assert await count_of(client, kind) == before + 1


@relays("resource subscriptions")
@each_bridge
async def test_who_follows_a_resource_hears_of_its_updates_and_of_no_others(
    client_era: EraName, warm: Workspace
) -> None:
    person = Person()
    updated = "notifications/resources/updated"
    async with client_of(client_era, warm, person) as client:
        if client_era == "handshake":
            await client.subscribe_resource("frank://1")  # pyright: ignore[reportDeprecated]
            await client.call_tool("touch", {"uri": "frank://2"})
            await client.call_tool("touch", {"uri": "frank://1"})
            await person.until(lambda: updated in person.told)
            await client.unsubscribe_resource("frank://1")  # pyright: ignore[reportDeprecated]
            await client.call_tool("touch", {"uri": "frank://1"})
            await client.call_tool("heard", {})
            assert person.told.count(updated) == 1
        else:
            async with client.listen(resource_subscriptions=["frank://1"]) as events:
                await client.call_tool("touch", {"uri": "frank://2"})
                await client.call_tool("touch", {"uri": "frank://1"})
                assert getattr(await first(events), "uri", None) == "frank://1"


@relays("resource subscriptions")
@each_bridge
async def test_the_official_server_is_followed_too(client_era: EraName, warm: Workspace) -> None:
    person = Person()
    uri = "test://watched-resource"
    async with client_of(client_era, warm, person) as client:
        if client_era == "handshake":
            await client.subscribe_resource(uri)  # pyright: ignore[reportDeprecated]
            await client.call_tool("test_trigger_resource_update", {"uri": uri})
            await person.until(lambda: "notifications/resources/updated" in person.told)
        else:
            async with client.listen(resource_subscriptions=[uri]) as events:
                await client.call_tool("test_trigger_resource_update", {"uri": uri})
                assert getattr(await first(events), "uri", None) == uri


@each_child_era
async def test_a_client_that_says_its_roots_changed_is_passed_on_where_the_era_knows_it(
    child_era: EraName, asking: Workspace
) -> None:
    async with wired("handshake", asking) as client:
        await client.call("heard", {})
        await client.notify("notifications/roots/list_changed")
        heard = text_of(await client.call("heard", {}))
        assert ("notifications/roots/list_changed" in heard) == (child_era == "handshake")


async def tally(client: StdioClient, of: str) -> int:
    """How often something has happened at the child."""
    return int(text_of(await client.call("tally", {"of": of})))


async def first(events: Any) -> ServerEvent:
    async with asyncio.timeout(10):
        async for event in events:
            return event
    raise AssertionError("the subscription ended without an event")


async def count_of(client: Client, kind: str) -> int:
    if kind == "tools":
        return len((await client.list_tools(cache_mode="refresh")).tools)
    if kind == "prompts":
        return len((await client.list_prompts(cache_mode="refresh")).prompts)
    return len((await client.list_resources(cache_mode="refresh")).resources)
