"""Real hosts in a terminal: the daemon ends under them, and their next call works."""

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

import pytest
from mcp import Client, StdioServerParameters

from cli.commands import switchboard
from support.daemons import daemon_pid
from support.hosts import PRIVATE, claude_program, codex_program, codex_settings
from support.models.loopback import ScriptedModel
from support.models.messages import messages_model
from support.models.responses import responses_model
from support.models.script import say, use
from support.processes import alive, until_true
from support.terminals import Terminal, terminal
from support.workspace import Workspace

End = Callable[[Workspace], Awaitable[None]]
KEY = "loopback-key-of-the-tests"


class Tui(NamedTuple):
    """A host with a terminal, and the model service that it talks to."""

    model: Callable[..., AbstractContextManager[ScriptedModel]]
    start: Callable[[Terminal, Workspace, ScriptedModel, Path], None]
    # What is on the screen once it takes a prompt.
    is_ready: str


def start_claude(
    program: Path, screen: Terminal, workspace: Workspace, model: ScriptedModel, home: Path
) -> None:
    home.joinpath(".claude.json").write_text(
        json.dumps(
            {
                "hasCompletedOnboarding": True,
                "theme": "dark",
                "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
                "projects": {str(workspace.root): {"hasTrustDialogAccepted": True}},
            }
        ),
        "utf-8",
    )
    env = {
        **workspace.env,
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CONFIG_DIR": str(home),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",
        "MCP_CONNECTION_NONBLOCKING": "0",
        "MCP_TIMEOUT": "60000",
    }
    first, *rest = workspace.command("mcp")
    servers = {"mcpServers": {"board": {"command": first, "args": rest, "env": workspace.env}}}
    words = [
        *("--model", "mock-model", "--setting-sources", "user", "--strict-mcp-config"),
        *("--permission-mode", "default"),
        *("--mcp-config", json.dumps(servers), "--allowedTools", "mcp__board"),
    ]
    screen.start([program, *words], workspace.root, env)


def start_codex(screen: Terminal, workspace: Workspace, model: ScriptedModel, home: Path) -> None:
    first, *rest = workspace.command("mcp")
    # What stands alone comes before the first table.
    settings = (
        "check_for_update_on_startup = false\n"
        + codex_settings(model)
        + "\n".join(
            (
                f"[projects.{json.dumps(str(workspace.root))}]",
                'trust_level = "trusted"',
                "[mcp_servers.board]",
                f"command = {json.dumps(first)}",
                f"args = {json.dumps(rest)}",
                'default_tools_approval_mode = "approve"',
                "required = true",
                "startup_timeout_sec = 60",
                "[mcp_servers.board.env]",
                *(f"{name} = {json.dumps(value)}" for name, value in workspace.env.items()),
            )
        )
    )
    home.joinpath("config.toml").write_text(settings, "utf-8")
    env = {**workspace.env, "CODEX_HOME": str(home)}
    words = ["-C", workspace.root, "-s", "read-only", "-a", "never"]
    screen.start([codex_program(), *words], workspace.root, env)


def _claude(package: str) -> Callable[[Terminal, Workspace, ScriptedModel, Path], None]:
    return partial(start_claude, claude_program(package))


HOSTS = {
    "claude-code": Tui(messages_model, _claude("@anthropic-ai/claude-code"), "? for shortcuts"),
    "claude-code-modern": Tui(messages_model, _claude("claude-modern"), "? for shortcuts"),
    "codex": Tui(responses_model, start_codex, "mock-model"),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(tmp_path, daemon=True)
    workspace.echo_child()
    yield workspace
    workspace.stop_daemon()


async def killed(workspace: Workspace) -> None:
    os.kill(daemon_pid(workspace), signal.SIGKILL)


async def restarted(workspace: Workspace) -> None:
    before = daemon_pid(workspace)
    done = await asyncio.to_thread(switchboard, workspace, "daemon", "restart", "--json")
    assert done.report["state"] == "started"
    await until_true(lambda: not alive(before))


@pytest.mark.parametrize("end", [killed, restarted])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_next_call_of_the_sdk_works(
    mode: Literal["legacy", "2026-07-28"], end: End, workspace: Workspace
) -> None:
    command, *args = workspace.command("mcp")
    board = StdioServerParameters(command=command, args=args, env=workspace.env, cwd=workspace.root)
    async with asyncio.timeout(90), Client(board, mode=mode) as client:
        for text in ("first", "second", "third"):
            arguments = {"action": "call", "subtool": "echo", "args": {"text": text}}
            found = await client.call_tool("echo_suite", arguments)
            assert f"echo: {text}" in found.model_dump_json()
            await end(workspace)
        assert [tool.name for tool in (await client.list_tools()).tools] == ["echo_suite"]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("end", [killed, restarted])
@pytest.mark.parametrize("name", HOSTS)
async def test_the_next_call_of_a_host_works(name: str, end: End, workspace: Workspace) -> None:
    host = HOSTS[name]
    steps = (
        use("echo_suite", action="call", subtool="echo", args={"text": "the first"}),
        say("that was one"),
        use("echo_suite", action="call", subtool="echo", args={"text": "the second"}),
        say("that was two"),
    )
    PRIVATE.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory(dir=PRIVATE, prefix="tui-", ignore_cleanup_errors=True) as home,
        host.model(*steps) as model,
        terminal() as screen,
    ):
        host.start(screen, workspace, model, Path(home))
        await screen.shows(host.is_ready, patience=90)
        await asyncio.sleep(2)
        await screen.enter("Please do as the script says.")
        await screen.shows("that was one", patience=90)
        await end(workspace)
        await screen.enter("Please go on.")
        await screen.shows("that was two", patience=90)
        assert len(model.results) == 2, screen.screen
        assert "echo: the first" in model.results[0]
        assert "echo: the second" in model.results[1]
