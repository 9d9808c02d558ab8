"""Clients that cannot ask are kept waiting while a person answers at the desk."""

import asyncio
import re
import sys

import pytest

from gate.ground import FORMS, PATIENCE, Era, Gate, again, answered, asked, call, fault, run, said
from support.mcp_stdio import StdioClient
from support.processes import until_true
from support.requirements import attack, requirement

BOTH_ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])


def begun(client: StdioClient, subtool: str, text: str) -> int:
    return client.begin("tools/call", call(subtool, text=text))


@requirement("S3.26", "S3.33")
@BOTH_ERAS
async def test_a_held_call_runs_when_it_is_approved_while_it_waits(gate: Gate, era: Era) -> None:
    async with gate.window(era, capabilities={}) as client:
        waiting = begun(client, "write", "approved")
        entry = await gate.decide("approve")
        assert entry["client"].startswith("switchboard-tests")
        assert said((await client.answer_to(waiting))["result"]) == "written: approved"
        # It was for that call.
        waiting = begun(client, "write", "approved")
        await gate.decide("deny")
        answer = (await client.answer_to(waiting))["result"]
        assert fault(answer)["reason"] == "approval-denied"
    assert gate.written == ["approved"]


async def test_a_question_that_a_client_shows_can_be_answered_at_the_desk(gate: Gate) -> None:
    async with gate.window() as client:
        waiting = begun(client, "write", "approved")
        question = await asked(client)
        await gate.decide("approve")
        assert said((await client.answer_to(waiting))["result"]) == "written: approved"
        # What is shown there is of no use any more, and an answer to it changes nothing.
        withdrawn = await client.message("notifications/cancelled")
        assert withdrawn["params"]["requestId"] == question["id"]
        answered(client, question, "allow_once")
        waiting = begun(client, "write", "denied")
        await asked(client)
        await gate.decide("deny")
        assert fault((await client.answer_to(waiting))["result"])["reason"] == "approval-denied"
    assert gate.written == ["approved"]


async def test_a_question_that_was_a_result_can_be_answered_at_the_desk(gate: Gate) -> None:
    async with gate.window("modern") as client:
        asking = await run(client, "write", text="approved")
        assert asking["resultType"] == "input_required"
        await gate.decide("approve")
        await until_true(lambda: gate.written == ["approved"])
        # Whatever the client brings, it hears what came of its call.
        params = again(asking, call("write", text="approved"), "decline")
        told = await client.request("tools/call", params)
        assert "written: approved" in told["content"][0]["text"]
        assert "the user said no to this call" in told["content"][1]["text"]
    assert gate.written == ["approved"]


@requirement("S3.36")
async def test_trust_for_the_session_can_be_given_at_the_desk(gate: Gate) -> None:
    async with gate.window(capabilities={}) as client:
        waiting = begun(client, "write", "one")
        await gate.decide("approve", "--session")
        await client.answer_to(waiting)
        assert said(await run(client, "write", text="two")) == "written: two"
    assert gate.written == ["one", "two"]


async def test_a_later_identical_call_uses_the_approval_and_only_one_does(gate: Gate) -> None:
    async with gate.window(capabilities={}, command=gate.hurried(hold_s=0.3)) as client:
        refused = fault(await run(client, "write", text="later"))
        assert refused["reason"] == "approval-required"
        assert refused["details"]["approval_id"] in refused["hint"]
        # A time as people and models read it, not a number of seconds.
        assert re.fullmatch(r"2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ", refused["details"]["expires_at"])
        assert gate.written == []
        entry = await gate.decide("approve")
        assert entry["id"] == refused["details"]["approval_id"]
        other = fault(await run(client, "write", text="other"))
        assert other["reason"] == "approval-required"
        begun_at_once = [begun(client, "write", "later") for _ in range(20)]
        answers = await asyncio.gather(*map(client.answer_to, begun_at_once))
    told = [each["result"] for each in answers if not each["result"].get("isError")]
    # Whoever sent the same again before the answer came is told what became of the first.
    ran = [each for each in told if "switchboard/repeats" not in each.get("_meta", {})]
    assert [said(each) for each in ran] == ["written: later"]
    assert gate.written == ["later"]


async def test_an_approval_that_is_not_used_in_time_is_gone(gate: Gate) -> None:
    async with gate.window(capabilities={}, command=gate.hurried(hold_s=0.2, ttl_s=2)) as client:
        await run(client, "write", text="late")
        entry = await gate.decide("approve")
        # The command line has the usual two minutes, so the question itself is made to end.
        denied = await gate.type("approvals", "approve", entry["id"], "--yes")
        assert denied.code != 0
        assert "it is no longer waiting: approved" in denied.err
    # The session that asked is over, and what it was given with it.
    async with gate.window(capabilities={}, command=gate.hurried(hold_s=0.2)) as client:
        assert fault(await run(client, "write", text="late"))["reason"] == "approval-required"
    assert gate.written == []


WRAPPERS = {
    "nothing": [],
    "a shell": ["sh", "-c", '"$@"; exit $?', "sh"],
    "a session of its own": ["setsid", "--wait"],
    "a runner": ["timeout", "90"],
    "a script": ["{script}"],
    "several": ["{script}", "setsid", "--wait", "sh", "-c", '"$@"; exit $?', "sh"],
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
@attack("A1")
async def test_the_client_that_asks_cannot_answer_itself(gate: Gate, wrapper: str) -> None:
    """A client that runs our own command, as an agent with a shell would.

    It starts us through the same wrapper, so that the nearest program is not the client.
    """
    out = gate.workspace.root / "out.txt"
    script = gate.workspace.root.parent / "run-it"
    script.write_text('#!/bin/sh\n"$@"\nexit $?\n', "utf-8")
    script.chmod(0o755)
    through = [word.format(script=script) for word in WRAPPERS[wrapper]]
    cheat = (
        "import subprocess, sys, json\n"
        f"through = {through!r}\n"
        "shim = subprocess.Popen([*through, *sys.argv[2:]])\n"
        "def typed(*words):\n"
        "    return subprocess.run([*through, 'switchboard', 'approvals', *words], "
        "capture_output=True, text=True)\n"
        "while not (found := json.loads(typed('list', '--json').stdout)['approvals']): pass\n"
        "done = typed('approve', found[0]['id'], '--yes')\n"
        "open(sys.argv[1], 'w').write(done.stderr or 'approved')\n"
        "shim.wait()\n"
    )
    command = [sys.executable, "-c", cheat, str(out), *gate.workspace.command("mcp")]
    async with gate.window(capabilities={}, command=command) as client:
        waiting = begun(client, "write", "self-made")
        await until_true(lambda: out.exists() and bool(out.read_text("utf-8")), PATIENCE)
        assert "which cannot answer itself" in out.read_text("utf-8")
        assert gate.written == []
        await gate.decide("deny")
        await client.answer_to(waiting)
    assert gate.written == []


async def test_the_console_alone_counts_where_the_user_wants_that(gate: Gate) -> None:
    gate.guard(approval_channel="console")
    async with gate.window(capabilities=FORMS) as client:
        waiting = begun(client, "write", "by hand")
        await gate.decide("approve")
        assert said((await client.answer_to(waiting))["result"]) == "written: by hand"
        assert [m for m in client.messages if m.get("method") == "elicitation/create"] == []
    assert gate.written == ["by hand"]


async def test_where_nobody_may_be_asked_what_would_ask_is_refused(gate: Gate) -> None:
    gate.guard(approval_channel="none")
    async with gate.window(capabilities=FORMS) as client:
        assert fault(await run(client, "write", text="no"))["reason"] == "approval-unavailable"
        assert said(await run(client, "read")) == ""
        assert await gate.waiting(0) == []
    assert gate.written == []


@requirement("S3.26")
async def test_two_hundred_questions_at_once_are_three(gate: Gate) -> None:
    async with gate.window(capabilities={}) as client:
        calls = [begun(client, "write", str(number)) for number in range(200)]
        refused = [await client.answer_to(each) for each in calls[3:]]
        assert {fault(each["result"])["reason"] for each in refused} == {"too-many-questions"}
        assert len(await gate.waiting(3)) == 3
        # Another window still can ask.
        async with gate.window(capabilities={}) as other:
            waiting = begun(other, "write", "other")
            listed = await gate.waiting(4)
            own = next(e for e in listed if e["session"] != listed[0]["session"])
            await gate.type("approvals", "approve", own["id"], "--yes")
            assert said((await other.answer_to(waiting))["result"]) == "written: other"
    assert gate.written == ["other"]
