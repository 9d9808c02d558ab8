"""`switchboard approvals` as a person types it, against calls that wait in this process."""

import asyncio
import json
import os
import pty
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
from support.workspace import Json, Workspace
from switchboard.approvals.store.database import Database
from switchboard.approvals.store.owners import ProcessOwners
from switchboard.approvals.store.question_table import QuestionTable
from switchboard.core.faults import Fault
from switchboard.core.questions import Question
from switchboard.core.tools import Effects
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
    assert shown.out.startswith("WRITES · notes.wipe · in ")
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


def test_nothing_waits(workspace: Workspace) -> None:
    done = switchboard(workspace, "approvals")
    assert (done.code, done.out, done.err) == (0, "", "nothing waits for an answer\n")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("show", "zzzzzzzz"), 1, "nothing with the id `zzzzzzzz` waits"),
        (("approve", "zzzzzzzz", "--yes"), 1, "nothing with the id"),
        (("approve", "zzzzzzzz"), 2, "without a terminal"),
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
    assert '-  "description": "Reads a note.",\n+  "description": "Reads' in shown.out
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
        assert "WRITES · notes.wipe · in " in screen.shown
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


async def test_the_rules_of_the_configuration_are_listed(workspace: Workspace) -> None:
    workspace.config_toml('[approvals]\nallow = ["brave.*"]\n', scope="home")
    [rule] = (await typed(workspace, "rules", "--json")).report["rules"]
    assert (rule["server"], rule["tool"], rule["made_by"]) == ("brave", "*", "config.toml")
    # A workspace has no say in it.
    workspace.config_toml('[approvals]\nallow = ["other.*"]\n')
    listed = (await typed(workspace, "rules", "--json")).report["rules"]
    assert [each["server"] for each in listed] == ["brave"]
