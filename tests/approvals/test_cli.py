"""`switchboard approvals` as a person types it, against calls that wait in this process."""

import asyncio
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from approvals.asker_contract import a_question
from approvals.ground import READS, Ground, a_launch, a_tool, decision
from cli.commands import Finished, switchboard
from fakes.audit import MemoryAudit
from fakes.calls import a_session
from support.requirements import requirement
from support.workspace import Json, Workspace, child_command, server
from switchboard.approvals.store.database import Database
from switchboard.approvals.store.owners import ProcessOwners
from switchboard.approvals.store.question_table import QuestionTable
from switchboard.cli.verbs.parts.approving.lasting_rules import ListedRule, RulesReport
from switchboard.core.catalog.tools import Effects
from switchboard.core.faults import Fault
from switchboard.core.questions import Question, Verdict
from switchkit.cli.style import Style
from switchkit.processes import living

PATIENCE = 30.0


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def table(workspace: Workspace) -> QuestionTable:
    """Give the questions as the thread of a store sees them."""
    return QuestionTable(Database(str(workspace.home)), ProcessOwners(), clock=time.time)


@pytest.fixture
def ground(workspace: Workspace) -> Ground:
    return Ground(workspace.home, hold_s=PATIENCE)


async def typed(workspace: Workspace, *words: str) -> Finished:
    return await asyncio.to_thread(switchboard, workspace, "approvals", *words)


async def waiting_call(ground: Ground, **more: Any) -> "tuple[asyncio.Task[Any], Question]":
    task = asyncio.ensure_future(ground.run(**more))
    waiting = await ground.until_asked()
    return task, waiting[0].question


# Deciding


async def test_a_waiting_call_is_listed_shown_approved_and_runs(
    workspace: Workspace, ground: Ground
) -> None:
    task, question = await waiting_call(ground, arguments={"path": "notes.txt"})
    listed = (await typed(workspace, "list", "--json")).report
    [entry] = listed["approvals"]
    assert (entry["id"], entry["tool"], entry["risk"]) == (question.id, "wipe", "high")
    shown = await typed(workspace, "show", question.id)
    assert shown.out.startswith("WRITES · notes.wipe · no sandbox · ")
    # Who reads all of it is not told where it can be read.
    assert "approvals show" not in shown.out
    assert '"path": "notes.txt"' in shown.out
    done = await typed(workspace, "approve", question.id, "--yes")
    assert done.code == 0
    assert done.out == "approved: the call of wipe\n"
    await asyncio.wait_for(task, PATIENCE)
    assert ground.ran == 1
    # Who decided is noted, with the processes above.
    after = (await typed(workspace, "show", question.id, "--json")).report
    assert after["state"] == "consumed"
    assert after["answer"]["by"] == "cli"
    assert f" {os.getpid()}" in after["answer"]["chain"]


async def test_a_waiting_call_is_denied(workspace: Workspace, ground: Ground) -> None:
    task, question = await waiting_call(ground)
    assert (await typed(workspace, "deny", question.id)).out == "denied: the call of wipe\n"
    with pytest.raises(Exception, match="does not want"):
        await asyncio.wait_for(task, PATIENCE)
    assert ground.ran == 0


async def test_a_session_is_trusted_from_the_console(workspace: Workspace, ground: Ground) -> None:
    task, question = await waiting_call(ground)
    done = await typed(workspace, "approve", question.id, "--session", "--yes", "--json")
    assert done.report["extent"] == "session"
    await asyncio.wait_for(task, PATIENCE)
    await asyncio.wait_for(ground.run({"path": "other"}), PATIENCE)
    assert ground.ran == 2


async def test_why_an_answer_is_not_taken_for_good_is_told(
    workspace: Workspace, ground: Ground
) -> None:
    task, question = await waiting_call(ground)
    refused = await typed(workspace, "approve", question.id, "--always", "--yes")
    assert refused.code == 1
    assert "it is answered once or session; not for good, because " in refused.err
    assert "because the server says that this tool changes things" in refused.err
    hidden = await typed(workspace, "deny", question.id, "--always")
    assert "hidden in the configuration" in hidden.err
    await typed(workspace, "deny", question.id)
    with pytest.raises(Fault, match="does not want"):
        await asyncio.wait_for(task, PATIENCE)
    listed = await typed(workspace, "list", "--all")
    assert re.search(rf"{question.id}  \d\d:\d\d:\d\d  denied", listed.out)


def test_a_client_without_a_session_cannot_be_trusted_for_one(
    workspace: Workspace, table: QuestionTable
) -> None:
    table.post(a_question(offers=("once",)), "")
    done = switchboard(workspace, "approvals", "approve", "abcdefgh", "--session", "--yes")
    assert done.code == 1
    assert "it is answered once" in done.err
    assert len(table.waiting()) == 1


def test_what_was_decided_stays_decided(workspace: Workspace, table: QuestionTable) -> None:
    table.post(a_question(), "")
    table.decide("abcdefgh", decision("denied"))
    done = switchboard(workspace, "approvals", "approve", "abcdefgh", "--yes", "--json")
    assert (done.code, done.report["reason"]) == (1, "decided-already")
    assert switchboard(workspace, "approvals", "list", "--json").report["approvals"] == []
    [entry] = switchboard(workspace, "approvals", "list", "--all", "--json").report["approvals"]
    assert (entry["state"], entry["decided_by"]) == ("denied", "cli")


def test_without_a_terminal_nothing_is_approved_unseen(
    workspace: Workspace, table: QuestionTable
) -> None:
    table.post(a_question(), "")
    done = switchboard(workspace, "approvals", "approve", "abcdefgh")
    assert done.code == 2
    assert "without a terminal" in done.err
    assert len(table.waiting()) == 1


@pytest.mark.parametrize(
    ("answer", "says", "hint"),
    [
        (("cancelled", "session"), "the client that asked has ended", "while its client runs"),
        (("cancelled", "exit"), "the process that asked has ended", "while its client runs"),
        (("denied", "client"), "denied at ", "switchboard approvals show abcdefgh"),
        (("expired", "time"), "expired at ", "have the call made again"),
    ],
)
def test_who_answers_too_late_is_told_why(
    workspace: Workspace,
    table: QuestionTable,
    answer: tuple[Verdict, str],
    says: str,
    hint: str,
) -> None:
    table.post(a_question(), "")
    table.decide("abcdefgh", decision(answer[0], by=answer[1]))
    done = switchboard(workspace, "approvals", "approve", "abcdefgh", "--yes")
    assert done.code == 1
    assert f"it is no longer waiting: {says}" in done.err
    assert hint in done.err


def test_nothing_waits(workspace: Workspace) -> None:
    done = switchboard(workspace, "approvals")
    assert (done.code, done.out, done.err) == (0, "", "nothing waits for an answer\n")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("show", "zzzzzzzz"), 1, "nothing with the id `zzzzzzzz` waits"),
        (("approve", "zzzzzzzz", "--yes"), 1, "nothing with the id"),
        (("approve", "zzzzzzzz"), 1, "nothing with the id `zzzzzzzz` waits"),
        (("approve",), 2, "needs an id"),
        (("list", "zzzzzzzz"), 2, "takes no id"),
        (("deny", "zzzzzzzz", "--session"), 2, "belongs to `approve`"),
        (("allow", "zzzzzzzz"), 2, "cannot be `allow`"),
    ],
)
def test_what_makes_no_sense_is_explained(
    workspace: Workspace, words: tuple[str, ...], code: int, says: str
) -> None:
    done = switchboard(workspace, "approvals", *words)
    assert done.code == code
    assert says in done.err


# Who may approve


def test_the_client_that_asks_cannot_approve(workspace: Workspace, table: QuestionTable) -> None:
    us = living(os.getpid())
    assert us is not None
    table.post(replace(a_question(), client_pid=us.pid, client_began=us.began), "")
    done = switchboard(workspace, "approvals", "approve", "abcdefgh", "--yes", "--json")
    assert (done.code, done.report["reason"]) == (1, "own-approval")
    assert len(table.waiting()) == 1
    # Not through a shell of its own either.
    command = " ".join([*workspace.command("approvals", "approve", "abcdefgh", "--yes"), "; true"])
    subprocess.run(["sh", "-c", command], env=workspace.env, capture_output=True, check=True)
    assert len(table.waiting()) == 1
    # It may say no.
    assert switchboard(workspace, "approvals", "deny", "abcdefgh").code == 0


@requirement("S3.33")
async def test_who_approved_is_part_of_the_audit_log(workspace: Workspace) -> None:
    audit = MemoryAudit()
    ground = Ground(workspace.home, hold_s=PATIENCE, audit=audit)
    task, question = await waiting_call(ground)
    assert (await typed(workspace, "approve", question.id, "--yes")).code == 0
    await task
    decided = audit.records[-1].approval
    assert decided is not None
    assert (decided.channel, decided.decision) == ("cli", "approved")
    assert f" {os.getpid()}" in decided.chain


def test_a_process_that_only_has_the_number_of_the_client_may_approve(
    workspace: Workspace, table: QuestionTable
) -> None:
    table.post(replace(a_question(), client_pid=os.getpid(), client_began=1), "")
    assert switchboard(workspace, "approvals", "approve", "abcdefgh", "--yes").code == 0


# Changed tools


async def test_a_changed_tool_is_shown_with_its_change_and_approved(
    workspace: Workspace,
) -> None:
    reader = a_tool("read", effects=READS, description="Reads a note.")
    ground = Ground(workspace.home, a_launch(reader, cwd=str(workspace.root)))
    await ground.run()
    ground.change(tool=a_tool("read", effects=READS, description="Reads\u202e it all.\x1b[2J"))
    with pytest.raises(Exception, match="has changed"):
        await ground.run()
    [entry] = (await typed(workspace, "list", "--json")).report["approvals"]
    assert (entry["kind"], entry["state"], entry["of"]) == ("definition", "held", "notes")
    shown = await typed(workspace, "show", entry["id"])
    assert '  | -  "description": "Reads a note.",\n  | +  "description": "Reads' in shown.out
    assert "\u202e" not in shown.out
    assert "\x1b" not in shown.out
    await typed(workspace, "show", entry["id"], "--json")
    assert (await typed(workspace, "approve", entry["id"], "--yes")).code == 0
    await ground.run()
    assert ground.ran == 2
    [record] = audited(workspace)
    assert (record["event"], record["tool"], record["server"]) == (
        "approval.decided",
        "read",
        "notes",
    )
    decided = record["approval"]
    assert (decided["decision"], decided["id"], decided["mode"]) == (
        "approved",
        entry["id"],
        "definition",
    )
    assert f" {os.getpid()}" in decided["chain"]


@requirement("S3.33")
async def test_a_changed_tool_is_not_approved_where_that_cannot_be_noted(
    workspace: Workspace,
) -> None:
    ground, held_id = await changed_tool(workspace)
    (workspace.home / "audit").write_text("no folder")
    refused = await typed(workspace, "approve", held_id, "--yes", "--json")
    assert (refused.code, refused.report["reason"]) == (1, "audit-unwritable")
    with pytest.raises(Exception, match="has changed"):
        await ground.run()


async def test_the_client_that_wanted_a_changed_tool_cannot_approve_it(
    workspace: Workspace,
) -> None:
    _, held_id = await changed_tool(workspace, client_pid=os.getpid())
    refused = await typed(workspace, "approve", held_id, "--yes", "--json")
    assert (refused.code, refused.report["reason"]) == (1, "own-approval")
    # It may say no.
    assert (await typed(workspace, "deny", held_id)).code == 0


async def changed_tool(workspace: Workspace, client_pid: int = 0) -> tuple[Ground, str]:
    """Call a tool that a server has changed meanwhile, and give what is held."""
    ground = Ground(workspace.home, a_launch(a_tool("read", effects=READS), cwd="/"))
    await ground.run()
    ground.change(tool=a_tool("read", effects=READS, description="Reads it all."))
    with pytest.raises(Fault, match="has changed") as caught:
        await ground.run(session=replace(a_session(), client_pid=client_pid))
    return ground, caught.value.details["approval_id"]


def audited(workspace: Workspace) -> list[Json]:
    """Give the records of the audit log, without those of the log itself."""
    exported = switchboard(workspace, "audit", "export", "--json").out
    records: list[Json] = [json.loads(line)["record"] for line in exported.splitlines()]
    return [record for record in records if not record["event"].startswith("audit.")]


# On a terminal


class Terminal:
    """A command on a terminal of its own: what it shows, and what is typed."""

    def __init__(self, ours: int, command: "subprocess.Popen[bytes]") -> None:
        self._ours = ours
        self.command = command
        self.shown = ""

    def until(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown:
            left = deadline - time.monotonic()
            assert select.select([self._ours], [], [], max(left, 0))[0], self.shown
            try:
                self.shown += os.read(self._ours, 65536).decode()
            except OSError:
                raise AssertionError(self.shown) from None

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())


@contextmanager
def terminal(workspace: Workspace, *words: str) -> Generator[Terminal]:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        workspace.command("approvals", *words),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**workspace.env, "TERM": "dumb"},
        cwd=workspace.root,
    ) as command:
        os.close(theirs)
        try:
            yield Terminal(ours, command)
        finally:
            command.kill()
            os.close(ours)


@pytest.mark.parametrize(("key", "state"), [("y", "approved"), ("n", "pending"), ("", "pending")])
def test_on_a_terminal_the_question_is_shown_and_only_a_yes_is_one(
    workspace: Workspace, table: QuestionTable, key: str, state: str
) -> None:
    table.post(a_question(), "")
    with terminal(workspace, "approve", "abcdefgh") as screen:
        screen.until("Approve? [y/N]")
        assert "WRITES · notes.wipe · no sandbox" in screen.shown
        screen.type(f"{key}\n")
        screen.command.wait(PATIENCE)
    found = table.find("abcdefgh")
    assert found is not None
    assert found.state == state


def test_watching_as_json_gives_a_line_for_each_question(
    workspace: Workspace, table: QuestionTable
) -> None:
    with subprocess.Popen(
        workspace.command("approvals", "watch", "--json"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=sys.stderr,
        env=workspace.env,
        text=True,
    ) as watching:
        try:
            assert watching.stdout is not None
            for number in range(3):
                table.post(a_question(f"question{number}", digest=f"d{number}"), "")
                assert f'"id":"question{number}"' in watching.stdout.readline()
        finally:
            watching.kill()


# Lasting answers


async def test_a_lasting_answer_is_listed_and_taken_back(workspace: Workspace) -> None:
    quiet = a_launch(a_tool("search", effects=Effects()), cwd=str(workspace.root))
    ground = Ground(workspace.home, quiet, hold_s=PATIENCE)
    assert (await typed(workspace, "rules")).err.strip() == "no tool has a lasting answer"
    task, question = await waiting_call(ground)
    done = await typed(workspace, "approve", question.id, "--yes", "--always")
    assert done.out == "approved: the call of search for good\n"
    await asyncio.wait_for(task, PATIENCE)
    await asyncio.wait_for(ground.run(), PATIENCE)
    assert ground.ran == 2
    [rule] = (await typed(workspace, "rules", "--json")).report["rules"]
    assert (rule["server"], rule["tool"], rule["made_by"]) == ("notes", "search", "cli")
    assert f"approvals rules {rule['id']} --remove" in (await typed(workspace, "rules")).err
    removed = await typed(workspace, "rules", rule["id"], "--remove")
    assert removed.code == 0
    assert "the tool asks again" in removed.err
    assert "approval.rule_removed" in [each["event"] for each in audited(workspace)]
    again = asyncio.ensure_future(ground.run())
    [posted] = await ground.until_asked()
    denied = await typed(workspace, "deny", posted.question.id, "--always")
    assert denied.code != 0
    assert (await typed(workspace, "deny", posted.question.id)).code == 0
    with pytest.raises(Fault, match="does not want"):
        await again
    unknown = await typed(workspace, "rules", rule["id"], "--remove")
    assert unknown.code != 0
    assert "there is no rule with the id" in unknown.err


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_rules_fit_the_terminal_and_have_local_times(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("TZ", "Etc/GMT-3")
    time.tzset()
    rule = ListedRule(
        id="abcdefgh",
        server="notes",
        tool="search",
        name="notes.search",
        runs="a long command line " * 10,
        made="2026-11-17T12:00:00.123456Z",
        made_by="cli",
    )
    try:
        lines = list(RulesReport(rules=(rule,)).lines(Style(columns=columns)))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert max(map(len, lines)) <= columns
    assert "notes.search" in lines[1]
    assert "2026-11-17 15:00:00" in lines[1]
    assert ("RUNS" in lines[0]) == (columns > 60)


def test_names_that_cover_nothing_say_so(workspace: Workspace) -> None:
    workspace.config_toml('[approvals]\nallow = ["time.*", "notes.*", "none.x"]\n', scope="home")
    workspace.mcp_json({"time": server(["node", "time.js"])})
    workspace.mcp_json({"notes": server(["node", "notes.js"])}, scope="home")
    done = switchboard(workspace, "approvals", "rules")
    first, second = [line for line in done.err.splitlines() if "covers nothing" in line]
    assert "`time.*` covers nothing here: no server of your own files is named so" in first
    assert "`time` of this workspace can only be answered for good when a question" in first
    assert "`none.x` covers nothing here" in second
    rules = switchboard(workspace, "approvals", "rules", "--json").report["rules"]
    assert [each["covers"] for each in rules] == [[], ["notes"], []]
    found = switchboard(workspace, "doctor", "--json").report["findings"]
    told = [each["message"] for each in found if each["subject"] in {"approvals.allow", "rule"}]
    assert len(told) == 3
    assert told[0].startswith("`time.*` covers nothing here")
    assert told[1] == "`notes.*` means tools of notes"


def test_a_name_that_lacks_quotation_marks_says_what_it_stands_for(workspace: Workspace) -> None:
    allow = """allow = ["a.b.*", '"a.b".c']"""
    workspace.config_toml(f"[approvals]\n{allow}\n", scope="home")
    workspace.mcp_json({"a.b": server(["node", "notes.js"])}, scope="home")
    done = switchboard(workspace, "approvals", "rules")
    [said] = [line for line in done.err.splitlines() if "stands for" in line]
    assert "`a.b.*` stands for the tool `b.*` of a server `a`" in said
    assert """for the server `a.b` write '"a.b".*'""" in said
    assert '"a.b".c' in done.out
    rules = switchboard(workspace, "approvals", "rules", "--json").report["rules"]
    assert [each["covers"] for each in rules] == [[], ["a.b"]]


def test_each_tool_that_a_name_means_says_whether_it_still_asks(workspace: Workspace) -> None:
    declared = {"look": {}, "search": {"openWorldHint": True}, "read": {"readOnlyHint": True}}
    child = child_command("declaring_child", json.dumps(declared))
    workspace.config_toml('[approvals]\nallow = ["brave.*", "brave.search"]\n', scope="home")
    workspace.mcp_json({"brave": server(child)}, scope="home")
    done = switchboard(workspace, "approvals", "rules", "--tools")
    told = [line.strip() for line in done.out.splitlines()]
    asks = "brave.search: still asks: the server says that this tool reaches the open world"
    assert "brave.look: needs no question now" in told
    assert "brave.read: needs no rule, it says that it reads" in told
    assert told.count(asks) == 2
    assert told.count("so the rule answers for none of them") == 1
    rules = switchboard(workspace, "approvals", "rules", "--tools", "--json").report["rules"]
    states = [[(tool["tool"], tool["state"]) for tool in each["tools"]] for each in rules]
    assert states == [
        [("look", "covered"), ("search", "asks"), ("read", "free")],
        [("search", "asks")],
    ]


def test_of_a_server_that_does_not_start_it_is_said_that_its_tools_are_not_known(
    workspace: Workspace,
) -> None:
    workspace.config_toml('[approvals]\nallow = ["broken.*"]\n', scope="home")
    workspace.mcp_json({"broken": server(["false"])}, scope="home")
    done = switchboard(workspace, "approvals", "rules", "--tools")
    assert done.code == 0
    assert "broken: its tools are not known: " in done.out


async def test_the_rules_of_the_configuration_are_listed(workspace: Workspace) -> None:
    workspace.config_toml('[approvals]\nallow = ["brave.*"]\n', scope="home")
    [rule] = (await typed(workspace, "rules", "--json")).report["rules"]
    assert (rule["server"], rule["tool"], rule["made_by"]) == ("brave", "*", "config.toml")
    # A workspace has no say in it.
    workspace.config_toml('[approvals]\nallow = ["other.*"]\n')
    listed = (await typed(workspace, "rules", "--json")).report["rules"]
    assert [each["server"] for each in listed] == ["brave"]
