"""A call of the modern era stands still while its client asks; nobody else can take it up."""

import asyncio
import os
import signal

import pytest

from gate.ground import FORMS, Gate, again, call, fault, questions_to, run, said
from support.daemons import daemon_pid
from support.mcp_stdio import RpcError, StdioClient
from support.processes import until_gone
from support.reading import read_it, reply
from support.requirements import attack, requirement
from support.workspace import Json

AT_ONCE = 50
MOST_PARKED = 16
SPENT = "unknown, spent or of another request"


async def suspended(client: StdioClient, params: Json) -> Json:
    asking = await client.request("tools/call", params)
    assert asking["resultType"] == "input_required", asking
    await read_it()
    return asking


async def test_an_answer_that_is_sent_fifty_times_at_once_runs_the_call_once(gate: Gate) -> None:
    params = call("write", text="once")
    async with gate.window("modern") as client:
        answer = again(await suspended(client, params), params, "allow_once")
        begun = [client.begin("tools/call", answer) for _ in range(AT_ONCE)]
        answers = await asyncio.gather(*map(client.answer_to, begun))
    ran = [each for each in answers if "result" in each]
    assert len(ran) == 1
    assert said(ran[0]["result"]) == "written: once"
    assert all(SPENT in each["error"]["message"] for each in answers if "error" in each)
    assert gate.written == ["once"]


async def test_of_fifty_identical_calls_sixteen_share_a_question_and_one_runs(gate: Gate) -> None:
    params = call("write", text="once")
    async with gate.window("modern") as client:
        calls = (client.request("tools/call", params) for _ in range(AT_ONCE))
        answers = await asyncio.gather(*calls)
        refused = [fault(each) for each in answers if each.get("isError")]
        asking = [each for each in answers if not each.get("isError")]
        assert {each["reason"] for each in refused} == {"too-many-identical-calls"}
        assert len(asking) == MOST_PARKED
        assert len({key for each in asking for key in each["inputRequests"]}) == 1
        [waiting] = await gate.waiting()
        await read_it()
        assert {each["details"]["approval_id"] for each in refused} == {waiting["id"]}
        begun = [client.begin("tools/call", again(each, params, "allow_once")) for each in asking]
        results = [(await client.answer_to(each))["result"] for each in begun]
    ran = [each for each in results if not each.get("isError")]
    assert [said(each) for each in ran] == ["written: once"]
    reasons = {fault(each)["reason"] for each in results if each.get("isError")}
    assert reasons == {"approval-used"}
    assert gate.written == ["once"]


async def test_a_call_that_its_client_forgot_does_not_hold_up_the_same_call(gate: Gate) -> None:
    params = call("write", text="again")
    async with gate.window("modern") as client:
        forgotten = await suspended(client, params)
        asking = await suspended(client, params)
        assert asking["requestState"] != forgotten["requestState"]
        assert said(await client.request("tools/call", again(asking, params, "allow_once")))
        late = await client.request("tools/call", again(forgotten, params, "allow_once"))
        assert fault(late)["reason"] == "approval-used"
    assert gate.written == ["again"]


@pytest.mark.parametrize(
    "state", ["x", "A" * 43, "../../etc/passwd", "\u0000", "%(state)s ", "%(state)sA"]
)
async def test_a_state_that_was_tampered_with_is_unknown(gate: Gate, state: str) -> None:
    params = call("write", text="no")
    async with gate.window("modern") as client:
        asking = await suspended(client, params)
        forged = {**again(asking, params, "allow_once")}
        forged["requestState"] = state % {"state": asking["requestState"]}
        with pytest.raises(RpcError, match=SPENT):
            await client.request("tools/call", forged)
    assert gate.written == []


async def test_a_state_does_not_move_to_other_arguments_or_another_tool(gate: Gate) -> None:
    params = call("write", text="asked")
    async with gate.window("modern") as client:
        answer = again(await suspended(client, params), params, "allow_once")
        for other in (call("write", text="other"), call("erase", text="asked"), call("read")):
            with pytest.raises(RpcError, match=SPENT):
                await client.request("tools/call", {**answer, **other})
        assert gate.written == []
        # What was asked still can be answered, and is what runs.
        assert said(await client.request("tools/call", answer)) == "written: asked"
    assert gate.written == ["asked"]


@attack("PB1", "PB2")
async def test_a_state_does_not_move_to_the_next_daemon(gate: Gate) -> None:
    params = call("write", text="no")
    async with gate.window("modern") as client:
        answer = again(await suspended(client, params), params, "allow_once")
        daemon = daemon_pid(gate.workspace)
        os.kill(daemon, signal.SIGKILL)
        await until_gone([daemon])
        with pytest.raises(RpcError, match=SPENT):
            await client.request("tools/call", answer)
        # What was asked before is nobody's question any more; the same call is asked about anew.
        asking = await suspended(client, params)
        assert asking["requestState"] != answer["requestState"]
        assert len(await gate.waiting()) == 1
    assert gate.written == []


@attack("H37")
async def test_a_state_does_not_move_to_another_window(gate: Gate) -> None:
    params = call("write", text="mine")
    async with gate.window("modern") as mine, gate.window("modern") as other:
        answer = again(await suspended(mine, params), params, "allow_once")
        with pytest.raises(RpcError, match=SPENT):
            await other.request("tools/call", answer)
    assert gate.written == []


async def test_answers_that_nobody_asked_for_are_worth_nothing(gate: Gate) -> None:
    params = call("write", text="no")
    keys = ("switchboard/approval", "switchboard/approval:", "switchboard/approval:abcdefgh")
    brought = {**params, "inputResponses": {key: reply("allow_once") for key in keys}}
    async with gate.window("modern") as client:
        asking = await suspended(client, brought)
        wrong = {**again(asking, params, "allow_once"), "inputResponses": brought["inputResponses"]}
        # The right state with the wrong answers leaves the question open.
        still = await client.request("tools/call", wrong)
        assert still["resultType"] == "input_required"
        assert gate.written == []
        denied = await client.request("tools/call", again(still, params, "deny"))
        assert fault(denied)["reason"] == "approval-denied"
    assert gate.written == []


@requirement("S3.26")
async def test_an_answer_of_one_question_is_not_one_of_the_next(gate: Gate) -> None:
    first, second = call("write", text="one"), call("write", text="two")
    async with gate.window("modern") as client:
        asking = await suspended(client, first)
        assert said(await client.request("tools/call", again(asking, first, "allow_once")))
        other = await suspended(client, second)
        assert not asking["inputRequests"].keys() & other["inputRequests"].keys()
        replayed = {**again(asking, second, "allow_once"), "requestState": other["requestState"]}
        assert (await client.request("tools/call", replayed))["resultType"] == "input_required"
    assert gate.written == ["one"]


@requirement("S3.26")
async def test_arguments_cannot_change_between_question_and_run(gate: Gate) -> None:
    """Behind the answer stands the call that was asked about, byte for byte."""
    params = call("write", text="harmless")
    async with gate.window("modern") as client:
        answer = again(await suspended(client, params), params, "allow_once")
        swapped = {**answer, "arguments": {**params["arguments"], "args": {"text": "harm"}}}
        with pytest.raises(RpcError, match=SPENT):
            await client.request("tools/call", swapped)
        [result] = [await client.request("tools/call", answer)]
        assert said(result) == "written: harmless"
    assert gate.written == ["harmless"]


async def test_a_client_without_forms_is_never_parked(gate: Gate) -> None:
    async with gate.window("modern", capabilities={}, command=gate.hurried(hold_s=0.3)) as client:
        assert fault(await run(client, "write", text="no"))["reason"] == "approval-required"
        assert questions_to(client) == []
    async with gate.window("modern", capabilities=FORMS) as client:
        assert (await suspended(client, call("write", text="no")))["requestState"]
    assert gate.written == []
