"""A real Codex and a real Claude Code run a project through the yard, on a scripted model."""

import json
import sys
import tomllib
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from boarded import Boarded
from yardlab import Lab

from support.hosts import (
    Finished,
    claude_program,
    codex_program,
    run_claude,
    run_codex,
    run_codex_with,
)
from support.models.loopback import ScriptedModel
from support.models.messages import messages_model
from support.models.responses import responses_model
from support.models.script import say, use
from support.requirements import requirement
from support.workspace import Json, Workspace, server
from switchyard.api.catalogue import TOOLS

ROOT = Path(__file__).parents[2]

Run = Callable[[Path, ScriptedModel, Workspace, dict[str, Json]], Awaitable[Finished]]


class Host(NamedTuple):
    """A program that uses MCP servers, and the model service that it talks to."""

    program: Callable[[], Path]
    model: Callable[..., AbstractContextManager[ScriptedModel]]
    run: Run


HOSTS = {
    "codex": Host(codex_program, responses_model, run_codex),
    "claude-code": Host(claude_program, messages_model, run_claude),
    "claude-code-modern": Host(
        partial(claude_program, "claude-modern"),
        messages_model,
        partial(run_claude, tool_search=True),
    ),
}


STEPS = (
    use("switchyard_brief"),
    use("switchyard_up"),
    use("switchyard_where", service="web"),
    use("switchyard_logs", service="web"),
    use("switchyard_down"),
    say("done"),
)


async def ran_the_project(name: str, lab: Lab, workspace: Workspace, entry: Json) -> None:
    """Let a host play the script with one server, and hold each answer against what it is for."""
    host = HOSTS[name]
    with host.model(*STEPS) as model:
        finished = await host.run(host.program(), model, workspace, {"yard": entry})
    assert finished.code == 0, finished.stderr + finished.stdout
    brief, up, where, logs, down = model.results
    assert "configured_services" in brief
    assert "already_running" in up
    assert "ready" in where
    assert "direct_url" in where
    assert "listening on" in logs
    assert "port_free" in down
    assert lab.ours() == []


@requirement("S1.01", "S1.13", "S1.34", "S1.48", "S1.50", "S1.53", "S1.77")
@pytest.mark.parametrize("name", HOSTS)
async def test_a_real_host_runs_the_project(lab: Lab, tmp_path: Path, name: str) -> None:
    workspace = Workspace(tmp_path / "host")
    workspace.env |= {"SWITCHYARD_HOME": str(lab.home)}
    lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\n')
    lab.json("mcp", "install")
    block = tomllib.loads((lab.codex / "config.toml").read_text())["mcp_servers"]["switchyard"]
    entry: Json = {"command": block["command"], "args": block["args"]}
    await ran_the_project(name, lab, workspace, entry)


@requirement("S1.48", "S1.75")
async def test_codex_reads_unattended_and_asks_before_it_changes_anything(
    lab: Lab, tmp_path: Path
) -> None:
    """With the very block that `install` writes; `exec` has nobody to ask, so asking refuses."""
    workspace = Workspace(tmp_path / "host")
    lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\n')
    lab.json("up")
    lab.json("mcp", "install")
    steps = (
        use("switchyard_brief"),
        use("switchyard_where", service="web"),
        use("switchyard_status"),
        use("switchyard_logs", service="web"),
        use("switchyard_down"),
        say("done"),
    )
    with responses_model(*steps) as model:
        provider = f'{{name = "loopback", base_url = "{model.url}/v1", wire_api = "responses"}}'
        finished = await run_codex_with(
            codex_program(),
            workspace,
            (lab.codex / "config.toml").read_text(),
            'model="mock-model"',
            'model_provider="loopback"',
            f"model_providers={{loopback = {provider}}}",
        )
    assert finished.code == 0, finished.stderr + finished.stdout
    brief, where, status, logs, down = model.results
    assert "configured_services" in brief
    assert "direct_url" in where
    assert "ready" in status
    assert "listening on" in logs
    assert "requires approval" in down
    assert lab.service("web")["phase"] == "ready"


@requirement("S1.48", "S1.75")
async def test_claude_code_reads_unattended_and_asks_before_it_changes_anything(
    lab: Lab, tmp_path: Path
) -> None:
    """With the rules of the page; `--print` has nobody to ask, so asking refuses."""
    page = (ROOT / "docs" / "switchyard" / "agents.md").read_text()
    rules = json.loads(page.partition("```json\n")[2].partition("```")[0])
    named = {one.rpartition("__")[2] for one in rules["permissions"]["allow"]}
    assert named == {one.name for one in TOOLS.values() if one.read_only}
    workspace = Workspace(tmp_path / "host")
    workspace.env |= {"SWITCHYARD_HOME": str(lab.home)}
    lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\n')
    lab.json("up")
    steps = (
        use("switchyard_brief"),
        use("switchyard_where", service="web"),
        use("switchyard_wait", service="web"),
        use("switchyard_down"),
        say("done"),
    )
    entry = {"command": sys.executable, "args": ["-m", "switchyard", "mcp", "--cwd", str(lab.root)]}
    with messages_model(*steps) as model:
        finished = await run_claude(
            claude_program(), model, workspace, {"switchyard": entry}, rules=rules
        )
    assert finished.code == 0, finished.stderr + finished.stdout
    brief, where, waited, down = model.results
    assert "configured_services" in brief
    assert "direct_url" in where
    assert "ready" in waited
    assert "permission" in down
    assert lab.service("web")["phase"] == "ready"


@requirement("S1.04", "S1.48", "S1.50", "S1.53")
@pytest.mark.parametrize("name", ["codex", "claude-code"])
async def test_a_real_host_runs_the_project_through_switchboard(lab: Lab, name: str) -> None:
    board = Boarded(lab, daemon=True)
    lab.cleanup(board.workspace.stop_daemon)
    lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\n')
    entry = server(board.workspace.command("mcp", "--workspace", str(lab.root)))
    await ran_the_project(name, lab, board.workspace, entry)
