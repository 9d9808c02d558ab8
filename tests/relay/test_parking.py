"""A call of the modern era that waits for its client: found by its state, once, by the same one."""

import asyncio
import json
from pathlib import Path

import pytest
from msgspec import Raw

from fakes.boards import serving
from relay.bridges import EraName, board, each_child_era, frank, question, wired
from relay.scripting import result, scripted
from relay.visiting import Guest, frank_entry
from support.daemons import daemon_pid
from support.mcp_stdio import META, StdioClient, modern_meta, text_of
from support.processes import children_of, until_gone, until_true
from support.workspace import Json, Workspace
from switchboard.children.schema import ServerEntry
from switchboard.surface import suspended_calls
from switchboard.wire.messages import RpcError

SPENT = "unknown, spent or of another request"


def that_asks(*keys: str) -> Json:
    """The call of a tool that asks one question under each key."""
    return {
        "name": "ask",
        "arguments": {"questions": {key: question(message=key) for key in keys}},
    }


def retry(call: Json, asked: Json, answers: Json | None = None) -> Json:
    """The same call with the answers."""
    if answers is None:
        answers = {key: {"action": "accept", "content": {}} for key in asked["inputRequests"]}
    return {**call, "requestState": asked["requestState"], "inputResponses": answers}


async def refusal(client: StdioClient, call: Json) -> str:
    answer = await client.answer_to(client.begin("tools/call", call))
    assert answer["error"]["code"] == -32602
    return answer["error"]["message"]


async def answers_so_far(client: StdioClient) -> int:
    return int(text_of(await client.call("tally", {"of": "answered"})))


@each_child_era
async def test_a_state_cannot_be_guessed_and_says_nothing(
    asking: Workspace, child_era: EraName
) -> None:
    async with wired("modern", asking) as client:
        first = await client.request("tools/call", that_asks("name"))
        second = await client.request("tools/call", that_asks("name"))
    assert first["requestState"] != second["requestState"]
    assert len(first["requestState"]) >= 43
    assert "frank" not in first["requestState"]
    assert child_era not in first["requestState"]


@each_child_era
async def test_a_changed_state_is_refused_and_the_true_one_still_holds(asking: Workspace) -> None:
    async with wired("modern", asking) as client:
        call = that_asks("name")
        asked = await client.request("tools/call", call)
        state = asked["requestState"]
        for forged in (state[:-1], state + "A", state.swapcase(), "x", "state of frank"):
            wrong = retry(call, {**asked, "requestState": forged})
            assert SPENT in await refusal(client, wrong)
        answer = await client.request("tools/call", retry(call, asked))
        assert '"action": "accept"' in text_of(answer)


@each_child_era
async def test_a_state_holds_once(asking: Workspace) -> None:
    async with wired("modern", asking) as client:
        call = that_asks("name")
        asked = await client.request("tools/call", call)
        before = await answers_so_far(client)
        await client.request("tools/call", retry(call, asked))
        assert SPENT in await refusal(client, retry(call, asked))
        assert await answers_so_far(client) == before + 1


@each_child_era
async def test_fifty_retries_at_once_run_the_tool_once(asking: Workspace) -> None:
    async with wired("modern", asking) as client:
        call = that_asks("name")
        asked = await client.request("tools/call", call)
        before = await answers_so_far(client)
        begun = [client.begin("tools/call", retry(call, asked)) for _ in range(50)]
        answers = await asyncio.gather(*map(client.answer_to, begun))
        assert sum("result" in answer for answer in answers) == 1
        assert await answers_so_far(client) == before + 1


@pytest.mark.parametrize(
    "other",
    [
        {"name": "ask", "arguments": {"questions": {"name": question(message="another")}}},
        {"name": "ask", "arguments": {}},
        {"name": "dressed", "arguments": {"questions": {"name": question(message="name")}}},
    ],
)
@each_child_era
async def test_a_state_holds_for_the_same_tool_with_the_same_arguments_alone(
    asking: Workspace, other: Json
) -> None:
    async with wired("modern", asking) as client:
        call = that_asks("name")
        asked = await client.request("tools/call", call)
        assert SPENT in await refusal(client, retry(other, asked))
        assert "result" in await client.answer_to(client.begin("tools/call", retry(call, asked)))


@each_child_era
async def test_a_state_of_a_call_is_not_one_of_another_method(asking: Workspace) -> None:
    async with wired("modern", asking) as client:
        asked = await client.request("tools/call", that_asks("name"))
        for method, params in (
            ("prompts/get", {"name": "prompt_1"}),
            ("resources/read", {"uri": "frank://1"}),
        ):
            answer = await client.answer_to(client.begin(method, retry(params, asked)))
            assert SPENT in answer["error"]["message"]


@each_child_era
async def test_another_session_cannot_go_on_with_it(asking: Workspace) -> None:
    call = that_asks("name")
    async with wired("modern", asking) as client, wired("modern", asking) as stranger:
        asked = await client.request("tools/call", call)
        assert SPENT in await refusal(stranger, retry(call, asked))
        assert "result" in await client.answer_to(client.begin("tools/call", retry(call, asked)))


@each_child_era
async def test_a_question_without_an_answer_is_asked_again_under_a_new_state(
    asking: Workspace,
) -> None:
    async with wired("modern", asking) as client:
        call = that_asks("name", "place")
        asked = await client.request("tools/call", call)
        # A child of the handshake era has no keys: they are ours, one for each question.
        first, second = asked["inputRequests"]
        again = await client.request(
            "tools/call", retry(call, asked, {first: {"action": "accept"}, "nobody": {}})
        )
        assert again["resultType"] == "input_required"
        assert list(again["inputRequests"]) == [second]
        assert again["requestState"] != asked["requestState"]
        done = await client.request(
            "tools/call", retry(call, again, {second: {"action": "decline"}})
        )
        assert '"decline"' in text_of(done)


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text("utf-8")


@each_child_era
async def test_a_client_that_leaves_ends_the_calls_that_wait_for_it(
    tmp_path: Path, child_era: EraName
) -> None:
    """The server of its own, in which the call stands, is ended with it and does not wait."""
    workspace = board(tmp_path, {"frank": {**frank(child_era), "scope": "session"}}, daemon=True)
    try:
        async with wired("modern", workspace) as client:
            asked = await client.request("tools/call", that_asks("name"))
            assert asked["resultType"] == "input_required"
            below = children_of(daemon_pid(workspace))
            own = [pid for pid in below if "frank_child" in command_line(pid)]
            assert len(own) == 1
            assert await client.close() == 0
            await until_gone(own)
    finally:
        workspace.stop_daemon()


async def test_a_question_that_nobody_answers_ends_with_a_fault_that_says_so(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, frank_entry("modern"), frank_entry("handshake")) as desk:
        for era in ("modern", "handshake"):
            guest = Guest(desk, "modern", patience_s=0.1)
            asked = await guest.ask("tools/call", guest.named(era, that_asks("name")))
            await guest.parked_calls_ended()
            answer = await guest.ask(
                "tools/call", retry(guest.named(era, that_asks("name")), asked)
            )
            assert "nobody answered within 0.1 s" in text_of(answer)


async def test_what_ended_before_its_client_came_back_is_kept_for_a_while_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suspended_calls, "KEPT_S", 0)
    async with serving(tmp_path, frank_entry("modern")) as desk:
        guest = Guest(desk, "modern", patience_s=0.05)
        call = guest.named("modern", that_asks("name"))
        asked = await guest.ask("tools/call", call)
        await guest.parked_calls_ended()
        assert SPENT in (await guest.refused("tools/call", retry(call, asked))).message


async def test_a_state_is_refused_to_a_request_that_says_it_cannot_be_asked(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, frank_entry("modern")) as desk:
        guest = Guest(desk, "modern", capabilities={})
        await guest.names()
        spent = {"name": "modern_stall", "requestState": "spent"}
        assert SPENT in (await guest.refused("tools/call", spent)).message
        assert text_of(await guest.call("modern_tally", {"of": "stalled"})) == "0"


async def test_what_one_request_says_of_its_client_holds_for_that_request(tmp_path: Path) -> None:
    async with serving(tmp_path, frank_entry("modern")) as desk:
        guest = Guest(desk, "modern")
        await guest.names()
        declared: Json = {**modern_meta(), META + "clientCapabilities": {"elicitation": {}}}
        asks = {**guest.named("modern", that_asks("name")), "_meta": declared}
        first = guest.endpoint.request("tools/call", Raw(json.dumps(asks).encode()), "first")
        assert not isinstance(first, tuple)
        # It comes in the same bytes as a second one, which says less of itself.
        guest.capabilities = {}
        second = asyncio.ensure_future(guest.call("modern_heard"))
        await asyncio.sleep(0)
        assert b'"input_required"' in b"".join(map(bytes, await first))
        assert text_of(await second) == "[]"


# While a question waits


def says(method: str, **more: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "method": method, **more}) + "\n"


def questioner(script: dict[str, list[str]], notes: Path | None = None) -> ServerEntry:
    """A child of the handshake era whose tool asks, and does no more by itself."""
    asks = {"tools/call": [says(**question(message="first"), id="q-1")]}
    return scripted("handshake", {**asks, **script}, notes=notes)


async def test_the_answer_to_a_question_that_was_taken_back_is_none_to_the_next(
    tmp_path: Path,
) -> None:
    taken_back = says("notifications/cancelled", params={"requestId": "q-1"})
    child = questioner(
        {
            "prompts/get": [taken_back, *result('{"messages":[]}')],
            "notifications/roots/list_changed": [says(**question(message="next"), id="q-2")],
        },
        notes := tmp_path / "notes",
    )
    async with serving(tmp_path, child) as desk:
        guest = Guest(desk, "modern")
        asked = await guest.call("t")
        await guest.ask("prompts/get", {"name": "p"})
        guest.endpoint.notification("notifications/roots/list_changed", Raw(b"{}"))
        again = await guest.ask("tools/call", retry({"name": "t"}, asked))
        [(key, following)] = again["inputRequests"].items()
        assert following["params"]["message"].endswith("next")
        assert key not in asked["inputRequests"]
    assert '"id":"q-2"' not in notes.read_text("utf-8")


async def test_between_a_question_and_its_answer_a_client_is_told_nothing_of_the_call(
    tmp_path: Path,
) -> None:
    told = [
        says("notifications/progress", params={"progressToken": token, "progress": 1})
        for token in range(20)
    ]
    logged = says("notifications/message", params={"level": "error", "data": "said"})
    child = questioner({"notifications/roots/list_changed": [*told, logged]})
    async with serving(tmp_path, child) as desk:
        guest = Guest(desk, "modern")
        meta: Json = {META + "logLevel": "debug", "progressToken": 7}
        await guest.ask("tools/call", {"name": "t"}, **meta)
        guest.endpoint.notification("notifications/roots/list_changed", Raw(b"{}"))
        with pytest.raises(RpcError):
            await guest.ask("prompts/get", {"name": "p"})
        assert guest.told == []


async def test_what_was_said_of_a_call_meanwhile_is_told_when_its_client_goes_on_with_it(
    tmp_path: Path,
) -> None:
    told = [
        says("notifications/progress", params={"progressToken": token, "progress": step})
        for step in (1, 2)
        for token in range(20)
    ]
    logged = says("notifications/message", params={"level": "error", "data": "said"})
    child = questioner({"notifications/roots/list_changed": [*told, logged]})
    async with serving(tmp_path, child) as desk:
        guest = Guest(desk, "modern")
        meta: Json = {META + "logLevel": "debug", "progressToken": 7}
        asked = await guest.ask("tools/call", {"name": "t"}, **meta)
        guest.endpoint.notification("notifications/roots/list_changed", Raw(b"{}"))
        with pytest.raises(RpcError):
            await guest.ask("prompts/get", {"name": "p"})
        going_on = guest.ask("tools/call", retry({"name": "t"}, asked), progressToken=8)
        calling = asyncio.ensure_future(going_on)
        await guest.until(lambda: len(guest.told) == 3)
        calling.cancel()
        assert [params for _, params in guest.told] == [
            {"progressToken": 8, "progress": 1},
            {"progressToken": 8, "progress": 2},
            {"level": "error", "data": "said", "logger": "script"},
        ]


async def test_a_child_that_asked_hears_at_once_that_its_client_has_left(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with serving(tmp_path, questioner({}, notes)) as desk:
        guest = Guest(desk, "modern")
        assert (await guest.call("t"))["resultType"] == "input_required"
        guest.suspended_calls.close()
        await until_true(lambda: "client went away" in notes.read_text("utf-8"))


async def test_who_parks_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suspended_calls, "_MOST_PARKED", 3)
    async with serving(tmp_path, frank_entry("modern")) as desk:
        guest = Guest(desk, "modern")
        call = guest.named("modern", that_asks("name"))
        for _ in range(3):
            assert (await guest.ask("tools/call", call))["resultType"] == "input_required"
        assert "too many" in (await guest.refused("tools/call", call)).message
