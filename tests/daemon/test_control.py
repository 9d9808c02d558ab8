"""`status`, `events` and `daemon`: a look into the daemon, and a hand on it."""

import asyncio
import json
import shlex
import subprocess
import sys

from cli.commands import switchboard
from support.daemons import one_of_another_version, shim, status
from support.measuring import unmeasured
from support.processes import alive
from support.workspace import Workspace, child_command, server
from switchboard import __version__


async def test_status_shows_sessions_boards_and_children(workspace: Workspace) -> None:
    workspace.child("mortal", child_command("misbehaving_child", "dies-on-tool"))
    async with shim(workspace) as client:
        await client.call_subtool("echo_suite", "echo", {"text": "hi"})
        await client.call_subtool("mortal_suite", "die")
        done = await asyncio.to_thread(switchboard, workspace, "status", "--json")
        daemon = done.report["daemon"]
        (session,) = daemon["sessions"]
        assert session["client"] == "switchboard-tests 1"
        assert (session["pid"], session["calls"], session["failures"]) == (client.pid, 2, 1)
        (board,) = daemon["boards"]
        assert (board["workspace"], board["servers"], board["sessions"]) == (
            str(workspace.root),
            2,
            1,
        )
        echo, mortal = sorted(daemon["children"], key=lambda child: child["name"])
        assert alive(echo["pid"])
        assert echo["memory_bytes"] > 1_000_000
        assert (echo["calls"], echo["last_error"], echo["scope"]) == (1, "", "workspace")
        assert "went away" in mortal["last_error"]
        shown = await asyncio.to_thread(switchboard, workspace, "status")
        assert str(echo["pid"]) in shown.out
        # Cut, so that a row fits a terminal of 80 columns.
        (row,) = [line for line in shown.out.splitlines() if str(client.pid) in line.split()]
        assert row.split()[1].startswith("switchboar")


async def test_status_is_short_and_tells_everything_of_one_server(workspace: Workspace) -> None:
    workspace.echo_child("used")
    workspace.echo_child("idle")
    async with shim(workspace) as client:
        await client.introspect("used_suite")
        short, whole, one, none = [
            await asyncio.to_thread(switchboard, workspace, "status", *words)
            for words in ((), ("--verbose",), ("used",), ("usde",))
        ]
    rows = [line.split()[0] for line in short.out.splitlines() if line]
    assert "used" in rows
    assert "idle" not in rows
    assert "SANDBOX PID" not in short.out
    assert "\nnot running: echo, idle\n" in short.out
    assert {"used", "idle"} <= {line.split()[0] for line in whole.out.splitlines() if line}
    assert "SANDBOX PID" in whole.out
    assert one.out.startswith("used\n  state       running, process ")
    assert "\n  scope       workspace\n" in one.out
    assert "idle" not in one.out
    assert (none.code, none.out) == (1, "")
    assert "hint: did you mean `used`?" in none.err


async def test_an_error_that_is_cured_is_told_no_more(workspace: Workspace) -> None:
    program = workspace.home.parent / "late-server"
    workspace.mcp_json({"late": server([str(program)])}, scope="home")
    async with shim(workspace) as client:
        asked = {"action": "introspect"}
        failed = await client.call("late_suite", asked)
        assert failed["isError"]
        (late,) = (each for each in (status(workspace) or {})["children"] if each["name"] == "late")
        assert late["last_error"]
        assert late["last_error_at"] > 0
        program.write_text(f"#!/bin/sh\nexec {shlex.join(child_command('echo_child'))}\n", "utf-8")
        program.chmod(0o700)
        async with asyncio.timeout(60):
            # It is not tried again at once.
            while (await client.call("late_suite", asked)).get("isError"):
                pass
        (late,) = (each for each in (status(workspace) or {})["children"] if each["name"] == "late")
        assert (late["is_running"], late["last_error"]) == (True, "")


def test_status_without_a_daemon_says_so(workspace: Workspace) -> None:
    done = switchboard(workspace, "status", "--json")
    assert (done.code, done.report["is_running"]) == (0, False)
    assert "no daemon is running" in switchboard(workspace, "status").err
    assert switchboard(workspace, "daemon", "stop", "--json").report["state"] == "absent"
    assert switchboard(workspace, "events", "--json").code == 1


def test_a_daemon_of_another_version_is_shown_as_far_as_it_is_understood(
    workspace: Workspace,
) -> None:
    told: dict[str, object] = {"version": "0.0.1", "abi": "0.0.1/0", "guests": {"ann": 1}}
    with one_of_another_version(workspace, told):
        done = switchboard(workspace, "status")
    assert done.code == 0
    assert "daemon 0.0.1" in done.out
    assert "understands only in part" in done.out
    assert f"the daemon is of version 0.0.1, and this is {__version__}" in done.err


def test_a_daemon_of_another_build_is_not_told_apart_by_its_number(workspace: Workspace) -> None:
    with one_of_another_version(workspace, {"version": __version__, "abi": f"{__version__}/0"}):
        done = switchboard(workspace, "status")
    assert f"the daemon is of another build of version {__version__}, and this is" in done.err


def test_an_answer_in_other_words_is_one_clear_error(workspace: Workspace) -> None:
    with one_of_another_version(workspace, {"calls": 7}, asked="approvals"):
        done = switchboard(workspace, "approvals", "list", "--json")
    assert (done.code, done.report["reason"]) == (1, "daemon-of-another-version")
    assert done.report["hint"] == "switchboard daemon restart"


def test_a_daemon_is_started_restarted_and_stopped(workspace: Workspace) -> None:
    started = switchboard(workspace, "daemon", "start", "--json").report
    assert started["state"] == "started"
    assert switchboard(workspace, "daemon", "start", "--json").report == {
        **started,
        "state": "running",
    }
    again = switchboard(workspace, "daemon", "restart", "--json").report
    assert again["state"] == "started"
    assert again["pid"] != started["pid"]
    assert not alive(started["pid"])
    second = switchboard(workspace, "daemon", "run")
    assert second.code == 1
    assert "running already" in second.err
    stopped = switchboard(workspace, "daemon", "stop", "--json").report
    assert (stopped["state"], stopped["pid"]) == ("stopped", again["pid"])
    assert not alive(again["pid"])


async def test_the_log_can_be_read(workspace: Workspace) -> None:
    async with shim(workspace):
        done = await asyncio.to_thread(switchboard, workspace, "daemon", "logs", "--json")
        assert any("SessionOpened" in line for line in done.report["text"])
        done = await asyncio.to_thread(
            switchboard, workspace, "daemon", "logs", "--lines", "1", "--json"
        )
        assert len(done.report["text"]) == 1


async def test_events_are_shown_and_followed(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        follow = await asyncio.create_subprocess_exec(
            *workspace.command("events", "--follow", "--json", "--last", "0"),
            stdout=asyncio.subprocess.PIPE,
            env=workspace.env,
            cwd=workspace.root,
        )
        assert follow.stdout is not None
        seen: list[str] = []
        async with asyncio.timeout(20):
            # It hears what happens after it has come, so something has to go on happening.
            while "CallFinished" not in seen:
                await client.call_subtool("echo_suite", "echo", {"text": "hush"})
                while "CallFinished" not in seen:
                    try:
                        line = await asyncio.wait_for(follow.stdout.readline(), 0.3)
                    except TimeoutError:
                        break
                    report = json.loads(line)
                    assert report["schema"] == "switchboard.event/1"
                    assert "hush" not in json.dumps(report)
                    seen.append(report["event"]["event"])
        follow.terminate()
        await follow.wait()
        done = await asyncio.to_thread(switchboard, workspace, "events", "--last", "5", "--json")
        events = [event["event"] for event in done.report["events"]]
        assert "CallFinished" in events
        assert len(events) == 5


def test_a_command_to_the_daemon_loads_neither_loop_nor_providers(workspace: Workspace) -> None:
    for words in (["status"], ["daemon", "stop"], ["events"]):
        program = (
            "import sys\nfrom switchboard.entry import main\n"
            f"main({words!r})\n"
            "print('\\n'.join(sys.modules))"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env=unmeasured(workspace.env),
            check=True,
        )
        loaded = set(done.stdout.split())
        assert (
            loaded & {"asyncio", "uvloop", "mcp", "httpx2", "starlette", "jsonschema_rs"} == set()
        )
        assert not any(
            name.startswith(("switchboard.providers", "switchboard.children", "switchboard.daemon"))
            for name in loaded
        )


async def test_answers_come_from_a_living_daemon_only(workspace: Workspace) -> None:
    async with shim(workspace):
        assert status(workspace) is not None
    workspace.stop_daemon()
    assert status(workspace) is None
