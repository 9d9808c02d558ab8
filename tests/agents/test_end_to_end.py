"""A client on stdio, Switchboard, the real Codex, and a model that plays on loopback."""

import asyncio
import json
import signal
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from agents.real_codex import configure, playing
from cli.commands import switchboard
from engines.codex_stage import ASKING
from support.mcp_stdio import StdioClient, talking_to, text_of
from support.models.script import Hang, say, shell, stumble
from support.requirements import requirement
from support.workspace import Workspace
from switchboard.providers.agents.run_tools.tools import RUN_TOOLS

PATIENCE = 180.0


async def call(client: StdioClient, workspace: Workspace, task: str = "look") -> Any:
    given = {"task": task, "cwd": str(workspace.root)}
    return await client.call("agent_reviewer", given, patience=PATIENCE)


@requirement("S0.01", "S0.02", "S0.03", "S0.08")
async def test_an_agent_runs_on_the_real_codex(workspace: Workspace) -> None:
    configure(workspace)
    with playing(workspace, say("two bugs")) as model:
        argv = workspace.command("mcp")
        async with talking_to(argv, cwd=workspace.root, env=workspace.env) as client:
            await client.initialize()
            tools = await client.tools()
            schema = tools["agent_reviewer"]["inputSchema"]
            assert set(schema["properties"]) == {"task", "cwd"}
            assert {each["type"] for each in schema["properties"].values()} == {"string"}
            assert sorted(schema["required"]) == ["cwd", "task"]
            result = await call(client, workspace)
            assert json.loads(text_of(result)) == {"ok": True, "output": "two bugs"}
            assert len(result["content"]) == 1
            assert not result.get("isError")
            assert result["_meta"]["switchboard/run"]["state"] == "completed"
        assert model.requests


async def test_a_run_stops_until_it_is_approved_at_the_queue(workspace: Workspace) -> None:
    configure(workspace)
    outside = workspace.user_home / "made"
    asks = shell(f"touch {outside}", **ASKING)
    with playing(workspace, asks, say("made it")):
        async with another_program(workspace) as client:
            calling = asyncio.ensure_future(call(client, workspace))
            question = await asked(workspace)
            assert not outside.exists()
            assert f"touch {outside}" in question["facts"]["runs"]
            assert question["facts"]["server"].startswith("agent reviewer, run r-")
            assert "the script says so" in question["prompt"]
            # All of it is told in words, and nothing is left of how Codex counts its requests.
            assert json.loads(question["arguments"]) == {}
            await run_command(workspace, "approvals", "approve", question["id"], "--yes")
            assert json.loads(text_of(await calling)) == {"ok": True, "output": "made it"}
            assert outside.exists()


async def test_ctrl_c_ends_the_run_and_says_so(workspace: Workspace) -> None:
    configure(workspace)
    with playing(workspace, stumble(Hang())):
        process = await asyncio.create_subprocess_exec(
            *workspace.command("agents", "run", "reviewer", "--task", "wait"),
            cwd=workspace.root,
            env=workspace.env,
            stderr=asyncio.subprocess.PIPE,
        )
        await until_state(workspace, "working")
        process.send_signal(signal.SIGINT)
        _, errors = await asyncio.wait_for(process.communicate(), PATIENCE)
        assert process.returncode == 130
        assert " was cancelled\n" in errors.decode()
        await until_state(workspace, "cancelled")


async def test_the_client_of_a_run_cannot_answer_for_its_user(workspace: Workspace) -> None:
    configure(workspace)
    outside = workspace.user_home / "made"
    with playing(workspace, shell(f"touch {outside}", **ASKING), say("then not")):
        argv = workspace.command("mcp")
        async with talking_to(argv, cwd=workspace.root, env=workspace.env) as client:
            await client.initialize()
            calling = asyncio.ensure_future(call(client, workspace))
            question = await asked(workspace)
            # Below the client, as this process is.
            words = ("approvals", "approve", question["id"], "--yes")
            refused = await asyncio.to_thread(switchboard, workspace, *words)
            assert refused.code != 0
            assert "cannot answer itself" in refused.err
            # To say no is nobody's privilege.
            await run_command(workspace, "approvals", "deny", question["id"])
            assert json.loads(text_of(await calling)) == {"ok": True, "output": "then not"}
            assert not outside.exists()


@requirement("S3.113")
async def test_the_tools_of_codex_are_back_by_one_word(workspace: Workspace) -> None:
    configure(workspace)
    with playing(workspace, say("two bugs"), say("and a third")):
        argv = workspace.command("codex")
        async with talking_to(argv, cwd=workspace.root, env=workspace.env) as client:
            await client.initialize()
            tools = await client.tools()
            assert set(tools) == {"codex", "codex-reply", *RUN_TOOLS}
            result = await client.call("codex", {"prompt": "look"}, patience=PATIENCE)
            assert result["structuredContent"]["content"] == "two bugs"
            thread = result["structuredContent"]["threadId"]
            told = await client.message("codex/event")
            assert told["params"]["_meta"]["threadId"] == thread
            again = await client.call(
                "codex-reply", {"prompt": "more", "threadId": thread}, patience=PATIENCE
            )
            assert again["structuredContent"] == {"threadId": thread, "content": "and a third"}


@asynccontextmanager
async def another_program(workspace: Workspace) -> AsyncGenerator[StdioClient]:
    """Let a program between us be the client: who started it may decide for it."""
    command = f"{workspace.command('mcp')[0]} mcp; true"
    # No shell by its name: a client that starts us through one is the client all the same.
    program = workspace.root.parent / "client"
    if not program.exists():
        program.symlink_to("/bin/sh")
    argv = [str(program), "-c", command]
    async with talking_to(argv, cwd=workspace.root, env=workspace.env) as client:
        await client.initialize()
        try:
            yield client
        finally:
            # The program between us ends when what it started does.
            await client.close()


async def asked(workspace: Workspace) -> Any:
    """Wait until one question waits at the desk."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        listed = json.loads(await run_command(workspace, "approvals", "list", "--json"))
        if waiting := [each for each in listed["approvals"] if each["state"] == "pending"]:
            shown = await run_command(workspace, "approvals", "show", waiting[0]["id"], "--json")
            return json.loads(shown)["question"]
        await asyncio.sleep(0.1)
    raise AssertionError("nobody asked")


async def until_state(workspace: Workspace, state: str) -> None:
    """Wait until the latest run is in this state."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        runs = json.loads(await run_command(workspace, "runs", "--json"))["runs"]
        if runs and runs[0]["state"] == state:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"no run is {state}")


async def run_command(workspace: Workspace, *words: str) -> str:
    code, said = await ended(workspace, *words)
    assert code == 0, said
    return said


async def ended(workspace: Workspace, *words: str) -> tuple[int, str]:
    """Type a command in a terminal of one's own, and give its exit code with what it said."""
    done = await asyncio.to_thread(switchboard, workspace, *words, apart=True)
    return done.code, done.err if done.code else done.out
