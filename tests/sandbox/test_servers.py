"""Servers behind Switchboard in their sandboxes: real ones, over the wire, judged by the host."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.commands import switchboard
from support.mcp_stdio import StdioClient, talking_to, text_of
from support.processes import descendants_of, mentioning, until_true, wait_until_none_mention
from support.requirements import requirement
from support.workspace import CHECKOUT, NODE_MODULES, Json, Workspace, child_command, server

NPM = NODE_MODULES / "@modelcontextprotocol"
SECRET = "the-secret-of-the-home"
# A checkout may lie where sandboxes show nothing, under `/tmp` or in the home.
SEES_CHECKOUT = {"read_roots": [str(CHECKOUT)]}
# Becomes the server that the arguments name.
THEN_SERVE = "\nimport os, sys; os.execv(sys.argv[1], sys.argv[1:])"


def npm(name: str, *args: str, **more: Any) -> Json:
    """Write a reference server from npm, which runs in a sandbox."""
    script = NPM / f"server-{name}" / "dist" / "index.js"
    opened = {} if more.get("sandbox_profile") == "none" else SEES_CHECKOUT
    return server(["node", script, *args], **{"sandbox_profile": "default", **opened, **more})


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    (made.user_home / ".ssh").mkdir()
    (made.user_home / ".ssh" / "key").write_text(SECRET)
    (made.root / ".git" / "hooks").mkdir(parents=True)
    return made


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Workspace]:
    """One whose servers a daemon runs."""
    made = Workspace(tmp_path, daemon=True)
    yield made
    made.stop_daemon()


@asynccontextmanager
async def board(workspace: Workspace, *words: str) -> AsyncGenerator[StdioClient]:
    """Talk to `switchboard mcp`; afterwards nothing of it may be left."""
    command = workspace.command("mcp", *words)
    async with talking_to(command, cwd=workspace.root, env=workspace.env, patience=60) as client:
        await client.initialize()
        yield client
        assert await client.close() == 0
        assert client.junk == []
    workspace.stop_daemon()
    wait_until_none_mention(str(workspace.root))


async def read(client: StdioClient, path: Path) -> str:
    suite = "filesystem_suite"
    return text_of(await client.call_subtool(suite, "read_text_file", {"path": str(path)}))


async def write(client: StdioClient, path: Path) -> None:
    args = {"path": str(path), "content": "written"}
    await client.call_subtool("filesystem_suite", "write_file", args)


@requirement("S3.18", "S3.96")
async def test_a_server_of_files_cannot_read_the_home_it_was_pointed_at(
    workspace: Workspace,
) -> None:
    allowed = [str(workspace.root), str(workspace.user_home)]
    secret = workspace.user_home / ".ssh" / "key"
    workspace.mcp_json({"filesystem": npm("filesystem", *allowed, sandbox_profile="none")})
    async with board(workspace, "--in-process") as client:
        assert SECRET in await read(client, secret)
    workspace.mcp_json({"filesystem": npm("filesystem", *allowed)})
    (workspace.root / "here.txt").write_text("of the workspace")
    async with board(workspace, "--in-process") as client:
        assert SECRET not in await read(client, secret)
        assert "of the workspace" in await read(client, workspace.root / "here.txt")
        await write(client, workspace.user_home / "new")
        await write(client, workspace.root / ".git" / "hooks" / "post-commit")
        await write(client, workspace.root / "new.txt")
    assert not (workspace.user_home / "new").exists()
    assert not (workspace.root / ".git" / "hooks" / "post-commit").exists()
    assert (workspace.root / "new.txt").read_text() == "written"


async def test_a_server_of_memory_keeps_its_file_in_its_state_folder(
    workspace: Workspace,
) -> None:
    """Where the file would be otherwise is beside the package, which is read-only."""
    script = str(NPM / "server-memory" / "dist" / "index.js")
    line = f'MEMORY_FILE_PATH="$SWITCHBOARD_STATE_DIR/memory.jsonl" exec node {script}'
    entry = server(["sh", "-c", line], sandbox_profile="default", **SEES_CHECKOUT)
    workspace.mcp_json({"memory": entry})
    entity = {"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}
    async with board(workspace, "--in-process") as client:
        await client.call_subtool("memory_suite", "create_entities", {"entities": [entity]})
    (kept,) = (workspace.home / "state").glob("memory-*/memory.jsonl")
    assert json.loads(kept.read_text())["name"] == "Ada"
    assert kept.parent.stat().st_mode & 0o077 == 0


async def test_everything_adds_two_numbers_in_a_sandbox(workspace: Workspace) -> None:
    workspace.mcp_json({"everything": npm("everything")})
    async with board(workspace, "--in-process") as client:
        result = await client.call_subtool("everything_suite", "get-sum", {"a": 19, "b": 23})
        assert "42" in text_of(result)
        walls = [pid for pid in descendants_of(client.pid) if "bwrap" in _command_of(pid)]
        assert walls


def _command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")


async def test_nothing_is_left_when_switchboard_is_killed(workspace: Workspace) -> None:
    workspace.mcp_json({"everything": npm("everything")})
    command = workspace.command("mcp", "--in-process")
    async with talking_to(command, cwd=workspace.root, env=workspace.env, patience=60) as client:
        await client.initialize()
        await client.call_subtool("everything_suite", "get-sum", {"a": 1, "b": 2})
        assert mentioning(str(workspace.root))
        client.process.send_signal(signal.SIGKILL)
        await client.process.wait()
        await until_true(lambda: not mentioning(str(workspace.root)))


async def test_status_shows_the_server_itself_and_the_sandbox_around_it(shared: Workspace) -> None:
    confined = server(
        child_command("echo_child", "inside"), sandbox_profile="default", **SEES_CHECKOUT
    )
    free = server(child_command("echo_child", "outside"))
    shared.mcp_json({"inside": confined, "outside": free})
    async with board(shared) as client:
        told = {
            name: json.loads(json.loads(text_of(result))["content"][0]["text"])["pid"]
            for name in ("inside", "outside")
            for result in (await client.call_subtool(f"{name}_suite", "report"),)
        }
        shown = await asyncio.to_thread(switchboard, shared, "status", "--json")
        inside, outside = sorted(
            shown.report["daemon"]["children"], key=lambda child: child["name"]
        )
        # The kernel tells both numbers: the one of the host, and the one that the server sees.
        assert _numbers_of(inside["pid"]) == [inside["pid"], told["inside"]]
        assert inside["memory_bytes"] == pytest.approx(_resident(inside["pid"]), rel=0.2)
        assert "bwrap" in _command_of(inside["sandbox_pid"]).split("\0")[0]
        assert inside["pid"] in descendants_of(inside["sandbox_pid"])
        assert (outside["pid"], outside["sandbox_pid"]) == (told["outside"], 0)
        people = await asyncio.to_thread(switchboard, shared, "status", "--verbose")
        [head] = [line for line in people.out.splitlines() if line.startswith("CHILD")]
        [row] = [line for line in people.out.splitlines() if line.startswith("inside")]
        at = head.index("SANDBOX PID")
        assert row[head.index("PID") :].split()[0] == str(inside["pid"])
        assert row[at:].split()[0] == str(inside["sandbox_pid"])


def _numbers_of(pid: int) -> list[int]:
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("NSpid:")]
    return [int(number) for number in line.split()[1:]]


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def until_shown(workspace: Workspace) -> Json:
    """Wait for a question, and show it."""
    async with asyncio.timeout(60):
        while True:
            done = await asyncio.to_thread(switchboard, workspace, "approvals", "--json")
            if listed := done.report["approvals"]:
                words = ("approvals", "show", listed[0]["id"], "--json")
                return (await asyncio.to_thread(switchboard, workspace, *words)).report


async def test_a_server_of_all_workspaces_runs_in_its_state_folder(shared: Workspace) -> None:
    """The home, where it would run otherwise, is not opened in any sandbox. A person is told so."""
    shared.config_toml("enable_mcp_server_surface = true\n", scope="home")
    program = "open('here', 'w').close()" + THEN_SERVE
    command = [sys.executable, "-c", program, *child_command("echo_child", "echo")]
    entry = server(command, sandbox_profile="default", scope="user", **SEES_CHECKOUT)
    shared.mcp_json({"echo": entry}, scope="home")
    async with board(shared) as client:
        assert (await client.introspect("echo_suite"))["tools"]
        [here] = (shared.home / "state").glob("echo-*/here")
        action: Json = {"action": "call", "subtool": "fail"}
        client.begin("tools/call", {"name": "echo_suite", "arguments": action})
        shown = await until_shown(shared)
        assert Path(shown["question"]["facts"]["cwd"]) == here.parent
    assert not (shared.user_home / "here").exists()


async def test_a_child_of_a_suite_is_confined_by_its_own_file(workspace: Workspace) -> None:
    program = """
import os
try:
    found = open(os.path.expanduser("~/.ssh/key")).read()
except OSError as error:
    found = str(error.errno)
open("found", "w").write(found)
"""
    command = [sys.executable, "-c", program + THEN_SERVE, *child_command("echo_child", "echo")]
    folder = workspace.child(
        "echo", command, sandboxProfile="default", readRoots=SEES_CHECKOUT["read_roots"]
    )
    async with board(workspace, "--in-process") as client:
        await client.introspect("echo_suite")
    assert (folder / "found").read_text() == "2"


@requirement("S3.38")
async def test_a_server_whose_sandbox_does_not_exist_here_is_not_shown(
    workspace: Workspace,
) -> None:
    workspace.mcp_json(
        {
            "everything": npm("everything"),
            "other": npm("everything", sandbox_profile="seatbelt"),
        }
    )
    async with board(workspace, "--in-process") as client:
        assert set(await client.tools()) == {"everything_suite"}
    assert not mentioning(str(workspace.root))


async def test_a_confined_server_that_cannot_start_says_why(workspace: Workspace) -> None:
    (workspace.root / ".vscode").symlink_to(workspace.user_home)
    workspace.mcp_json({"everything": npm("everything")})
    async with board(workspace, "--in-process") as client:
        result = await client.call("everything_suite", {"action": "introspect"})
    assert result["isError"]
    assert "permission_denied" in text_of(result)
    assert "symbolic link" in text_of(result)
    assert str(workspace.user_home) not in text_of(result)


@requirement("S3.23")
async def test_a_server_that_its_sandbox_stopped_is_told_with_the_key_that_would_open_it(
    workspace: Workspace,
) -> None:
    outside = workspace.user_home.parent / "outside"
    outside.mkdir()
    program = f"open({str(outside / 'log')!r}, 'w')" + THEN_SERVE
    command = [sys.executable, "-c", program, *child_command("echo_child", "echo")]
    workspace.mcp_json({"echo": server(command, sandbox_profile="default", **SEES_CHECKOUT)})
    async with board(workspace, "--in-process") as client:
        result = await client.call("echo_suite", {"action": "introspect"})
        told = text_of(result)
        assert result["isError"]
        assert told.startswith("permission_denied")
        assert "`read_roots`" in told or "`writable_roots`" in told
    opened = server(
        command, sandbox_profile="default", writable_roots=[str(outside)], **SEES_CHECKOUT
    )
    workspace.mcp_json({"echo": opened})
    async with board(workspace, "--in-process") as client:
        assert (await client.introspect("echo_suite"))["tools"]
    assert (outside / "log").exists()


async def test_a_search_path_of_an_entry_opens_no_folder(workspace: Workspace) -> None:
    """It would be a way to ask for a folder without saying so."""
    program = f"open('found', 'w').write(str(os.listdir({str(workspace.user_home)!r})))"
    command = [sys.executable, "-c", f"import os\n{program}{THEN_SERVE}"]
    command += child_command("echo_child", "echo")
    path = f"{workspace.user_home}/.ssh:/usr/bin:/bin"
    entry = server(command, sandbox_profile="default", env={"PATH": path}, **SEES_CHECKOUT)
    workspace.mcp_json({"echo": entry})
    async with board(workspace, "--in-process") as client:
        await client.introspect("echo_suite")
    assert ".ssh" not in (workspace.root / "found").read_text()
