"""Shim, daemon and children under kernels that lack what is new: served, and ended whole."""

import asyncio
import json
import os
import signal
import subprocess
import sys

import pytest

import support.without_calls
from support.daemons import daemon_pid
from support.mcp_stdio import talking_to, text_of
from support.processes import descendants_of, until_gone, until_true
from support.without_calls import PIDFD
from support.workspace import Workspace

# A kernel that allows no user namespaces, and a container whose first process is a shell.
NO_NAMESPACES = ["unshare", "--user", "--map-root-user", "sh", "-c"]
NONE = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"'
CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c"]
WITHOUT = [sys.executable, support.without_calls.__file__]


@pytest.mark.parametrize("lacking", [PIDFD, f"{PIDFD},memfd_create,fallocate,statx"])
@pytest.mark.parametrize("how", ["stopped", "killed"])
async def test_a_daemon_without_new_calls_serves_and_leaves_nobody(
    workspace: Workspace, lacking: str, how: str
) -> None:
    command = [*WITHOUT, lacking, *workspace.command("mcp")]
    async with talking_to(command, cwd=workspace.root, env=workspace.env, patience=30) as client:
        await client.discover()
        answer = await client.call_subtool("echo_suite", "echo", {"text": "there"})
        assert "echo: there" in text_of(answer)
        daemon = daemon_pid(workspace)
        below = descendants_of(daemon)
        assert below
        if how == "killed":
            os.kill(daemon, signal.SIGKILL)
            # The session goes on with another daemon, and the children of the first are gone.
            await until_gone(below)
            answer = await client.call_subtool("echo_suite", "echo", {"text": "again"})
            assert "echo: again" in text_of(answer)
            daemon = daemon_pid(workspace)
            below = descendants_of(daemon)
    await asyncio.to_thread(workspace.stop_daemon)
    await until_gone([daemon, *below])
    await until_true(lambda: descendants_of(daemon) == [])


def run(workspace: Workspace, *command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd=workspace.root,
        env=workspace.env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_without_user_namespaces_a_confined_server_is_left_out_and_the_doctor_says_why(
    workspace: Workspace,
) -> None:
    workspace.echo_child("confined", sandboxProfile="default")
    inside = [*NO_NAMESPACES, NONE, "sh"]
    listed = run(workspace, *inside, *workspace.command("list", "--json"))
    shown = {each["name"]: each for each in json.loads(listed.stdout)["servers"]}
    assert "echo" in shown
    assert shown.get("confined", {}).get("state") != "ready"
    told = run(workspace, *inside, *workspace.command("doctor", "--json"))
    findings = json.loads(told.stdout)["findings"]
    (found,) = (each for each in findings if "confined" in each["subject"])
    assert "max_user_namespaces" in found["message"] + found["hint"]
    call = ("call", "echo", "echo", "text=there")
    assert "echo: there" in run(workspace, *inside, *workspace.command(*call)).stdout
    ran = run(workspace, *inside, *workspace.command("call", "confined", *call[2:]))
    assert ran.returncode != 0
    assert "echo: there" not in ran.stdout


def test_in_a_container_whose_first_process_reaps_nobody_all_of_it_ends(
    workspace: Workspace,
) -> None:
    switchboard = workspace.command()[0]
    script = f"""
set -e
{switchboard} call echo echo text=there
{switchboard} status --json >status.json
{switchboard} daemon stop >&2
for each in /proc/[0-9]*; do
    tr '\\0' ' ' <$each/cmdline 2>/dev/null || true
done | grep -c '[e]cho_child' || true
"""
    done = run(workspace, *CONTAINER, script)
    assert done.returncode == 0, done.stderr
    assert "echo: there" in done.stdout
    assert done.stdout.splitlines()[-1] == "0"
    assert json.loads((workspace.root / "status.json").read_text())["is_running"]
