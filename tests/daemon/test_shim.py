"""A client launches `switchboard mcp` and is served by the daemon, or in process where it must."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.daemons import daemon_pid, is_there, log_text, shim, status
from support.mcp_stdio import StdioClient, talking_to, text_of
from support.measuring import unmeasured
from support.processes import alive, children_of, until_gone, until_true
from support.requirements import attack
from support.workspace import Workspace


async def reported(client: StdioClient, suite: str = "echo_suite") -> dict[str, object]:
    result = await client.call_subtool(suite, "report")
    return json.loads(json.loads(text_of(result))["content"][0]["text"])


async def test_the_daemon_serves_and_outlives_its_client(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        assert set(await client.tools()) == {"echo_suite"}
        child = (await reported(client))["pid"]
        pid = daemon_pid(workspace)
        assert child in children_of(pid)
        assert await client.close() == 0
        assert client.junk == []
        assert client.stderr == ""
    async with shim(workspace) as client:
        assert (await reported(client))["pid"] == child
    assert daemon_pid(workspace) == pid


def test_the_shim_knows_the_standard_library_alone() -> None:
    program = (
        "import sys; before = set(sys.modules)\n"
        "import switchboard.entry, switchboard.shim.main\n"
        "print('\\n'.join(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=unmeasured(os.environ),
        check=True,
    )
    loaded = set(done.stdout.split())
    ours = {name for name in loaded if name.partition(".")[0] == "switchboard"}
    assert all(
        name in {"switchboard", "switchboard.entry"}
        or name.startswith(("switchboard.ipc", "switchboard.shim"))
        for name in ours
    )
    kit = {name for name in loaded if name.partition(".")[0] == "switchkit"}
    assert kit == {
        "switchkit",
        *(f"switchkit.{name}" for name in ("files", "platform", "sockets")),
        "switchkit.platform.light",
        "switchkit.platform.paths",
    }
    assert {name.partition(".")[0] for name in loaded - ours - kit} <= sys.stdlib_module_names
    assert loaded & {"ctypes", "fcntl", "select", "signal", "socket", "typing"} == set()
    # Each of these would cost a client more than the whole shim.
    assert loaded & {"json", "socket", "subprocess", "re", "asyncio", "pathlib", "typing"} == set()


@pytest.mark.parametrize("how", ["flag", "environment"])
async def test_serving_in_process_can_be_chosen(workspace: Workspace, how: str) -> None:
    words = ("--in-process",) if how == "flag" else ()
    env = {"SWITCHBOARD_IN_PROCESS": "1"} if how == "environment" else {}
    async with shim(workspace, *words, env=env) as client:
        assert set(await client.tools()) == {"echo_suite"}
        assert await client.close() == 0
    assert status(workspace) is None


async def test_the_options_of_a_command_mean_what_they_mean_elsewhere(
    workspace: Workspace, tmp_path: Path
) -> None:
    given = tmp_path / "more.json"
    given.write_text(
        json.dumps({"mcpServers": {"more": {"command": sys.executable, "args": ["-c", ""]}}}),
        "utf-8",
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "link").symlink_to(workspace.root)
    words = ("-C", "../link", "--config", "../more.json")
    async with shim(workspace, *words, cwd=elsewhere) as client:
        assert set(await client.tools()) == {"echo_suite", "more_suite"}
    found = status(workspace)
    assert found is not None
    assert [board["workspace"] for board in found["boards"]] == [str(workspace.root)]


async def test_a_broken_variable_is_told_as_in_process(workspace: Workspace) -> None:
    env = {**workspace.env, "ENABLE_MCP_SERVER_SURFACE": "perhaps"}
    for command in (workspace.command("mcp"), workspace.command("mcp", "--in-process")):
        async with talking_to(command, cwd=workspace.root, env=env) as client:
            assert await client.ended() == 2
            assert "ENABLE_MCP_SERVER_SURFACE" in client.stderr
            assert "error:" in client.stderr


async def test_a_daemon_that_cannot_start_is_done_without(workspace: Workspace) -> None:
    # A folder where the log should be.
    (workspace.home / "logs" / "daemon.log").mkdir(parents=True)
    async with shim(workspace) as client:
        assert set(await client.tools()) == {"echo_suite"}
        assert "the daemon cannot start" in client.stderr
        assert "in this process instead" in client.stderr


async def test_a_daemon_that_dies_at_its_start_is_told_of(
    workspace: Workspace, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text("import os; print('no luck today', flush=True)\n")
    (broken / "switchboard").mkdir()
    (broken / "switchboard" / "__init__.py").write_text("raise SystemExit('it does not want to')\n")
    script = (
        "import sys; from switchboard.shim.main import serve;"
        f"import os; code = serve(['mcp'], {{**os.environ, 'PYTHONPATH': {str(broken)!r}}});"
        "sys.exit(7 if code is None else code)"
    )
    async with talking_to(
        [sys.executable, "-c", script], cwd=workspace.root, env=workspace.env
    ) as client:
        assert await client.ended() == 7
        assert "it does not want to" in client.stderr
        assert "in this process instead" in client.stderr


async def test_a_client_that_leaves_takes_its_call_with_it_where_no_answer_is_kept(
    workspace: Workspace,
) -> None:
    workspace.config_toml('[results]\nkeep = "0"\n', scope="home")
    async with shim(workspace) as client:
        client.begin(
            "tools/call",
            {"name": "echo_suite", "arguments": {"action": "call", "subtool": "stall"}},
        )
        await until_true(lambda: (status(workspace) or {})["sessions"][0]["under_way"] == 1)
        client.process.kill()
        await client.process.wait()
        await until_true(lambda: (status(workspace) or {})["sessions"] == [])
        assert (status(workspace) or {})["children"][0]["under_way"] == 0


async def test_the_children_of_a_daemon_that_is_killed_end_at_once(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        child = (await reported(client))["pid"]
        pid = daemon_pid(workspace)
        stalled = client.begin(
            "tools/call",
            {"name": "echo_suite", "arguments": {"action": "call", "subtool": "stall"}},
        )
        await until_true(lambda: (status(workspace) or {})["children"][0]["under_way"] == 1)
        os.kill(pid, signal.SIGKILL)
        assert "ended while this call" in json.dumps(await client.answer_to(stalled, patience=2))
        await until_gone([int(str(child))])
        assert (await reported(client))["pid"] != child
        assert "the daemon ended" in client.stderr
    async with shim(workspace) as client:
        assert set(await client.tools()) == {"echo_suite"}
        assert client.stderr == ""
    assert daemon_pid(workspace) != pid


async def test_stopping_the_daemon_ends_its_sessions_and_its_children(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        child = int(str((await reported(client))["pid"]))
        pid = daemon_pid(workspace)
        workspace.stop_daemon()
        assert not alive(pid)
        assert not alive(child)
        assert await client.ended() == 0
    assert not is_there(workspace.daemon_places.socket)
    assert "Traceback" not in log_text(workspace)


async def test_options_may_stand_before_the_verb(workspace: Workspace, tmp_path: Path) -> None:
    command = workspace.command("--workspace", str(workspace.root), "mcp")
    async with talking_to(command, cwd=tmp_path, env=workspace.env) as client:
        await client.initialize()
        assert set(await client.tools()) == {"echo_suite"}
        assert len((status(workspace) or {})["sessions"]) == 1


@attack("T10")
@pytest.mark.parametrize("files", ["0,1", "999,998", "abc", "3", "-1,-1", "1,1", "9" * 30 + ",4"])
@pytest.mark.parametrize("in_process", [False, True], ids=["daemon", "in-process"])
async def test_a_ledger_that_a_client_made_up_is_none(
    workspace: Workspace, files: str, in_process: bool
) -> None:
    env = {"SWITCHBOARD_LEDGER_FDS": files}
    env |= {"SWITCHBOARD_IN_PROCESS": "1"} if in_process else {}
    async with shim(workspace, env=env) as client:
        assert "echo_suite" in await client.tools()
