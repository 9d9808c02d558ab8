"""Protected files that did not exist when a program began: made inside, told afterwards."""

import json
import sys

import pytest

from cli.commands import switchboard
from commands.bench import Bench, text_of
from sandbox.den import Den
from sandbox.test_servers import SEES_CHECKOUT, THEN_SERVE
from support.mcp_stdio import talking_to
from support.requirements import requirement
from support.workspace import Json, Workspace, child_command, server
from switchboard.core.events import ProtectedFilesAppeared

MAKES = "import os; os.mkdir('.vscode'); open('.mcp.json', 'w').close(); open('new', 'w').close()"
NAMES = (".vscode", ".mcp.json")


@pytest.fixture
def bench(workspace: Workspace) -> Bench:
    return Bench(workspace.root.parent / "bench")


@pytest.fixture
def workspace(den: Den) -> Workspace:
    place = den.workspace.parent / "place"
    place.mkdir()
    (place.parent / "bench").mkdir()
    return Workspace(place)


def records(workspace: Workspace) -> list[Json]:
    exported = switchboard(workspace, "audit", "export", "--json")
    found = [json.loads(line)["record"] for line in exported.out.splitlines()]
    return [json.loads(each) if isinstance(each, str) else each for each in found]


@requirement("S3.23", "S3.63")
async def test_the_result_of_a_tool_and_an_event_name_what_appeared(bench: Bench) -> None:
    bench.python("makes", MAKES + "; print('made')")
    outcome = await bench.call("makes")
    said = text_of(outcome)
    assert said.startswith("made\n")
    assert "Switchboard: `.vscode`, `.mcp.json` appeared in its folder while it ran." in said
    (told,) = bench.events.of(ProtectedFilesAppeared)
    assert (told.source, told.names) == ("makes", NAMES)
    assert told.call_id
    # Once it is there it is protected, and no news.
    bench.python("writes", "print('ok')")
    assert text_of(await bench.call("writes")) == "ok\n"
    assert len(bench.events.of(ProtectedFilesAppeared)) == 1


async def test_a_tool_that_is_ended_or_denied_is_looked_after_too(bench: Bench) -> None:
    bench.python("late", MAKES + "; import time; time.sleep(60)", timeout_ms=2_000)
    fault = await bench.refused("late")
    assert (fault.reason, fault.details["appeared"]) == ("tool-timeout", list(NAMES))
    (bench.root / ".mcp.json").unlink()
    bench.python("denied", "open('.mcp.json', 'w'); open('/usr/new', 'w')")
    fault = await bench.refused("denied")
    assert (fault.reason, fault.details["appeared"]) == ("sandbox-write", [".mcp.json"])


async def test_what_a_tool_without_a_sandbox_makes_is_its_users_own_affair(bench: Bench) -> None:
    bench.python("free", MAKES, sandbox_profile="none")
    assert "appeared" not in text_of(await bench.call("free"))
    assert bench.events.of(ProtectedFilesAppeared) == []


@requirement("S3.63")
def test_the_record_of_a_call_names_what_appeared(workspace: Workspace) -> None:
    tool = f"""enable_mcp_server_surface = true
[mcp.makes]
command = {json.dumps(sys.executable)}
args = ["-I", "-S", "-c", {json.dumps(MAKES)}]
requires_approval = false
"""
    workspace.config_toml(tool, scope="home")
    done = switchboard(workspace, "call", "makes")
    assert done.code == 0, done.err
    assert "`.mcp.json` appeared in its folder" in done.out
    (finished,) = [each for each in records(workspace) if each["event"] == "tool.call.finished"]
    assert finished["note"] == "protected files appeared: .vscode, .mcp.json"


@requirement("S3.63")
async def test_what_a_server_left_behind_is_logged_and_written_down(workspace: Workspace) -> None:
    command = [sys.executable, "-c", MAKES + THEN_SERVE, *child_command("echo_child", "echo")]
    workspace.mcp_json(
        {"echo": server(command, sandbox_profile="default", **SEES_CHECKOUT)}, scope="home"
    )
    workspace.config_toml("enable_mcp_server_surface = true\n", scope="home")
    board = workspace.command("mcp", "--in-process")
    async with talking_to(board, cwd=workspace.root, env=workspace.env, patience=60) as client:
        await client.initialize()
        assert (await client.introspect("echo_suite"))["tools"]
        assert await client.close() == 0
    (left,) = [each for each in records(workspace) if each["event"] == "sandbox.protected_files"]
    assert left["server"] == "echo"
    assert left["note"] == "protected files appeared: .vscode, .mcp.json"
    assert " warn ProtectedFilesAppeared source=echo " in client.stderr
