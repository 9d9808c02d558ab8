"""`call`, `introspect` and `tokens` use the daemon: its children, and the caller's environment."""

import asyncio
import json
import signal
import subprocess
from pathlib import Path

import pytest

from cli.commands import switchboard
from control.results import pid_in
from support.daemons import another_version, daemon_pid, shim, status, under_way
from support.processes import until_true
from support.workspace import Json, Workspace, child_command, server
from switchboard.wire.frames import MAX_MESSAGE_BYTES

PATIENCE = 20.0


def report(workspace: Workspace, name: str = "echo", **env: str) -> Json:
    """What an echo child tells of its process."""
    done = switchboard(workspace, "call", name, "report", "--json", env=env)
    assert done.code == 0, done.err
    told: Json = json.loads(done.report["result"]["content"][0]["text"])
    return told


async def test_calls_and_clients_share_a_running_child(workspace: Workspace) -> None:
    first = await asyncio.to_thread(report, workspace)
    async with shim(workspace) as client:
        assert pid_in(await client.call_subtool("echo_suite", "report")) == first["pid"]
    assert (await asyncio.to_thread(report, workspace))["pid"] == first["pid"]


async def test_a_server_that_shows_its_tools_is_shared_too(workspace: Workspace) -> None:
    workspace.echo_child("echo", expose="tools")
    async with shim(workspace) as client:
        told = await client.request("tools/call", {"name": "report", "arguments": {}})
        ours = json.loads(told["content"][0]["text"])["pid"]
        assert (await asyncio.to_thread(report, workspace))["pid"] == ours
        again = await client.request("tools/call", {"name": "report", "arguments": {}})
        assert json.loads(again["content"][0]["text"])["pid"] == ours


def test_in_process_uses_no_daemon(workspace: Workspace) -> None:
    done = switchboard(workspace, "call", "echo", "echo", "--args", '{"text": "x"}', "--in-process")
    assert (done.code, done.out) == (0, "echo: x\n")
    assert status(workspace) is None


def test_a_call_sees_the_variables_of_its_own_shell(workspace: Workspace) -> None:
    entry = server(child_command("echo_child", "echo"), secret_env={"WHOSE": "env:WHOSE"})
    workspace.mcp_json({"mine": entry}, scope="home")
    one = report(workspace, "mine", WHOSE="one")
    two = report(workspace, "mine", WHOSE="two")
    assert (one["env"]["WHOSE"], two["env"]["WHOSE"]) == ("one", "two")
    assert one["pid"] != two["pid"]
    # Whoever has the first one's environment gets its child.
    assert report(workspace, "mine", WHOSE="one")["pid"] == one["pid"]


@pytest.mark.parametrize(
    "words",
    [
        ("call", "echo", "echo", "--args", '{"text": "x"}'),
        ("call", "echo", "fail", "--args", '{"why": "no"}'),
        ("call", "echo", "refuse"),
        ("call", "echo", "nothing"),
        ("call", "echo"),
        ("call", "ehco", "x"),
        ("call", "echo", "echo", "--args", '{\n"text": "x"}'),
        ("introspect",),
        ("introspect", "echo", "add"),
        ("introspect", "--full"),
        ("introspect", "nobody"),
        ("tokens",),
    ],
)
def test_the_answer_is_the_same_with_and_without_a_daemon(
    workspace: Workspace, words: tuple[str, ...]
) -> None:
    ours, daemons = (
        switchboard(workspace, *words, "--json", *more) for more in (("--in-process",), ())
    )
    assert status(workspace) is not None
    assert ours.code == daemons.code
    assert without_ids(ours.report) == without_ids(daemons.report)
    ours, daemons = (switchboard(workspace, *words, *more) for more in (("--in-process",), ()))
    if "call_id" not in ours.err:
        assert (ours.out, ours.err) == (daemons.out, daemons.err)


def without_ids(report: Json) -> Json:
    details = {key: value for key, value in report.get("details", {}).items() if key != "call_id"}
    return {**report, "call_id": "", "details": details}


def test_who_wants_a_server_of_a_broken_file_is_told_of_the_file(workspace: Workspace) -> None:
    workspace.mcp_json({"a": {"comand": "x"}})
    for words in (("call", "a", "b"), ("call", "a", "b", "--in-process")):
        done = switchboard(workspace, *words)
        assert (done.code, done.out) == (1, "")
        assert "mcpServers.a.comand: unknown field `comand`" in done.err
        assert "hint: switchboard config check" in done.err


def test_a_daemon_that_cannot_start_is_done_without(workspace: Workspace) -> None:
    folder = Path(workspace.daemon_places.folder)
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("in the way", "utf-8")
    done = switchboard(workspace, "call", "echo", "echo", "--args", '{"text": "x"}')
    folder.unlink()
    assert (done.code, done.out) == (0, "echo: x\n")
    assert "running in this process instead" in done.err


async def test_ctrl_c_cancels_the_call_in_the_daemon(workspace: Workspace) -> None:
    process = await asyncio.create_subprocess_exec(
        *workspace.command("call", "echo", "stall"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=workspace.root,
        env=workspace.env,
    )
    await until_true(lambda: under_way(workspace) == 1)
    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(PATIENCE):
        assert await process.communicate() == (b"", b"")
    assert process.returncode == 130
    await until_true(lambda: under_way(workspace) == 0)


def test_a_long_result_comes_whole(workspace: Workspace) -> None:
    text = "x" * 12_000_000
    (workspace.root / "long.json").write_text(json.dumps({"text": text}), "utf-8")
    done = switchboard(workspace, "call", "echo", "echo", "--args", "@long.json")
    assert done.code == 0, done.err
    assert len(done.out) == len(text) + len("echo: \n")


def test_arguments_that_are_too_long_are_told_so(workspace: Workspace) -> None:
    text = json.dumps({"text": "x" * MAX_MESSAGE_BYTES})
    (workspace.root / "long.json").write_text(text, "utf-8")
    done = switchboard(workspace, "call", "echo", "echo", "--args", "@long.json", "--json")
    assert (done.code, done.report["reason"]) == (1, "request-too-large")
    assert f"{MAX_MESSAGE_BYTES:,}" in done.report["message"]


def test_a_daemon_of_another_version_is_left_to_its_clients(
    workspace: Workspace, tmp_path: Path
) -> None:
    other = another_version(tmp_path)
    assert report(workspace, **other)["pid"]
    old = daemon_pid(workspace)
    assert report(workspace)["pid"]
    assert daemon_pid(workspace) != old
