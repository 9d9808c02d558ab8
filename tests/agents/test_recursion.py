"""An agent that calls itself comes to an end, whatever it does with its environment."""

import asyncio
import json
from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.real_codex import configure, playing
from procs.homes import first_line, started
from procs.test_keeper import hiding
from support.mcp_stdio import talking_to, text_of
from support.models.script import say, shell
from support.processes import wait_until_none_mention
from support.workspace import Workspace
from switchboard.daemon.ancestors import runs_above
from switchboard.ipc.environment import DEPTH_VARIABLE
from switchboard.procs.kept import kept
from switchboard.providers.agents.servers.depth import MOST_DEPTH
from switchkit.processes import environment

PATIENCE = 90.0
# A shell that has the variable, and what it starts without it.
_FORGETTING = "env -u SWITCHBOARD_DEPTH {}; true"


@pytest.fixture
def workspace(tmp_path: Path) -> Generator[Workspace]:
    made = Workspace(tmp_path, daemon=True)
    try:
        yield made
    finally:
        made.stop_daemon()
        wait_until_none_mention(str(tmp_path))


async def test_a_process_stands_as_deep_as_what_it_came_of(tmp_path: Path) -> None:
    wrap = partial(kept, shown=(DEPTH_VARIABLE,))
    spec = replace(hiding("waits", tmp_path), env={DEPTH_VARIABLE: "3"}, wrap=wrap)
    async with started(spec) as running:
        # Forked twice, in a session of its own, with an environment of its own.
        hidden = await first_line(running)
        assert DEPTH_VARIABLE not in environment(hidden)
        assert runs_above(hidden) == 3
        assert runs_above(hidden, said=4) == 4


async def test_a_client_that_forgot_its_depth_is_refused_all_the_same(workspace: Workspace) -> None:
    configure(workspace)
    switchboard = workspace.command("mcp")[0]
    deep = {**workspace.env, DEPTH_VARIABLE: str(MOST_DEPTH)}
    given = {"task": "go", "cwd": str(workspace.root)}
    with playing(workspace, say("never")) as model:
        argv = ["/bin/sh", "-c", _FORGETTING.format(f"{switchboard} mcp")]
        async with talking_to(argv, cwd=workspace.root, env=deep) as client:
            await client.initialize()
            answer = json.loads(text_of(await client.call("agent_reviewer", given)))
            assert answer["ok"] is False
            assert "calls itself" in answer["output"]
            # The shell between us ends when what it started does.
            await client.close()
        command = _FORGETTING.format(f"{switchboard} agents run reviewer --task go")
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", command),
            cwd=workspace.root,
            env=deep,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said = (await asyncio.wait_for(process.communicate(), PATIENCE))[0].decode()
        assert "calls itself" in said
        assert not model.requests


async def test_an_agent_cannot_call_itself_without_end(workspace: Workspace) -> None:
    """The real Codex, whose shell calls its own agent each time, with the variable taken away."""
    configure(workspace, unconfined=True)
    itself = _FORGETTING.format(f"{workspace.command('mcp')[0]} agents run reviewer --task again")
    env = {**workspace.env, DEPTH_VARIABLE: str(MOST_DEPTH - 2)}
    # Every conversation begins with the first step.
    steps = [shell(itself, yield_time_ms=60_000), say("so it ends")]
    with playing(workspace, *steps) as model:
        async with talking_to(workspace.command("mcp"), cwd=workspace.root, env=env) as client:
            await client.initialize()
            given = {"task": "go", "cwd": str(workspace.root)}
            result = await client.call("agent_reviewer", given, patience=PATIENCE)
            assert json.loads(text_of(result)) == {"ok": True, "output": "so it ends"}
        told = [json.dumps(request.body) for request in model.requests]
        assert len([each for each in told if "calls itself" in each]) == 1
    listed = await asyncio.create_subprocess_exec(
        *workspace.command("runs", "list", "--json"),
        cwd=workspace.root,
        env=workspace.env,
        stdout=asyncio.subprocess.PIPE,
    )
    found = json.loads((await listed.communicate())[0])["runs"]
    assert [run["state"] for run in found] == ["completed", "completed"]
