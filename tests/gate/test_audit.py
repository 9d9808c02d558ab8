"""Every call leaves its records, whatever became of it, and nothing runs that cannot be noted."""

import json
import os
import pwd
import re
import signal

import pytest

from gate.ground import (
    FORMS,
    SUITE,
    Era,
    Gate,
    answered,
    asked,
    call,
    fault,
    questions_to,
    run,
    run_answering,
    said,
)
from support.daemons import daemon_pid
from support.mcp_stdio import text_of
from support.processes import children_of, until_gone, until_true
from support.requirements import attack, requirement
from support.workspace import Json

BOTH_ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
SECRET = "swordfish-4711"


def events(records: list[Json]) -> list[str]:
    return [record["event"] for record in records]


@requirement("S3.33", "S3.34", "S3.63")
@BOTH_ERAS
async def test_each_way_that_a_call_can_go_leaves_its_records(gate: Gate, era: Era) -> None:
    async with gate.window(era) as client:
        for decision in ("allow_once", "deny", "cancel", "allow_session"):
            await run_answering(client, decision, "write", text=decision)
        await run(client, "write", text="by trust")
        await run(client, "read")
        await client.introspect(SUITE)
    decided = await gate.records(event="approval.decided", tool="write")
    assert [(r["approval"]["decision"], r["approval"]["mode"]) for r in decided] == [
        ("approved", "once"),
        ("denied", "once"),
        ("cancelled", "once"),
        ("approved", "session"),
    ]
    for record in decided:
        assert STAMP.fullmatch(record["ts"])
        assert record["session_id"]
        assert re.fullmatch(r"[0-9a-f]{64}", record["args_sha256"])
        assert record["approval"]["channel"] == "client"
    assert len(await gate.records(event="approval.requested", tool="write")) == 4
    finished = await gate.records(event="tool.call.finished", tool="write")
    assert [(r["approval"]["mode"], r["approval"]["channel"]) for r in finished] == [
        ("once", "client"),
        ("session", "client"),
        ("session", "trust"),
    ]
    refused = await gate.records(event="tool.call.refused")
    assert [r["reason"] for r in refused] == ["approval-denied", "approval-cancelled"]
    for record in finished:
        assert record["status"] == "ok"
        assert record["started"] <= record["ended"]
        assert record["sandbox_profile"] == "none"
        assert record["cwd"] == str(gate.workspace.settings / "mcps" / "ledger")
        assert record["via"] == SUITE
        assert record["server"] == "ledger"
        assert re.fullmatch(r"[0-9a-f]{64}", record["tool_def_hash"])
        assert record["launch_fingerprint"] == decided[0]["launch_fingerprint"]
        assert record["bytes_result"] > 0
    [read] = await gate.records(event="tool.call.finished", tool="read")
    assert read["approval"]["decision"] == "not_required"
    assert gate.written == ["allow_once", "allow_session", "by trust"]
    await gate.verified()


@requirement("S3.63", "S3.92")
async def test_each_record_names_the_user_that_it_ran_as(gate: Gate) -> None:
    async with gate.window() as client:
        await run_answering(client, "allow_once", "write", text="x")
        await run(client, "read")
    uid, name = os.getuid(), pwd.getpwuid(os.getuid()).pw_name
    records = await gate.records()
    assert set(events(records)) == {
        *("approval.requested", "approval.decided", "tool.call.started", "tool.call.finished")
    }
    assert {record["principal"] for record in records} == {f"uid:{uid} {name}"}
    assert {record.get("uid0", False) for record in records} == {uid == 0}


@requirement("S3.70", "S3.71", "S3.99", "S3.100", "S3.101")
@BOTH_ERAS
async def test_the_id_in_an_error_finds_everything_about_the_call(gate: Gate, era: Era) -> None:
    async with gate.window(era) as client:
        refused = await run_answering(client, "deny", "write", text="no")
        unknown = await run(client, "wriet", text="no")
    gate.workspace.stop_daemon()
    for result, reason, wanted in (
        (refused, "approval-denied", ["approval.requested", "approval.decided"]),
        (unknown, "unknown-subtool", []),
    ):
        text = text_of(result)
        [call_id] = re.findall(r"\[([0-9a-f]+-\d+)\]", text)
        assert fault(result)["call_id"] == call_id
        assert "Traceback" not in text
        assert str(gate.workspace.root) not in text
        shown = (await gate.type("audit", "show", call_id, "--json")).report
        records = [record["record"] for record in shown["records"]]
        assert events(records) == [*wanted, "tool.call.refused"]
        assert records[-1]["reason"] == reason
        people = await gate.type("audit", "show", call_id)
        assert people.code == 0
        assert reason in people.out


@requirement("S3.70", "S3.71")
async def test_calls_that_are_typed_are_told_apart_by_their_ids(gate: Gate) -> None:
    words = ("call", SUITE, "read", "--json")
    typed = [(await gate.type(*words)).report["call_id"] for _ in range(2)]
    failed = await gate.type("call", SUITE, "wriet", "--json")
    ids = [*typed, failed.report["details"]["call_id"]]
    assert len(set(ids)) == 3
    for call_id, event in zip(ids, ["finished", "finished", "refused"], strict=True):
        shown = (await gate.type("audit", "show", call_id, "--json")).report
        assert events([each["record"] for each in shown["records"]]) == [f"tool.call.{event}"]
    for_people = await gate.type("call", SUITE, "wriet")
    [call_id] = re.findall(r"^  call_id: (\S+)$", for_people.err, re.MULTILINE)
    assert (await gate.type("audit", "show", call_id)).code == 0


@requirement("S3.67", "S3.68")
async def test_no_argument_result_or_variable_is_in_any_file_of_ours(gate: Gate) -> None:
    gate.workspace.child("ledger", gate.script, env={"LEDGER_TOKEN": f"{SECRET}-env"})
    async with gate.window() as client:
        await run_answering(client, "allow_once", "write", text="shown", pin=SECRET)
        await run_answering(client, "deny", "write", text=f"{SECRET}-text", pin=SECRET)
        await run(client, "read")
    gate.workspace.stop_daemon()
    files = [path for path in gate.workspace.home.rglob("*") if path.is_file()]
    assert any("audit" in str(path) for path in files)
    holding = {path.name for path in files if f"{SECRET}-env".encode() in path.read_bytes()}
    assert holding == set()
    logs = [path for path in files if path.parts[-2] in {"audit", "logs", "log"}]
    assert logs
    assert [path.name for path in logs if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("decision", ["allow_once", "allow_session"])
@attack("F3")
async def test_what_cannot_be_noted_does_not_start_and_what_only_reads_goes_on(
    gate: Gate, decision: str
) -> None:
    # A file where the folder should be stops root as well as anybody.
    folder = gate.workspace.home / "audit"
    folder.write_text("", "utf-8")
    async with gate.window() as client:
        assert said(await run(client, "read")) == ""
        begun = client.begin("tools/call", call("write", text="unnoted"))
        answered(client, await asked(client), decision)
        refused = fault((await client.answer_to(begun))["result"])
        assert (refused["code"], refused["reason"]) == ("unavailable", "audit-unwritable")
        assert str(gate.workspace.home) not in json.dumps(refused)
        assert gate.written == []
        assert said(await run(client, "read")) == ""
        # As soon as it can be written again, the call runs, and what waited is written too.
        folder.unlink()
        result = await run_answering(client, "allow_once", "write", text="noted")
        assert said(result) == "written: noted"
    assert gate.written == ["noted"]
    assert await gate.records(tool="read")
    await gate.verified()


@requirement("S3.63")
async def test_a_daemon_that_is_killed_in_the_middle_has_noted_what_it_began(gate: Gate) -> None:
    async with gate.window(capabilities=FORMS) as client:
        begun = client.begin("tools/call", call("begin", text="begun"))
        answered(client, await asked(client), "allow_once")
        await until_true(lambda: gate.written == ["begun"])
        daemon = daemon_pid(gate.workspace)
        family = children_of(daemon)
        assert family
        os.kill(daemon, signal.SIGKILL)
        await until_gone([daemon, *family])
        ended = (await client.answer_to(begun))["error"]["message"]
        assert "ended while this call was open" in ended
        assert len(questions_to(client)) == 1
    [started] = await gate.records(event="tool.call.started")
    assert (started["tool"], started["approval"]["decision"]) == ("begin", "approved")
    assert await gate.records(event="approval.decided", tool="begin")
    assert await gate.records(event="tool.call.finished", tool="begin") == []
    await gate.verified()
    # The next daemon goes on with the log, and the approval that was used stays used.
    async with gate.window() as client:
        assert fault(await run_answering(client, "deny", "begin", text="begun"))
    assert gate.written == ["begun"]
    await gate.verified()


@requirement("S3.70", "S3.71", "S3.109")
async def test_a_call_that_ran_out_of_time_is_told_shortly_and_found_by_its_id(gate: Gate) -> None:
    gate.workspace.child("ledger", gate.script, rpcTimeoutMs=500)
    async with gate.window() as client:
        late = await run_answering(client, "allow_once", "begin", text="begun")
        assert fault(late)["code"] == "deadline_exceeded"
        assert len(text_of(late)) < 400
        cancelled = client.begin("tools/call", call("begin", text="cancelled"))
        answered(client, await asked(client), "allow_once")
        await until_true(lambda: len(gate.written) == 2)
        await client.notify("notifications/cancelled", {"requestId": cancelled})
        await client.request("ping")
    [record] = await gate.records(event="tool.call.finished", correlation_id=fault(late)["call_id"])
    assert (record["status"], record["tool"]) == ("deadline_exceeded", "begin")
    ends = await gate.records(event="tool.call.finished", tool="begin")
    assert [end["status"] for end in ends] == ["deadline_exceeded", "cancelled"]
