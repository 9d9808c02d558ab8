"""Approvals and the audit log through the daemon: the same answers, and who may decide."""

import asyncio
import json
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from cli.commands import switchboard
from support.daemons import one_of_another_version, shim
from support.endpoints import serving
from support.processes import until_true
from support.workspace import Json, Workspace

PATIENCE = 20.0
GUARDED = """
enable_mcp_server_surface = true
[mcp.writes]
command = "touch"
args = ["touched"]
side_effects = ["filesystem-write"]
"""
# A program that stays above what it runs, so that the tests are not the client of it.
ANOTHER = ("timeout", "60")
IN_PROCESS = {"SWITCHBOARD_IN_PROCESS": "1"}


@pytest.fixture
def guarded(workspace: Workspace) -> Workspace:
    workspace.config_toml(GUARDED, scope="home")
    return workspace


@asynccontextmanager
async def waiting_call(
    workspace: Workspace, *before: str
) -> AsyncGenerator[tuple[str, asyncio.subprocess.Process]]:
    """A call of another program that waits for a person, and the id of its question."""
    process = await asyncio.create_subprocess_exec(
        *(*before, *workspace.command("call", "writes")),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=workspace.root,
        env=workspace.env,
    )
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE):
        said = (await process.stderr.readline()).decode()
    assert "waits for the approval of a person" in said
    yield said.split()[-1], process
    async with asyncio.timeout(PATIENCE):
        await process.communicate()


def report(workspace: Workspace, *words: str, **env: str) -> Json:
    done = switchboard(workspace, *words, "--json", env=env)
    assert done.code == 0, done.out + done.err
    return done.report


async def test_what_waits_is_the_same_with_and_without_the_daemon(guarded: Workspace) -> None:
    async with waiting_call(guarded, *ANOTHER) as (question, process):
        for words in (("approvals", "list"), ("approvals", "show", question)):
            ours = await asyncio.to_thread(report, guarded, *words, **IN_PROCESS)
            assert await asyncio.to_thread(report, guarded, *words) == ours
        decided = await asyncio.to_thread(
            report, guarded, "approvals", "approve", question, "--yes"
        )
        assert (decided["verdict"], decided["kind"], decided["tool"]) == (
            "approved",
            "call",
            "writes",
        )
    assert process.returncode == 0
    assert (guarded.root / "touched").exists()
    for words in (("audit", "tail"), ("audit", "show", "1"), ("audit", "tail", "--tool", "writes")):
        # The daemon first: it writes what it still holds before it answers.
        told = await asyncio.to_thread(report, guarded, *words)
        assert await asyncio.to_thread(report, guarded, *words, **IN_PROCESS) == told
        assert told["records"]


async def test_the_log_is_checked_exported_and_followed_as_without_the_daemon(
    guarded: Workspace,
) -> None:
    async with waiting_call(guarded, *ANOTHER) as (question, process):
        await asyncio.to_thread(report, guarded, "approvals", "approve", question, "--yes")
    assert process.returncode == 0
    for words in (("audit", "verify", "--json"), ("audit", "verify"), ("audit", "export")):
        told = await asyncio.to_thread(switchboard, guarded, *words)
        ours = await asyncio.to_thread(switchboard, guarded, *words, env=IN_PROCESS)
        assert told == ours
        assert (told.code, bool(told.out)) == (0, True)
    lines = [
        await first_lines(guarded, 3, "audit", "tail", "-f", "--json", "--last", "3", **env)
        for env in ({}, IN_PROCESS)
    ]
    assert lines[0] == lines[1]


async def test_what_is_watched_comes_from_the_daemon(guarded: Workspace) -> None:
    async with waiting_call(guarded) as (question, _):
        words = ("approvals", "watch", "--json")
        told = await first_lines(guarded, 1, *words)
        assert told == await first_lines(guarded, 1, *words, **IN_PROCESS)
        assert question in told
        await asyncio.to_thread(report, guarded, "approvals", "deny", question)


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("approvals", "watch"), "approvals"),
        (("audit", "tail", "-f", "--last", "0"), "audit"),
        (("audit", "verify"), "verify"),
        (("audit", "export"), "audit-after"),
    ],
)
def test_a_daemon_is_asked_where_there_is_one(
    workspace: Workspace, words: tuple[str, ...], asked: str
) -> None:
    """Whatever lies on disk: one that answers otherwise is heard."""
    with one_of_another_version(workspace, {"calls": 7, "rows": 7}, asked=asked):
        done = switchboard(workspace, *words, "--json")
    assert (done.code, done.report["reason"]) == (1, "daemon-of-another-version")


async def first_lines(workspace: Workspace, count: int, *words: str, **env: str) -> str:
    """What a command that goes on shows first."""
    process = await asyncio.create_subprocess_exec(
        *workspace.command(*words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=workspace.root,
        env={**workspace.env, **env},
    )
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        lines = [(await process.stdout.readline()).decode() for _ in range(count)]
        process.terminate()
        await process.communicate()
    return "".join(lines)


@pytest.mark.parametrize("words", [(), ("--in-process",)])
async def test_who_has_a_command_run_cannot_approve_it(
    guarded: Workspace, words: tuple[str, ...]
) -> None:
    """The tests are the agent here. Each command runs in a shell of its own, as agents do."""
    shell = ("sh", "-c", f'"$@" {" ".join(words)}; exit $?', "sh")
    async with waiting_call(guarded, *shell) as (question, process):
        approve = guarded.command("approvals", "approve", question, "--yes", "--json")
        asked = await asyncio.create_subprocess_exec(
            *(*shell[:1], "-c", '"$@"; exit $?', "sh", *approve),
            stdout=subprocess.PIPE,
            cwd=guarded.root,
            env=guarded.env,
        )
        told, _ = await asked.communicate()
        assert (asked.returncode, json.loads(told)["reason"]) == (1, "own-approval")
        await asyncio.to_thread(report, guarded, "approvals", "deny", question)
    assert process.returncode == 1
    assert not (guarded.root / "touched").exists()


async def test_over_http_a_person_can_say_no_and_nobody_yes(guarded: Workspace) -> None:
    async with serving(guarded) as endpoint, endpoint.control() as control:
        async with waiting_call(guarded) as (question, process):
            (posted,) = (await control.ask("approvals"))["calls"]
            assert posted["question"]["id"] == question
            refused = await control.post("decide", id=question, approves=True)
            assert refused.status_code == 403
            assert refused.json()["fault"]["reason"] == "presence-unproven"
            denied = await control.ask("decide", id=question, approves=False)
            assert denied["verdict"] == "denied"
        assert process.returncode == 1
        assert not (guarded.root / "touched").exists()
        unlocked = await control.post("vault-unlock", id="x", key="")
        assert unlocked.json()["fault"]["reason"] == "presence-unproven"
        missing = await control.post("decide", id="nothing", approves=False)
        assert missing.status_code == 404
        rows = (await control.ask("audit", last=5))["rows"]
        assert rows


async def test_a_call_over_http_is_told_apart_from_one_that_is_typed(guarded: Workspace) -> None:
    async with serving(guarded) as endpoint, endpoint.control() as control:
        async with waiting_call(guarded) as (typed, process):
            call = asyncio.ensure_future(control.ask("call", name="writes"))
            asked: set[str] = set()

            def both_asked() -> bool:
                listed = report(guarded, "approvals", "list")["approvals"]
                asked.update(each["id"] for each in listed)
                return len(asked) > 1

            await until_true(both_asked)
            (ours,) = asked - {typed}
            (posted,) = (await control.ask("approvals", id=ours))["calls"]
            assert posted["question"]["client_pid"] == 0
            # The same call, and yet an answer to one of them is none to the other.
            # Whoever has it served, as the tests do here, is no person either.
            words = ("approvals", "approve", ours, "--yes", "--json")
            refused = await asyncio.to_thread(switchboard, guarded, *words)
            assert refused.report["reason"] == "own-consent"
            await asyncio.to_thread(partial(switchboard, guarded, *words, apart=True))
            await call
            await asyncio.to_thread(report, guarded, "approvals", "deny", typed)
        assert process.returncode == 1
    records = await asyncio.to_thread(report, guarded, "audit", "tail", "--tool", "writes")
    started = [
        each["record"]["transport"]
        for each in records["records"]
        if each["record"]["event"] == "tool.call.started"
    ]
    assert started == ["http-control"]


async def test_a_client_of_the_daemon_cannot_approve_for_itself(guarded: Workspace) -> None:
    # The tests launch the shim, so they are the client; what they start is its descendant.
    async with shim(guarded) as client:
        call = asyncio.ensure_future(client.request("tools/call", {"name": "writes"}))
        listed: list[Json] = []

        def asked() -> bool:
            listed[:] = report(guarded, "approvals", "list")["approvals"]
            return bool(listed)

        await until_true(asked)
        done = await asyncio.to_thread(
            switchboard, guarded, "approvals", "approve", listed[0]["id"], "--yes", "--json"
        )
        assert (done.code, done.report["reason"]) == (1, "own-approval")
        await asyncio.to_thread(report, guarded, "approvals", "deny", listed[0]["id"])
        assert (await call)["isError"]
