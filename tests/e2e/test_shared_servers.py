"""Claude Code and Codex, side by side in one folder, use one server and see each other's work."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.daemons import status
from support.hosts import claude_program, codex_program, run_claude, run_codex
from support.models.loopback import ScriptedModel
from support.models.messages import messages_model
from support.models.responses import responses_model
from support.models.script import Step, say, use
from support.workspace import Workspace, child_command, server

# What people have in their terminals. Codex passes on little of it, and adds to PATH.
TERMINAL = {
    "USER": "me",
    "LOGNAME": "me",
    "SHELL": "/bin/sh",
    "SSL_CERT_DIR": "/etc/ssl/certs",
    "NODE_EXTRA_CA_CERTS": "/etc/ssl/certs/ca-certificates.crt",
    "NO_PROXY": "127.0.0.1,localhost",
    "XDG_CACHE_HOME": "/var/tmp",
    "AWS_CA_BUNDLE": "/etc/ssl/certs/ca-certificates.crt",
}


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        workspace = Workspace(Path(folder), daemon=True)
        workspace.env.update(TERMINAL)
        yield workspace
        workspace.stop_daemon()


def keep(value: str) -> Step:
    args = {"name": "t", "value": value}
    return use("table_suite", action="call", subtool="keep", args=args)


RECALL = use("table_suite", action="call", subtool="recall", args={"name": "t"})


async def in_claude(workspace: Workspace, *steps: Step) -> ScriptedModel:
    with messages_model(*steps, say("done")) as model:
        board = {"board": server(workspace.command("mcp"))}
        finished = await run_claude(claude_program(), model, workspace, board)
    assert finished.code == 0, finished.stderr + finished.stdout
    return model


async def in_codex(workspace: Workspace, *steps: Step) -> ScriptedModel:
    # Only what says where Switchboard is: the rest is for Codex to pass on, or not.
    given = {
        name: value
        for name, value in workspace.env.items()
        if name.startswith(("SWITCHBOARD", "ENABLE_MCP"))
    }
    with responses_model(*steps, say("done")) as model:
        board = {"board": server(workspace.command("mcp"))}
        run = partial(run_codex, server_env=given)
        finished = await run(codex_program(), model, workspace, board)
    assert finished.code == 0, finished.stderr + finished.stdout
    return model


@pytest.mark.parametrize("first", ["claude", "codex"])
async def test_what_one_host_writes_the_other_reads(workspace: Workspace, first: str) -> None:
    workspace.mcp_json({"table": server(child_command("keeping_child"))})
    hosts = [in_claude, in_codex] if first == "claude" else [in_codex, in_claude]
    await hosts[0](workspace, keep("forty-two"))
    read = await hosts[1](workspace, RECALL)
    assert "forty-two" in read.results[-1]
    found = status(workspace) or {}
    assert len(found["boards"]) == 1
    assert len(found["children"]) == 1


async def test_a_server_that_inherits_everything_keeps_no_other_apart(
    workspace: Workspace,
) -> None:
    """What a host passes on differs from host to host, and this server alone would see it."""
    workspace.mcp_json(
        {
            "table": server(child_command("keeping_child")),
            "heir": server(child_command("echo_child"), inherit_env=True),
        }
    )
    workspace.env["ONLY_CLAUDE_PASSES_IT_ON"] = "yes"
    await in_claude(workspace, keep("forty-two"))
    read = await in_codex(workspace, RECALL)
    assert "forty-two" in read.results[-1]
    found = status(workspace) or {}
    assert len(found["boards"]) == 2
    tables = [each for each in found["children"] if each["name"] == "table"]
    assert [each["boards"] for each in tables] == [[1, 2]]
