"""Real hosts use a suite through `switchboard mcp`, driven by a scripted model on loopback."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from support.hosts import Finished, claude_program, codex_program, run_claude, run_codex
from support.models.loopback import ScriptedModel
from support.models.messages import messages_model
from support.models.responses import responses_model
from support.models.script import Step, say, use
from support.processes import describe, mentioning, wait_until_none_mention
from support.requirements import requirement
from support.workspace import Json, Workspace, child_command, server

Run = Callable[[Path, ScriptedModel, Workspace, dict[str, Json]], Awaitable[Finished]]


class Host(NamedTuple):
    """A program that uses MCP servers, and the model service that it talks to."""

    program: Callable[[], Path]
    model: Callable[..., AbstractContextManager[ScriptedModel]]
    run: Run
    defers: bool


HOSTS = {
    "claude-code": Host(claude_program, messages_model, run_claude, defers=False),
    "claude-code-modern": Host(
        partial(claude_program, "claude-modern"), messages_model, run_claude, defers=True
    ),
    "codex": Host(codex_program, responses_model, run_codex, defers=False),
    "codex-deferring": Host(
        codex_program, responses_model, partial(run_codex, model_name="gpt-5.5"), defers=True
    ),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest) -> Host:
    return HOSTS[request.param]


async def played(host: Host, workspace: Workspace, *steps: Step) -> ScriptedModel:
    """Let the host play the script with Switchboard as its only server."""
    board = {"board": server(workspace.command("mcp"))}
    with host.model(*steps) as model:
        finished = await host.run(host.program(), model, workspace, board)
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
    wait_until_none_mention(str(workspace.root))


async def test_a_host_sees_suites_and_not_the_tools_behind_them(
    host: Host, workspace: Workspace
) -> None:
    workspace.echo_child()
    workspace.echo_child("second")
    model = await played(host, workspace, use("echo_suite", action="introspect"), say("done"))
    offered = {
        tool.name.removeprefix("mcp__board__")
        for situation in model.offers
        for tool in situation.tools
        if "board" in (tool.namespace or tool.name)
    }
    assert offered <= {"echo_suite", "second_suite"}
    assert "echo_suite" in offered
    assert (model.offers[0].search is not None) == host.defers


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
    assert not describe(mentioning(str(workspace.root)))
