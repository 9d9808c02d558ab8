"""`switchboard stop --all-calls`: everything that goes on ends, and no server has to answer."""

import asyncio
import subprocess

from cli.commands import switchboard
from support.daemons import shim, status, under_way
from support.processes import alive, until_true
from support.workspace import Json, Workspace, child_command

GUARDED = """
enable_mcp_server_surface = true
[mcp.writes]
command = "touch"
args = ["touched"]
side_effects = ["filesystem-write"]
"""
SLOW: Json = {"action": "call", "subtool": "wait", "args": {"seconds": 600}}


async def _working(workspace: Workspace, calls: int) -> int:
    """Wait until the slow server works on so many calls, and give its process."""

    def process() -> int:
        found = status(workspace)
        children = found["children"] if found else ()
        return sum(each["pid"] for each in children if each["name"] == "slow" and each["pid"])

    await until_true(lambda: process() > 0 and under_way(workspace) == calls)
    return process()


async def test_calls_end_and_clients_are_told(workspace: Workspace) -> None:
    workspace.child("slow", child_command("slow_child"))
    async with shim(workspace) as client, shim(workspace) as other:
        calls = [asyncio.ensure_future(each.call("slow_suite", SLOW)) for each in (client, other)]
        before = await _working(workspace, 2)
        done = await asyncio.to_thread(switchboard, workspace, "stop", "--all-calls", "--json")
        assert done.code == 0, done.err
        assert (done.report["calls"], done.report["servers"]) == (2, 0)
        async with asyncio.timeout(20):
            for call in calls:
                assert "a person has stopped every call" in str(await call)
        assert alive(before)
        await client.call_subtool("echo_suite", "echo", {"text": "clients go on"})
    shown = await asyncio.to_thread(switchboard, workspace, "calls", "--json", apart=True)
    reasons = [each["reason"] for each in shown.report["calls"] if each["tool"] == "wait"]
    assert reasons == ["stopped", "stopped"]


async def test_a_question_ends_with_a_no_and_the_log_says_who(workspace: Workspace) -> None:
    workspace.config_toml(GUARDED, scope="home")
    waiting = await asyncio.create_subprocess_exec(
        *("timeout", "60", *workspace.command("call", "writes")),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=workspace.root,
        env=workspace.env,
    )
    assert waiting.stderr is not None
    async with asyncio.timeout(20):
        await waiting.stderr.readline()
        done = await asyncio.to_thread(switchboard, workspace, "stop", "--all-calls", "--json")
        _, said = await waiting.communicate()
    assert (done.report["calls"], done.report["questions"]) == (1, 1)
    assert waiting.returncode != 0, said
    assert not (workspace.root / "touched").exists()
    assert await asyncio.to_thread(_questions, workspace) == []
    log = await asyncio.to_thread(switchboard, workspace, "audit", "tail")
    assert "calls.stopped" in log.out


def _questions(workspace: Workspace) -> list[Json]:
    return switchboard(workspace, "approvals", "--json").report["approvals"]


async def test_servers_go_as_well_if_that_is_asked_for(workspace: Workspace) -> None:
    workspace.child("slow", child_command("slow_child"))
    async with shim(workspace) as client:
        call = asyncio.ensure_future(client.call("slow_suite", SLOW))
        pid = await _working(workspace, 1)
        done = await asyncio.to_thread(switchboard, workspace, "stop", "--all-calls", "--servers")
        assert done.out == "ended: 1 call, 0 runs, 0 questions, 1 server\n"
        await until_true(lambda: not alive(pid))
        async with asyncio.timeout(20):
            assert "stopped" in str(await call)


def test_it_wants_to_be_told_that_all_is_meant(workspace: Workspace) -> None:
    done = switchboard(workspace, "stop")
    assert done.code == 2
    assert "switchboard stop --all-calls" in done.err
    none = switchboard(workspace, "stop", "--all-calls")
    assert (none.code, none.out) == (0, "no daemon is running, so nothing goes on in one\n")
