"""What those who wait for an answer are told, and whether it is true: models, hosts and people."""

import asyncio
import os
import signal
from typing import Any

import pytest

from gate.ground import FORMS, Gate, again, answered, asked, call, fault, run, said
from support.daemons import daemon_pid
from support.mcp_stdio import StdioClient
from support.processes import until_true
from support.reading import read_it, reply
from support.requirements import requirement
from support.workspace import Json, child_command

BOTH_ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])


def notes(result: Json) -> list[str]:
    """Give what we said of a call behind its result."""
    return [block["text"] for block in result["content"][1:]]


async def suspended(client: StdioClient, params: Json) -> Json:
    asking = await client.request("tools/call", params)
    assert asking["resultType"] == "input_required", asking
    await read_it()
    return asking


# Progress


@pytest.mark.parametrize("capabilities", [{}, FORMS], ids=["cannot ask", "may not answer"])
@BOTH_ERAS
async def test_a_host_is_told_what_its_call_waits_for(
    gate: Gate, era: Any, capabilities: Json
) -> None:
    gate.guard(approval_channel="console")
    async with gate.window(era, capabilities=capabilities) as client:
        params = {**call("write", text="later"), "_meta": {"progressToken": "t"}}
        if client.era_meta is not None:
            client.era_meta |= {"progressToken": "t"}
        begun = client.begin("tools/call", params)
        told = (await client.message("notifications/progress"))["params"]
        [entry] = await gate.waiting()
        assert told["progressToken"] == "t"
        assert told["message"] == (
            f"waiting for a person: switchboard approvals approve {entry['id']}"
        )
        # Whatever the tool itself tells later is more.
        assert 0 < told["progress"] < 0.1
        await gate.decide("approve")
        assert said((await client.answer_to(begun))["result"]) == "written: later"


async def test_who_shows_the_question_itself_is_not_told(gate: Gate) -> None:
    async with gate.window() as client:
        params = {**call("write", text="now"), "_meta": {"progressToken": "t"}}
        begun = client.begin("tools/call", params)
        answered(client, await asked(client), "allow_once")
        await client.answer_to(begun)
        assert not [m for m in client.messages if m.get("method") == "notifications/progress"]


# Runs without a person


async def answer_at_once(client: StdioClient) -> None:
    """Answer every question before anybody could have read it, as a program does."""
    count = 0
    while True:
        found = [m for m in client.messages if m.get("method") == "elicitation/create"]
        for question in found[count:]:
            client.send({"jsonrpc": "2.0", "id": question["id"], "result": reply("cancel")})
        count = len(found)
        await asyncio.sleep(0.01)


@requirement("S3.35", "S3.37")
async def test_a_run_without_a_person_is_told_how_long_an_answer_counts(gate: Gate) -> None:
    async with gate.window(command=gate.hurried(hold_s=1.0)) as client:
        program = asyncio.ensure_future(answer_at_once(client))
        refused = fault(await run(client, "write", text="later"))
        question = refused["details"]["approval_id"]
        assert refused["reason"] == "approval-required"
        assert "answered at once, without asking its user" in refused["message"]
        assert "an answer counts only while this run lasts" in refused["hint"]
        assert f"switchboard approvals approve {question}" in refused["hint"]
        # While it lasts, the same call uses the answer.
        await gate.decide("approve")
        assert said(await run(client, "write", text="later")) == "written: later"
        refused = fault(await run(client, "write", text="more"))
        question = refused["details"]["approval_id"]
        program.cancel()
    # Once it has ended, whoever answers is told that, and what helps.
    late = await gate.type("approvals", "approve", question, "--yes")
    assert late.code == 1
    assert "the client that asked has ended" in late.err
    assert "an answer counts only while its client runs: switchboard approvals watch" in late.err
    assert gate.written == ["later"]


# Replies that come too late


@pytest.mark.parametrize("decision", ["decline", "cancel"])
async def test_a_no_after_a_yes_elsewhere_is_told_with_the_result(
    gate: Gate, decision: str
) -> None:
    params = call("write", text="once")
    async with gate.window("modern") as client:
        asking = await suspended(client, params)
        await gate.decide("approve")
        await until_true(lambda: gate.written == ["once"])
        late = await client.request("tools/call", again(asking, params, decision))
        assert "written: once" in late["content"][0]["text"]
        [note] = notes(late)
        assert note.startswith("Too late, the user said no to this call in the client:")
        assert "it had been approved at 20" in note
        assert "Z (cli), and was let run." in note
    assert gate.written == ["once"]


async def test_words_of_ours_are_read_also_beside_structured_content(gate: Gate) -> None:
    """Hosts give their model the structured content of a result, and then none of its texts."""
    gate.guard(**{"results.mode": "passthrough"})
    sums = child_command("echo_child", "sums")
    gate.workspace.child("sums", sums, trustAnnotations=False)
    gate.workspace.child("shown", sums, trustAnnotations=False, expose="tools")
    args = {"a": 1, "b": 2}
    through = {"action": "call", "subtool": "add", "args": args}
    async with gate.window("modern") as client:
        await client.tools()
        for params in (
            {"name": "sums_suite", "arguments": through},
            {"name": "add", "arguments": args},
        ):
            asking = await suspended(client, params)
            await gate.decide("approve")
            late = await client.request("tools/call", again(asking, params, "decline"))
            texts = [block["text"] for block in late["content"]]
            assert texts[-1].startswith("Too late, the user said no to this call in the client:")
            # Under its own name a tool may have promised its client a structure.
            is_kept = params["name"] == "add"
            assert ("structuredContent" in late) == is_kept
            assert texts[:-1] == (["3"] if is_kept else ['{"sum":3}', "3"])


async def test_a_yes_after_a_yes_elsewhere_needs_no_word(gate: Gate) -> None:
    params = call("write", text="once")
    async with gate.window("modern") as client:
        asking = await suspended(client, params)
        await gate.decide("approve")
        late = await client.request("tools/call", again(asking, params, "allow_once"))
        assert notes(late) == []
    assert gate.written == ["once"]


async def test_a_yes_after_a_no_elsewhere_is_told_and_runs_nothing(gate: Gate) -> None:
    params = call("write", text="no")
    async with gate.window("modern") as client:
        asking = await suspended(client, params)
        await gate.decide("deny")
        late = await client.request("tools/call", again(asking, params, "allow_once"))
        assert fault(late)["reason"] == "approval-denied"
        [note] = notes(late)
        assert "the user agreed to this call: it had been denied at " in note
    assert gate.written == []


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        ("allow_once", "Too late, the user agreed to this call: its time was over at "),
        ("decline", "The user has since said no to this call."),
    ],
)
async def test_a_reply_after_its_time_is_told(gate: Gate, decision: str, told: str) -> None:
    gate.guard(approval_timeout=1)
    params = call("write", text="late")
    async with gate.window("modern") as client:
        asking = await suspended(client, params)
        async with asyncio.timeout(60):
            while (await gate.type("approvals", "--json")).report["approvals"]:
                pass
        late = await client.request("tools/call", again(asking, params, decision))
        assert fault(late)["reason"] == "approval-expired"
        [note] = notes(late)
        assert note.startswith(told)
    assert gate.written == []


# A daemon that is killed


async def test_a_call_that_only_waited_for_an_answer_is_known_not_to_have_run(gate: Gate) -> None:
    async with gate.window() as client:
        begun = client.begin("tools/call", call("begin", text="runs"))
        answered(client, await asked(client), "allow_once")
        await until_true(lambda: gate.written == ["runs"])
        waits = client.begin("tools/call", call("write", text="waits"))
        await client.message("elicitation/create")
        os.kill(daemon_pid(gate.workspace), signal.SIGKILL)
        told = (await client.answer_to(waits))["error"]
        assert told["message"].endswith("it has not run")
        assert told["data"]["hint"] == "make the call again to ask again"
        told = (await client.answer_to(begun))["error"]
        assert told["message"].endswith("it may or may not have run")
    assert gate.written == ["runs"]


async def test_a_call_that_was_approved_elsewhere_may_have_run(gate: Gate) -> None:
    async with gate.window() as client:
        begun = client.begin("tools/call", call("begin", text="runs"))
        await asked(client)
        await gate.decide("approve")
        await until_true(lambda: gate.written == ["runs"])
        os.kill(daemon_pid(gate.workspace), signal.SIGKILL)
        told = (await client.answer_to(begun))["error"]
        assert told["message"].endswith("it may or may not have run")
