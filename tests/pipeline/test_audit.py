"""The gates that write to the audit log, alone and on the road, and with the real log behind."""

import asyncio
from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace

from approvals.ground import a_launch
from fakes.audit import MemoryAudit
from fakes.calls import FakeProvider, Run, a_call, a_session, a_tool, answer, outcome
from fakes.events import MemoryEvents
from fakes.time import in_fake_time
from support.requirements import attack, requirement
from switchboard.audit.filter import record_in
from switchboard.audit.paths import AuditPaths
from switchboard.audit.reader import AuditReader
from switchboard.audit.store import SqliteAudit
from switchboard.core.audit import AuditApproval, AuditRecord
from switchboard.core.calls.call import Call, Figures, Outcome
from switchboard.core.catalog.tools import Effects, ToolSpec
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Gate, Next
from switchboard.core.questions import Approval
from switchboard.core.stores import AuditStore
from switchboard.pipeline.call_records import tokens_of
from switchboard.pipeline.gates.audit import AuditGates
from switchboard.pipeline.order import build_road

PATIENCE = 15.0
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "deep": {}, "n": {}, "all": {}, "no": {}},
}


def reading(name: str = "look") -> ToolSpec:
    return replace(a_tool(name), effects=Effects(read_only=True))


def a_gate(log: AuditStore) -> Gate:
    """Give the outer gate with the inner one right behind it."""
    audit = AuditGates(log)
    return lambda call, proceed, /: audit.ends(call, lambda same: audit.begins(same, proceed))


def a_road(
    log: AuditStore, run: Run = answer, *, deny: tuple[str, ...] = (), narrows: bool = False
) -> Next:
    provider = FakeProvider(run=run, narrows=narrows)
    return build_road({"fake": provider}, Visibility(deny=deny), MemoryEvents(), audit=log)


# What is written


@requirement("S3.63", "S3.92")
async def test_a_record_says_who_ran_what_where_with_whose_leave_and_how_it_went() -> None:
    log = MemoryAudit()
    agreed = Approval(id="a1", digest="d1", mode="once", channel="cli")
    call = replace(
        a_call(a_tool(timeout_s=30), {"path": "x"}, client_timeout_s=2.5),
        session=replace(a_session("s1"), client="editor 1.0", protocol="2025-11-25"),
        launch=a_launch(cwd="/workspace/sub", sandbox="default", network=False),
        approval=agreed,
        via=a_tool("files"),
    )

    async def run(_: Call) -> Outcome:
        figures = Figures(exit_status=3, bytes_stdout=120, bytes_stderr=7)
        return replace(outcome("four", is_error=True), figures=figures)

    await a_gate(log)(call, run)
    started, finished = log.records
    assert started.event == "tool.call.started"
    assert finished.event == "tool.call.finished"
    for record in (started, finished):
        assert record.correlation_id == "call-1"
        assert record.session_id == "s1"
        assert record.client == "editor 1.0"
        assert (record.tool, record.via) == ("tool", "files")
        assert record.args_sha256 == f"salted:{bytes(call.arguments).hex()}"
        assert (record.cwd, record.sandbox_profile) == ("/workspace/sub", "default")
        assert (record.server, record.launch_fingerprint) == ("notes", "f1")
        assert (record.network, record.env_names) == (False, ())
        assert record.tool_def_hash
        assert record.timeout_ms == 2500
        assert record.approval == AuditApproval(
            decision="approved", id="a1", mode="once", channel="cli", digest="d1"
        )
        assert record.started == started.ts
    assert finished.started < finished.ended
    assert finished.status == "tool_error"
    assert (finished.exit_status, finished.bytes_stdout, finished.bytes_stderr) == (3, 120, 7)
    assert finished.bytes_result == 4


async def test_a_call_that_needed_no_leave_says_so() -> None:
    log = MemoryAudit()
    await a_gate(log)(a_call(reading()), answer)
    assert [record.approval for record in log.records] == [AuditApproval(decision="not_required")]


async def test_code_of_ours_is_written_down_to_run_where_its_session_works() -> None:
    log = MemoryAudit()
    gate = a_gate(log)
    await gate(a_call(reading()), answer)
    await gate(a_call(reading(), session=a_session(cwd="/elsewhere")), answer)
    assert [record.cwd for record in log.records] == ["/workspace", "/elsewhere"]


@in_fake_time
async def test_a_call_that_changes_nothing_is_one_record_unless_it_takes_its_time() -> None:
    log = MemoryAudit()
    gate = a_gate(log)
    await gate(a_call(reading()), answer)
    (record,) = log.records
    assert record.event == "tool.call.finished"
    assert record.started <= record.ended
    task = asyncio.ensure_future(gate(a_call(reading()), forever))
    async with asyncio.timeout(PATIENCE):
        while len(log.records) < 2:  # noqa: ASYNC110 - a list tells nobody
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log.events[1:] == ["tool.call.started", "tool.call.finished"]


@requirement("S3.67")
async def test_values_and_names_that_nobody_declared_stay_out() -> None:
    log = MemoryAudit()
    arguments = {
        "path": "/very/secret/place",
        "deep": {"token": "sk-12345"},
        "n": 5,
        "all": [1],
        "no": None,
        "ghp_abcdef": "a name that is a secret",
    }
    await a_gate(log)(a_call(a_tool(schema=SCHEMA), arguments), answer)
    record = log.records[0]
    assert record.args_shape == "path:string deep:object n:number all:array no:null +1"
    for text in ("secret", "sk-12345", "ghp_abcdef"):
        assert text not in repr(replace(record, args_sha256=""))


@pytest.mark.parametrize("arguments", [b"[1]", b'"text"', b"{broken"])
async def test_arguments_of_any_shape_are_written_down(arguments: bytes) -> None:
    log = MemoryAudit()
    await a_gate(log)(replace(a_call(), arguments=Raw(arguments)), answer)
    assert log.records[0].args_shape == "not an object"


# Before it runs


async def test_a_call_with_side_effects_waits_for_the_disk_and_others_do_not() -> None:
    log = MemoryAudit()
    ran = asyncio.Event()

    async def run(_: Call) -> Outcome:
        ran.set()
        return outcome()

    log.disk.clear()
    gate = a_gate(log)
    await gate(a_call(reading()), answer)
    task = asyncio.ensure_future(gate(a_call(a_tool()), run))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not ran.is_set()
    log.disk.set()
    await task
    assert ran.is_set()
    assert [record.tool for record in log.awaited] == ["tool"]


async def test_without_a_record_a_call_with_side_effects_does_not_start() -> None:
    log = MemoryAudit()
    log.is_unwritable = True
    ran: list[str] = []

    async def run(call: Call) -> Outcome:
        ran.append(call.tool.name)
        return outcome()

    gate = a_gate(log)
    with pytest.raises(Fault) as caught:
        await gate(a_call(a_tool("write")), run)
    assert (caught.value.code, caught.value.reason) == (FaultCode.UNAVAILABLE, "audit-unwritable")
    await gate(a_call(reading("read")), run)
    assert ran == ["read"]


# How it ends


@requirement("S3.109")
@in_fake_time
async def test_a_timeout_and_a_cancellation_leave_their_end() -> None:
    log = MemoryAudit()
    road = a_road(log, forever)
    with pytest.raises(Fault):
        await road(a_call(a_tool(timeout_s=0.02)))
    task = asyncio.ensure_future(road(replace(a_call(), id="call-2")))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    ends = [record for record in log.records if record.event == "tool.call.finished"]
    assert [(end.correlation_id, end.status, end.reason) for end in ends] == [
        ("call-1", "deadline_exceeded", "tool-timeout"),
        ("call-2", "cancelled", "client-cancelled"),
    ]


async def test_a_fault_tells_of_the_process_that_it_ended() -> None:
    async def run(_: Call) -> Outcome:
        details = {"exit_status": -9, "bytes_stdout": 10, "bytes_stderr": "many"}
        raise Fault(FaultCode.DEADLINE_EXCEEDED, "tool-timeout", "late", details=details)

    log = MemoryAudit()
    with pytest.raises(Fault):
        await a_gate(log)(a_call(), run)
    end = log.records[-1]
    assert (end.exit_status, end.bytes_stdout, end.bytes_stderr) == (-9, 10, None)


async def test_an_error_of_ours_leaves_an_end_too() -> None:
    async def run(_: Call) -> Outcome:
        raise ZeroDivisionError

    log = MemoryAudit()
    with pytest.raises(Fault):
        await a_road(log, run)(a_call())
    assert [(record.event, record.status) for record in log.records] == [
        ("tool.call.started", ""),
        ("tool.call.finished", "internal"),
    ]


@requirement("S3.70", "S3.71", "S3.101")
async def test_the_id_of_a_refused_call_finds_a_record_and_only_one() -> None:
    log = MemoryAudit()
    with pytest.raises(Fault):
        await a_road(log, deny=("tool",))(a_call())
    schema = {"type": "object", "required": ["x"]}
    with pytest.raises(Fault):
        await a_road(log)(replace(a_call(a_tool(schema=schema)), id="call-2"))

    async def fail(_: Call) -> Outcome:
        raise Fault(FaultCode.UNAVAILABLE, "child-exited", "gone")

    with pytest.raises(Fault):
        await a_road(log, fail)(replace(a_call(), id="call-3"))
    assert [(r.correlation_id, r.event, r.reason) for r in log.records] == [
        ("call-1", "tool.call.refused", "unknown-tool"),
        ("call-2", "tool.call.refused", "arguments-invalid"),
        ("call-3", "tool.call.started", ""),
        ("call-3", "tool.call.finished", "child-exited"),
    ]


async def test_a_suite_call_is_written_down_as_its_subtool() -> None:
    log = MemoryAudit()
    await a_road(log, narrows=True)(a_call(a_tool("files")))
    assert {(record.tool, record.via) for record in log.records} == {("files/inner", "files")}


async def test_a_suite_call_that_is_refused_is_written_down_as_its_subtool() -> None:
    log = MemoryAudit()

    async def refuse(call: Call, _: Next) -> Outcome:
        raise Fault(FaultCode.PERMISSION_DENIED, "approval-denied", f"no {call.tool.name}")

    provider = FakeProvider(narrows=True, launch=lambda _: a_launch(server="disk"))
    road = build_road({"fake": provider}, Visibility(), MemoryEvents(), audit=log, approval=refuse)
    with pytest.raises(Fault):
        await road(a_call(a_tool("files")))
    [record] = log.records
    assert (record.event, record.server, record.tool, record.via) == (
        "tool.call.refused",
        "disk",
        "files/inner",
        "files",
    )


# With the real log


async def test_the_record_is_on_disk_before_the_tool_runs(tmp_path: Path) -> None:
    places = AuditPaths(tmp_path / "home")
    seen: list[str] = []

    async def run(_: Call) -> Outcome:
        seen.extend(record.event for record in written(places))
        return outcome()

    writer = SqliteAudit(str(places.home))
    try:
        await a_road(writer, run)(a_call())
    finally:
        writer.close()
    assert seen[-1] == "tool.call.started"
    assert [record.event for record in written(places)][-2:] == [
        "tool.call.started",
        "tool.call.finished",
    ]


@attack("F4")
async def test_an_unwritable_log_stops_what_has_side_effects_and_nothing_else(
    tmp_path: Path,
) -> None:
    (tmp_path / "home").write_text("a file where a folder should be", "utf-8")
    told: list[object] = []
    writer = SqliteAudit(str(tmp_path / "home"), tell=told.append)
    road = a_road(writer)
    try:
        for _ in range(2):
            assert await road(a_call(reading()))
            with pytest.raises(Fault) as caught:
                await road(a_call())
            assert caught.value.reason == "audit-unwritable"
            assert caught.value.hint
        await asyncio.sleep(0)
    finally:
        writer.close()
    assert len(told) == 1


async def forever(_: Call) -> Outcome:
    await asyncio.Event().wait()
    raise AssertionError


def written(places: AuditPaths) -> list[AuditRecord]:
    found = map(record_in, AuditReader(places).rows())
    return [record for record in found if record is not None]


def test_what_a_server_says_twice_is_read_once() -> None:
    said = b'{"content":[{"type":"text","text":"%b"}],"structuredContent":{"a":1}}' % (b"x " * 500)
    assert tokens_of(Outcome(raw=Raw(said))) < 20
    assert tokens_of(Outcome(raw=Raw(said.replace(b'{"a":1}', b"null")))) > 200
