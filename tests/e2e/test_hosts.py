"""Real hosts use a suite through `switchboard mcp`, driven by a scripted model on loopback."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.commands import switchboard
from support.hosts import (
    Finished,
    claude_program,
    codex_program,
    codex_settings,
    gemini_program,
    opencode_program,
    run_claude,
    run_codex,
    run_codex_with,
    run_gemini,
    run_opencode,
)
from support.models.generate_content import generate_content_model
from support.models.loopback import ScriptedModel
from support.models.messages import messages_model
from support.models.responses import responses_model
from support.models.script import Step, say, use
from support.processes import wait_until_none_mention
from support.requirements import requirement
from support.workspace import Json, Workspace, child_command, server

Run = Callable[[Path, ScriptedModel, Workspace, dict[str, Json]], Awaitable[Finished]]


class Host(NamedTuple):
    """A program that uses MCP servers, and the model service that it talks to."""

    program: Callable[[], Path]
    model: Callable[..., AbstractContextManager[ScriptedModel]]
    run: Run


run_searching_claude = partial(run_claude, tool_search=True)
run_searching_codex = partial(run_codex, model_name="gpt-5.5")
modern_claude = partial(claude_program, "claude-modern")

HOSTS = {
    "claude-code": Host(claude_program, messages_model, run_claude),
    "claude-code-searching": Host(claude_program, messages_model, run_searching_claude),
    "claude-code-modern": Host(modern_claude, messages_model, run_searching_claude),
    "codex": Host(codex_program, responses_model, run_codex),
    "codex-searching": Host(codex_program, responses_model, run_searching_codex),
    "opencode": Host(opencode_program, responses_model, run_opencode),
    "gemini": Host(gemini_program, generate_content_model, run_gemini),
}
# Hosts put a server's name before those of its tools, each in its own way.
OUR_PREFIX = re.compile(r"^(mcp_+)?board_+")
SEARCHING = {"claude-code-searching", "claude-code-modern", "codex-searching"}
FIRST_WORDS = {
    "claude-code": ("initialize", "2025-11-25"),
    "claude-code-modern": ("server/discover", "2026-07-28"),
    "codex": ("initialize", "2025-06-18"),
    "opencode": ("initialize", "2025-11-25"),
    "gemini": ("initialize", "2025-06-18"),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(tmp_path, daemon=True)
    yield workspace
    workspace.stop_daemon()


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest) -> Host:
    return HOSTS[request.param]


async def played(
    host: Host, workspace: Workspace, *steps: Step, heard: Path | None = None
) -> ScriptedModel:
    """Let the host play the script with Switchboard as its only server.

    With `heard`, what the host writes to Switchboard is copied into that file.
    """
    command = workspace.command("mcp")
    if heard is not None:
        command = ["sh", "-c", 'tee "$0" | "$@"', str(heard), *command]
    with host.model(*steps) as model:
        finished = await host.run(host.program(), model, workspace, {"board": server(command)})
    assert finished.code == 0, finished.stderr + finished.stdout
    return model


@requirement("S2.01", "S2.02", "S2.03", "S2.49", "S2.52", "S2.83")
async def test_a_host_introspects_a_suite_and_calls_a_subtool(
    host: Host, workspace: Workspace
) -> None:
    workspace.echo_child()
    model = await played(
        host,
        workspace,
        use("echo_suite", action="introspect"),
        use("echo_suite", action="call", subtool="echo", args={"text": "marco"}),
        say("done"),
    )
    assert len(model.results) == 2, model.conversation
    introspected, called = model.results
    assert "inputSchema" in introspected
    assert "Adds two numbers." in introspected
    assert "echo: marco" in called
    workspace.stop_daemon()
    wait_until_none_mention(str(workspace.root))


@pytest.mark.parametrize("name", HOSTS)
async def test_a_host_sees_suites_and_not_the_tools_behind_them(
    name: str, workspace: Workspace
) -> None:
    workspace.echo_child()
    workspace.echo_child("second")
    model = await played(HOSTS[name], workspace, use("echo_suite", action="introspect"))
    offered = {
        OUR_PREFIX.sub("", tool.name)
        for situation in model.offers
        for tool in situation.tools
        if "board" in (tool.namespace or tool.name)
    }
    assert {"echo_suite"} <= offered <= {"echo_suite", "second_suite"}
    assert (model.offers[0].search is not None) == (name in SEARCHING)


def echo_of_the_home(workspace: Workspace, settings: str = "") -> None:
    first, *rest = map(str, child_command("echo_child", "echo"))
    entry = f"command = {json.dumps(first)}\nargs = {json.dumps(rest)}\n"
    workspace.config_toml(f"{settings}[mcp_servers.echo]\n{entry}", scope="home")


@pytest.mark.parametrize("program", [claude_program, modern_claude], ids=["claude", "modern"])
async def test_the_rules_of_install_let_claude_read_and_nothing_else_where_no_gate_asks(
    program: Callable[[], Path], workspace: Workspace
) -> None:
    echo_of_the_home(workspace, 'guard = false\n[surface]\nsplit = "auto"\n')
    await asyncio.to_thread(switchboard, workspace, "install", "claude-code", "--yes", "--allow")
    rules = json.loads((workspace.user_home / ".claude/settings.json").read_text("utf-8"))
    assert rules == {"permissions": {"allow": ["mcp__switchboard__echo_suite_read"]}}
    steps = [use(face, action="introspect") for face in ("echo_suite_read", "echo_suite")]
    with messages_model(*steps, say("done")) as model:
        servers = {"switchboard": server(workspace.command("mcp"))}
        done = await run_claude(program(), model, workspace, servers, rules=rules)
    assert done.code == 0, done.stderr + done.stdout
    read, other = model.results
    assert "Adds two numbers." in read
    assert "requested permissions to use mcp__switchboard__echo_suite" in other


@pytest.mark.parametrize("program", [claude_program, modern_claude], ids=["claude", "modern"])
async def test_with_a_budget_those_rules_name_the_tools_that_find_and_read(
    program: Callable[[], Path], workspace: Workspace
) -> None:
    echo_of_the_home(workspace, 'guard = false\nsurface_tokens = "balanced"\n')
    await asyncio.to_thread(switchboard, workspace, "install", "claude-code", "--yes", "--allow")
    rules = json.loads((workspace.user_home / ".claude/settings.json").read_text("utf-8"))
    allowed = {f"mcp__switchboard__{name}" for name in ("find_tool", "call_read_only_tool")}
    assert set(rules["permissions"]["allow"]) == allowed
    call: Json = {"tool": "echo.echo", "args": {"text": "marco"}}
    steps = [
        use("find_tool", query="echo a text"),
        use("call_read_only_tool", **call),
        use("call_tool", **call),
        say("done"),
    ]
    with messages_model(*steps) as model:
        servers = {"switchboard": server(workspace.command("mcp"))}
        done = await run_claude(program(), model, workspace, servers, rules=rules)
    assert done.code == 0, done.stderr + done.stdout
    found, read, other = model.results
    assert "echo.echo(text: string)" in found
    assert "echo: marco" in read
    assert "requested permissions to use mcp__switchboard__call_tool" in other


@pytest.mark.parametrize("name", FIRST_WORDS)
async def test_a_host_is_served_in_the_version_that_it_speaks(
    name: str, workspace: Workspace, tmp_path: Path
) -> None:
    workspace.echo_child()
    heard = tmp_path / "heard.jsonl"
    model = await played(
        HOSTS[name], workspace, use("echo_suite", action="introspect"), say("done"), heard=heard
    )
    assert len(model.results) == 1
    messages: list[Json] = [json.loads(line) for line in heard.read_text("utf-8").splitlines()]
    method, version = FIRST_WORDS[name]
    assert messages[0]["method"] == method
    assert version in json.dumps(messages[0]["params"])
    later = [message["method"] for message in messages[1:] if "method" in message]
    assert "initialize" not in later
    assert later.count("tools/call") == 1


async def test_a_host_is_told_of_an_unknown_subtool(host: Host, workspace: Workspace) -> None:
    workspace.echo_child()
    model = await played(
        host,
        workspace,
        use("echo_suite", action="call", subtool="ecko", args={}),
        use("echo_suite", action="call", subtool="echo", args={"text": "again"}),
        say("done"),
    )
    refused, called = model.results
    assert "ecko" in refused
    assert "echo: again" in called


async def test_a_host_goes_on_when_one_child_is_broken(host: Host, workspace: Workspace) -> None:
    workspace.echo_child()
    workspace.child("broken", child_command("misbehaving_child", "exit-at-once"))
    model = await played(
        host,
        workspace,
        use("broken_suite", action="introspect"),
        use("echo_suite", action="call", subtool="echo", args={"text": "still here"}),
        say("done"),
    )
    assert "echo: still here" in model.results[1]
    workspace.stop_daemon()
    wait_until_none_mention(str(workspace.root))


async def test_codex_takes_our_entry_and_refuses_no_call(workspace: Workspace) -> None:
    """Without its approval mode `codex exec` refuses each call of a suite: nobody is there."""
    echo_of_the_home(workspace)
    workspace.env.pop("ENABLE_MCP_SERVER_SURFACE", None)
    await asyncio.to_thread(switchboard, workspace, "install", "codex", "--yes")
    written = (workspace.user_home / ".codex/config.toml").read_text("utf-8")
    variables = "\n".join(f"{key} = {json.dumps(text)}" for key, text in workspace.env.items())
    steps = (use("echo_suite", action="introspect"), say("done"))
    results: dict[bool, str] = {}
    for with_lines in (True, False):
        text = written
        if not with_lines:
            kept = (line for line in text.splitlines() if "approval_mode" not in line)
            text = "\n".join(kept)
        with responses_model(*steps) as model:
            # A busy machine starts slowly, and Codex would begin without it.
            entry = f"{text}\nrequired = true\n[mcp_servers.switchboard.env]\n{variables}"
            settings = f"{codex_settings(model)}\n{entry}"
            finished = await run_codex_with(codex_program(), workspace, settings)
        assert finished.code == 0, finished.stderr + finished.stdout
        [results[with_lines]] = model.results
    assert "Adds two numbers." in results[True]
    assert "Adds two numbers." not in results[False]
