"""A daemon that takes no more clients: it finishes in peace, and can be seen and stopped."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands import Finished, switchboard
from support.daemons import another_version, daemon_pid, is_there, mode_of, shim, under_way
from support.mcp_stdio import talking_to
from support.processes import alive, until_gone, until_true
from support.workspace import Workspace, child_command
from switchboard.ipc.protocol import GREETING_S


async def command(workspace: Workspace, *words: str) -> Finished:
    return await asyncio.to_thread(switchboard, workspace, *words)


async def drain(workspace: Workspace) -> int:
    """Let the daemon drain, and give its process."""
    done = await command(workspace, "daemon", "stop", "--drain", "--json")
    assert done.report["state"] == "draining"
    return done.report["pid"]


def side_socket(workspace: Workspace, pid: int) -> str:
    return workspace.daemon_places.side_socket(pid)


def leave_behind(path: str) -> None:
    """What a draining daemon that was killed leaves in its folder."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)
        left.listen()


async def test_a_draining_daemon_ends_with_its_last_client(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        pid = daemon_pid(workspace)
        done = await asyncio.to_thread(
            switchboard, workspace, "daemon", "stop", "--drain", "--json"
        )
        assert done.report["state"] == "draining"
        assert set(await client.tools()) == {"echo_suite"}
        async with shim(workspace):
            assert daemon_pid(workspace) != pid
        assert await client.close() == 0
    await until_true(lambda: not alive(pid))


async def test_a_draining_daemon_is_shown_beside_the_new_one(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        await client.call_subtool("echo_suite", "echo", {"text": "hi"})
        old = await drain(workspace)
        alone = (await command(workspace, "status", "--json")).report
        assert (alone["is_running"], alone["daemon"]) == (False, None)
        assert [(each["pid"], each["is_draining"]) for each in alone["draining"]] == [(old, True)]
        assert [each["pid"] for each in alone["draining"][0]["sessions"]] == [client.pid]
        assert mode_of(side_socket(workspace, old)) == 0o600
        async with shim(workspace):
            both = (await command(workspace, "status", "--json")).report
            assert both["daemon"]["pid"] == daemon_pid(workspace) != old
            assert [each["pid"] for each in both["draining"]] == [old]
            shown = (await command(workspace, "status")).out
            assert f"process {old}" in shown
            assert ", draining" in shown
        assert await client.close() == 0
    await until_gone([old])
    assert not is_there(side_socket(workspace, old))


async def test_stopping_ends_the_draining_ones_too(workspace: Workspace) -> None:
    async with shim(workspace) as one:
        old = await drain(workspace)
        async with shim(workspace) as two:
            new = daemon_pid(workspace)
            done = (await command(workspace, "daemon", "stop", "--json")).report
            assert (done["state"], done["pid"], done["others"]) == ("stopped", new, [old])
            assert not alive(old)
            assert not alive(new)
            assert await one.ended() == 0
            assert await two.ended() == 0
    assert not is_there(side_socket(workspace, old))
    assert (await command(workspace, "daemon", "stop", "--json")).report["state"] == "absent"


async def test_one_that_drains_alone_can_be_stopped(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        old = await drain(workspace)
        done = (await command(workspace, "daemon", "stop", "--json")).report
        assert (done["state"], done["pid"]) == ("stopped", old)
        assert not alive(old)
        assert await client.ended() == 0


async def test_a_restart_moves_the_clients_of_those_that_drain(workspace: Workspace) -> None:
    """Each once nothing of it is open; until then the daemon is told of."""
    workspace.child("slow", child_command("slow_child"))
    async with shim(workspace) as client:
        call = {"action": "call", "subtool": "wait", "args": {"seconds": 8}}
        number = client.begin("tools/call", {"name": "slow_suite", "arguments": call})
        await until_true(lambda: under_way(workspace) > 0)
        old = await drain(workspace)
        done = await command(workspace, "daemon", "restart", "--json")
        assert (done.report["finishing"], done.report["older"]) == (0, [old])
        assert "result" in await client.answer_to(number, patience=20)
        await until_gone([old])
        assert "echo_suite" in await client.tools()
        assert daemon_pid(workspace) == done.report["pid"]
        assert client.stderr == ""


async def test_after_an_upgrade_commands_reach_the_hosts_of_the_old_daemon_too(
    workspace: Workspace, tmp_path: Path
) -> None:
    """The program is replaced while a host runs; another host starts the new daemon."""
    installed = tmp_path / "installed"
    env = {**workspace.env, **another_version(installed)}
    version = installed / "switchboard" / "__init__.py"
    version.write_text('__version__ = "8.8.8"\n', "utf-8")
    serve = [sys.executable, "-m", "switchboard", "mcp"]

    async def newer(*words: str) -> Finished:
        return await asyncio.to_thread(switchboard, workspace, *words, env=env)

    async with talking_to(serve, cwd=workspace.root, env=env, patience=30) as host:
        await host.initialize()
        await host.call_subtool("echo_suite", "echo", {"text": "hi"})
        old = daemon_pid(workspace)
        version.write_text('__version__ = "9.9.10"\n', "utf-8")
        async with talking_to(serve, cwd=workspace.root, env=env) as upgraded:
            await upgraded.initialize()
            told = await newer("status")
            assert f"an older daemon (version 8.8.8, process {old}) still serves 1 host" in told.err
            assert "hint: switchboard daemon restart" in told.err
            before = _children(await newer("status", "--json"))
            assert (await newer("restart", "echo")).code == 0
            after = _children(await newer("status", "--json"))
            assert before.keys() >= {old}
            assert after[old] != before[old]
            done = (await newer("daemon", "restart", "--json")).report
            assert (done["state"], done["finishing"], done["older"]) == ("started", 0, [])
            await until_gone([old])
            result = await host.call_subtool("echo_suite", "echo", {"text": "moved"})
            assert "moved" in str(result)
            found = (await newer("status", "--json")).report
            assert (found["daemon"]["version"], found["draining"]) == ("9.9.10", [])
            assert {each["pid"] for each in found["daemon"]["sessions"]} == {
                host.pid,
                upgraded.pid,
            }


def _children(status: Finished) -> dict[int, int]:
    """The process of `echo` in each daemon that runs one."""
    report = status.report
    daemons = [report["daemon"], *report["draining"]]
    return {
        each["pid"]: child["pid"] for each in daemons for child in each["children"] if child["pid"]
    }


async def test_the_daemon_that_an_upgrade_replaced_is_seen_and_stopped(
    workspace: Workspace, tmp_path: Path
) -> None:
    newer = {**workspace.env, **another_version(tmp_path / "newer")}
    async with shim(workspace) as client:
        old = daemon_pid(workspace)
        async with talking_to(
            [sys.executable, "-m", "switchboard", "mcp"], cwd=workspace.root, env=newer
        ) as upgraded:
            await upgraded.initialize()
            found = (await command(workspace, "status", "--json")).report
            assert found["daemon"]["version"] == "9.9.9"
            assert [each["pid"] for each in found["draining"]] == [old]
            # This command is of the old version, and says so.
            assert "the daemon is of version 9.9.9" in (await command(workspace, "status")).err
            stopped = (await command(workspace, "daemon", "stop", "--json")).report
            assert stopped["others"] == [old]
            assert await client.ended() == 0


async def test_a_frozen_one_hides_nobody_and_can_be_stopped(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        old = await drain(workspace)
        async with shim(workspace):
            os.kill(old, signal.SIGSTOP)
            found = (await command(workspace, "status", "--json")).report
            assert found["daemon"]["pid"] == daemon_pid(workspace)
            (frozen,) = found["draining"]
            assert frozen["pid"] == old
            assert f"does not answer within {2 * GREETING_S:g} s" in frozen["problem"]
            assert (await command(workspace, "daemon", "stop")).code == 0
            assert not alive(old)
            # It could tell its client nothing, which goes on with another.
            assert set(await client.tools()) == {"echo_suite"}


def sweep_by_command(workspace: Workspace) -> None:
    assert switchboard(workspace, "status", "--json").report["draining"] == []


def sweep_by_start(workspace: Workspace) -> None:
    workspace.stop_daemon()
    leave_behind(side_socket(workspace, 4242))
    assert switchboard(workspace, "daemon", "start").code == 0


@pytest.mark.parametrize("sweep", [sweep_by_command, sweep_by_start])
def test_what_killed_ones_left_behind_is_swept(
    workspace: Workspace, sweep: Callable[[Workspace], None]
) -> None:
    assert switchboard(workspace, "daemon", "start").code == 0
    leave_behind(side_socket(workspace, 4242))
    sweep(workspace)
    assert not is_there(side_socket(workspace, 4242))
    assert is_there(workspace.daemon_places.socket)


async def test_no_client_gets_in_by_the_side_door(workspace: Workspace) -> None:
    async with shim(workspace):
        old = await drain(workspace)
        os.rename(side_socket(workspace, old), workspace.daemon_places.socket)  # noqa: PTH104
        async with shim(workspace) as late:
            assert "about to end" in late.stderr
            assert set(await late.tools()) == {"echo_suite"}
        os.kill(old, signal.SIGTERM)
        await until_gone([old])
