"""`switchboard audit`, as a person or a script uses it."""

import asyncio
import hashlib
import json
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from cli.commands import report_of, switchboard
from fakes.calls import FakeProvider, a_call, a_session, a_tool
from fakes.events import MemoryEvents
from support.requirements import requirement
from support.workspace import Workspace
from switchboard.audit.paths import AuditPaths
from switchboard.audit.store import SqliteAudit
from switchboard.core.audit import AuditApproval, AuditRecord
from switchboard.core.calls.call import Call, Outcome
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sessions import Era
from switchboard.core.text.stamps import stamp
from switchboard.pipeline.order import build_road
from switchboard.surface.results import fault_parts

PATIENCE = 30.0


def a_record(
    call: str, *, status: str = "ok", tool: str = "files/write", session: str = "s1"
) -> AuditRecord:
    return AuditRecord(
        ts=stamp(),
        event="tool.call.finished",
        correlation_id=call,
        session_id=session,
        tool=tool,
        status=status,
    )


def write(workspace: Workspace, records: Sequence[AuditRecord]) -> None:
    async def all_of_them() -> None:
        writer = SqliteAudit(str(workspace.home))
        for record in records:
            await writer.append(record)
        writer.close()

    asyncio.run(all_of_them())


def segment(workspace: Workspace) -> Path:
    return AuditPaths(workspace.home).segment(1)


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    denied = AuditRecord(
        ts=stamp(),
        event="approval.decided",
        correlation_id="s2-1",
        session_id="s2",
        tool="git/push",
        args_sha256="ab" * 32,
        approval=AuditApproval(decision="denied", id="a1"),
    )
    old = AuditRecord(ts="2020-01-01T00:00:00.000000Z", event="tool.call.finished", tool="old")
    write(
        workspace,
        [
            old,
            a_record("s1-1"),
            a_record("s1-2", status="permission_denied"),
            a_record("s2-9", tool="git/log", session="s2"),
            denied,
        ],
    )
    return workspace


def calls(workspace: Workspace, *words: str) -> list[str]:
    report = switchboard(workspace, "audit", "tail", "--json", *words).report
    return [each["record"].get("correlation_id", "") for each in report["records"]]


def test_a_log_that_is_not_there_yet_is_no_error(workspace: Workspace) -> None:
    shown = switchboard(workspace, "audit", "tail")
    assert (shown.code, shown.out) == (0, "")
    verified = switchboard(workspace, "audit", "verify")
    assert verified.code == 0
    assert "nothing has been written yet" in verified.err
    assert not (workspace.home / "audit").exists()


def test_tail_shows_the_latest_and_filters(filled: Workspace) -> None:
    assert calls(filled)[-4:] == ["s1-1", "s1-2", "s2-9", "s2-1"]
    assert calls(filled, "--last", "2") == ["s2-9", "s2-1"]
    assert calls(filled, "--tool", "git*") == ["s2-9", "s2-1"]
    assert calls(filled, "--session", "s1") == ["s1-1", "s1-2"]
    assert calls(filled, "--outcome", "permission_denied") == ["s1-2"]
    assert calls(filled, "--outcome", "denied") == ["s2-1"]
    assert "" in calls(filled, "--tool", "old")
    assert calls(filled, "--tool", "old", "--since", "1d") == []
    assert calls(filled, "--since", "2019-12-31T00:00:00Z", "--tool", "old") == [""]
    assert "nothing" not in switchboard(filled, "audit", "tail").out


@pytest.mark.parametrize(
    "words",
    [
        ("tail", "--since", "yesterday"),
        ("tail", "--last", "x"),
        ("verify", "--expect", "12"),
        ("verify", "word"),
        ("show",),
    ],
)
def test_a_wrong_word_is_explained(workspace: Workspace, words: tuple[str, ...]) -> None:
    done = switchboard(workspace, "audit", *words)
    assert done.code == 2
    assert "error:" in done.err


@requirement("S3.33", "S3.34")
def test_show_finds_a_call_or_a_number(filled: Workspace) -> None:
    shown = switchboard(filled, "audit", "show", "s2-1", "--json").report
    (placed,) = shown["records"]
    record = placed["record"]
    assert record["ts"]
    assert (record["session_id"], record["tool"]) == ("s2", "git/push")
    assert record["args_sha256"] == "ab" * 32
    assert record["approval"]["decision"] == "denied"
    by_number = switchboard(filled, "audit", "show", str(placed["seq"]))
    assert "git/push" in by_number.out
    missing = switchboard(filled, "audit", "show", "nobody-1", "--json")
    assert missing.code == 1
    assert missing.report["reason"] == "no-record"


@requirement("S3.70", "S3.71", "S3.101")
@pytest.mark.parametrize("which", ["\u00b2", "9" * 30, "9" * 5000])
def test_a_number_that_no_record_can_have_finds_none(filled: Workspace, which: str) -> None:
    done = switchboard(filled, "audit", "show", which, "--json")
    assert (done.code, done.report["reason"]) == (1, "no-record")


def test_the_id_in_an_error_finds_its_record(workspace: Workspace) -> None:
    """From the bytes that a client gets to the record on disk."""

    async def fail(_: Call) -> Outcome:
        raise Fault(FaultCode.UNAVAILABLE, "child-exited", "the server has ended")

    async def call() -> bytes:
        writer = SqliteAudit(str(workspace.home))
        provider = FakeProvider(run=fail)
        road = build_road({"fake": provider}, Visibility(), MemoryEvents(), audit=writer)
        made = a_call(a_tool("write"), session=a_session("3f9c2a71be"))
        try:
            await road(made)
        except Fault as fault:
            return b"".join(fault_parts(fault, made.id, Era.HANDSHAKE))
        finally:
            writer.close()
        raise AssertionError

    answer = asyncio.run(call()).decode()
    assert "call-1" in answer
    shown = switchboard(workspace, "audit", "show", "call-1", "--json").report
    events = [each["record"]["event"] for each in shown["records"]]
    assert events == ["tool.call.started", "tool.call.finished"]
    assert shown["records"][-1]["record"]["reason"] == "child-exited"


def test_verify_ends_with_1_and_says_what_and_where(filled: Workspace) -> None:
    good = switchboard(filled, "audit", "verify", "--json")
    assert (good.code, good.report["whole"]) == (0, True)
    mark = f"{good.report['last']}:{good.report['hash'][:16]}"
    assert switchboard(filled, "audit", "verify", "--expect", mark).code == 0
    database = sqlite3.connect(segment(filled), isolation_level=None)
    database.execute("DROP TRIGGER records_stay")
    database.execute("UPDATE records SET body = replace(body, 'denied', 'approved') WHERE seq = 6")
    database.close()
    bad = switchboard(filled, "audit", "verify", "--json")
    assert bad.code == 1
    kinds = {finding["kind"]: finding["seq"] for finding in bad.report["findings"]}
    assert kinds["edited"] == 6
    told = switchboard(filled, "audit", "verify")
    assert told.code == 1
    assert "edited record 6" in told.out


def test_verify_with_a_noted_place_finds_a_roll_back(filled: Workspace, tmp_path: Path) -> None:
    shutil.copytree(filled.home, tmp_path / "old")
    write(filled, [a_record("s1-3")])
    later = switchboard(filled, "audit", "verify", "--json").report
    shutil.rmtree(filled.home)
    shutil.copytree(tmp_path / "old", filled.home)
    assert switchboard(filled, "audit", "verify").code == 0
    mark = f"{later['last']}:{later['hash'][:16]}"
    done = switchboard(filled, "audit", "verify", "--expect", mark)
    assert done.code == 1
    assert "unexpected" in done.out


def test_an_export_can_be_checked_without_switchboard(filled: Workspace, tmp_path: Path) -> None:
    out = tmp_path / "log.jsonl"
    done = switchboard(filled, "audit", "export", "--out", str(out), "--json")
    lines = out.read_bytes().splitlines()
    assert done.report["records"] == len(lines)
    assert out.stat().st_mode & 0o777 == 0o600
    prev = bytes(32)
    for line in lines:
        report = report_of(line.decode())
        body = line.partition(b'"record":')[2][:-1]
        assert bytes.fromhex(report["prev"]) == prev
        prev = hashlib.sha256(
            b"switchboard.audit/1\n" + report["seq"].to_bytes(8, "big") + prev + body
        ).digest()
        assert prev.hex() == report["hash"]
    shown = switchboard(filled, "audit", "export", "--tool", "git*").out.splitlines()
    assert [json.loads(line)["record"]["tool"] for line in shown] == ["git/log", "git/push"]


def test_a_broken_segment_is_one_message_and_the_rest_is_shown(filled: Workspace) -> None:
    segment(filled).write_bytes(b"no database" * 1000)
    write(filled, [a_record("s1-7")])
    done = switchboard(filled, "audit", "tail")
    assert done.code == 0
    assert "s1-7" in done.out
    assert done.err.count("cannot be read whole") == 1
    assert switchboard(filled, "audit", "show", "s1-7").code == 0
    lost = switchboard(filled, "audit", "show", "s1-1")
    assert lost.code == 1
    assert "segment 1" in lost.err


def test_follow_shows_records_as_they_come(filled: Workspace) -> None:
    command = filled.command("audit", "tail", "-f", "--json", "--last", "1", "--session", "s1")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=filled.root, env=filled.env
    ) as tail:
        assert tail.stdout is not None
        first = report_of(tail.stdout.readline())
        assert first["record"]["correlation_id"] == "s1-2"
        write(filled, [a_record("s2-2", session="s2"), a_record("s1-8")])
        second = report_of(tail.stdout.readline())
        assert second["record"]["correlation_id"] == "s1-8"
        tail.send_signal(signal.SIGINT)
        assert tail.wait(PATIENCE) == 130


def test_the_log_is_whole_after_switchboard_was_taken_off_the_machine_and_set_up_again(
    filled: Workspace,
) -> None:
    before = switchboard(filled, "audit", "verify")
    assert before.code == 0, before.out
    done = switchboard(filled, "uninstall", "--all", "--yes", apart=True)
    assert done.code == 0, done.err
    after = switchboard(filled, "audit", "verify")
    assert (after.code, after.out) == (0, before.out)
    write(filled, [a_record("s3-1")])
    assert switchboard(filled, "audit", "verify").code == 0
