"""A daemon that was killed in the middle of a run of the real Codex, and the one after it."""

import asyncio
import json
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from agents.real_codex import configure, playing
from agents.test_end_to_end import asked, run_command, until_state
from cli.commands import switchboard
from engines.codex_stage import ASKING
from support.daemons import daemon_pid
from support.mcp_stdio import talking_to
from support.models.script import Hang, Reply, Situation, Step, Stumble, say, shell
from support.processes import descendants_of, until_gone, until_true, wait_until_none_mention
from support.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Generator[Workspace]:
    made = Workspace(tmp_path, daemon=True)
    try:
        yield made
    finally:
        made.stop_daemon()
        wait_until_none_mention(str(tmp_path))


def at_first(first: Stumble, then: Step) -> Step:
    """Stumble the first time that it is this step's turn."""
    times: list[None] = []

    def step(situation: Situation) -> Reply | Stumble:
        times.append(None)
        return first if len(times) == 1 else then(situation)

    return step


async def test_a_run_is_taken_up_by_a_client_that_only_lists_and_keeps_who_asked_for_it(
    workspace: Workspace,
) -> None:
    configure(workspace)
    agent = workspace.home / "agents" / "reviewer.toml"
    agent.write_text(agent.read_text("utf-8").replace("name =", 'on_crash = "retry"\nname =', 1))
    outside = workspace.user_home / "made"
    asks = shell(f"touch {outside}", **ASKING)
    argv = workspace.command("mcp")
    with playing(workspace, at_first(Hang(), asks), say("then not")) as model:
        async with talking_to(argv, cwd=workspace.root, env=workspace.env) as client:
            await client.initialize()
            given = {"task": "look", "cwd": str(workspace.root)}
            calling = asyncio.ensure_future(client.call("agent_reviewer", given))
            await until_true(lambda: bool(model.requests))
            daemon = daemon_pid(workspace)
            family = descendants_of(daemon)
            os.kill(daemon, signal.SIGKILL)
            await until_gone([daemon, *family])
            calling.cancel()
        async with talking_to(argv, cwd=workspace.root, env=workspace.env) as client:
            await client.initialize()
            await client.tools()
            # Nobody has called anything, and the run works again.
            question = await asked(workspace)
            # Below the client, as this process is.
            words = ("approvals", "approve", question["id"], "--yes")
            refused = await asyncio.to_thread(switchboard, workspace, *words)
            assert refused.code != 0
            assert "cannot answer itself" in refused.err
            await run_command(workspace, "approvals", "deny", question["id"])
            await until_state(workspace, "completed")
    assert not outside.exists()
    listed = json.loads(await run_command(workspace, "runs", "list", "--json"))["runs"]
    assert [run["state"] for run in listed] == ["completed"]
