"""Real Codex and Claude Code find, read and write through the three tools of a `balanced` listing.

What each does is judged by the servers behind Switchboard, and by the questions that were asked.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from gate.ground import Gate
from support.hosts import Finished, claude_program, codex_program, run_claude, run_codex
from support.models.loopback import ScriptedModel
from support.models.messages import messages_model
from support.models.responses import responses_model, together
from support.models.script import Step, say, use
from support.requirements import requirement
from support.workspace import Json, child_command, server

FIND, WRITE, READ = "find_tool", "call_tool", "call_read_only_tool"
READING = use(READ, tool="echo.echo", args={"text": "marco"})
NOTE = use(WRITE, tool="ledger.write", args={"text": "from the host"})
SCRIPT = (use(FIND, query="add two numbers"), READING, NOTE, say("done"))

unattended_codex = partial(run_codex, approval="auto")
searching_codex = partial(run_codex, model_name="gpt-5.5")
modern_claude = partial(claude_program, "claude-modern")


class Host(NamedTuple):
    """A host, the model service that it talks to, and how it is run with all tools allowed."""

    program: Callable[[], Path]
    model: Callable[..., AbstractContextManager[ScriptedModel]]
    run: Callable[..., Awaitable[Finished]]


HOSTS = {
    "claude-code": Host(claude_program, messages_model, run_claude),
    "claude-code-modern": Host(
        modern_claude, messages_model, partial(run_claude, tool_search=True)
    ),
    "codex": Host(codex_program, responses_model, run_codex),
    "codex-searching": Host(codex_program, responses_model, searching_codex),
}


@pytest.fixture
def balanced(gate: Gate) -> Gate:
    gate.guard(surface_tokens="balanced", approval_channel="console")
    gate.workspace.echo_child()
    return gate


async def learned(gate: Gate, *suites: str) -> dict[str, Json]:
    """Have the servers known and the daemon running before a host begins."""
    async with gate.window() as client:
        for suite in suites:
            await client.introspect(suite)
    return {"board": server(gate.workspace.command("mcp"))}


def ended(done: Finished) -> None:
    assert done.code == 0, done.stderr + done.stdout


@requirement("S3.34", "S3.105")
@pytest.mark.parametrize("name", HOSTS)
async def test_a_host_finds_and_reads_unasked_and_a_write_waits_for_a_person(
    name: str, balanced: Gate
) -> None:
    host = HOSTS[name]
    board = await learned(balanced, "echo_suite", "ledger_suite")
    with host.model(*SCRIPT) as model:
        running = asyncio.ensure_future(host.run(host.program(), model, balanced.workspace, board))
        [entry] = await balanced.waiting(meanwhile=running)
        # The very tool is what a person is asked about, not the one that it came by.
        assert (entry["tool"], entry["of"]) == ("write", "ledger_suite")
        assert balanced.written == []
        await balanced.decide("approve")
        ended(await running)
    found, read, written = model.results
    assert "echo.add(a: number, b: number)" in found
    assert "echo: marco" in read
    assert "written: from the host" in written
    assert balanced.written == ["from the host"]


async def test_codex_without_a_person_reads_by_its_own_rules_and_writes_nothing(
    balanced: Gate,
) -> None:
    board = await learned(balanced, "echo_suite", "ledger_suite")
    with responses_model(*SCRIPT) as model:
        ended(await unattended_codex(codex_program(), model, balanced.workspace, board))
    found, read, refused = model.results
    assert "echo.add(a: number, b: number)" in found
    assert "echo: marco" in read
    # Codex itself refused it, and nobody was asked.
    assert "requires approval, but approval policy is never" in refused
    assert balanced.written == []
    ended_calls = await balanced.records(event="tool.call.finished")
    assert "write" not in {each["tool"] for each in ended_calls}


@pytest.mark.parametrize(
    ("face", "tool", "is_together"),
    [(READ, "meet", True), (WRITE, "change", False)],
    ids=["reads", "writes"],
)
async def test_codex_runs_reads_side_by_side_and_what_may_write_one_after_the_other(
    gate: Gate, tmp_path: Path, face: str, tool: str, is_together: bool
) -> None:
    gate.guard(surface_tokens="balanced", enable_mcp_server_surface=False)
    for own, other in (("left", "right"), ("right", "left")):
        gate.workspace.child(own, child_command("meeting_child", str(tmp_path), own, other))
    board = await learned(gate, "left_suite", "right_suite")
    steps: list[Step] = [use(face, tool=f"{own}.{tool}", args={}) for own in ("left", "right")]
    with responses_model(*together(*steps), say("done")) as model:
        ended(await run_codex(codex_program(), model, gate.workspace, board))
    left, right = model.results
    assert ("left met right" in left) == is_together
    assert "right met left" in right


@pytest.mark.parametrize("program", [claude_program, modern_claude], ids=["claude", "modern"])
async def test_a_rule_of_claude_code_lets_the_reading_face_pass_and_the_other_asks(
    program: Callable[[], Path], balanced: Gate
) -> None:
    board = await learned(balanced, "echo_suite", "ledger_suite")
    rules = {"permissions": {"allow": [f"mcp__board__{name}" for name in (FIND, READ)]}}
    with messages_model(*SCRIPT) as model:
        ended(await run_claude(program(), model, balanced.workspace, board, rules=rules))
    found, read, asked = model.results
    assert "echo.add(a: number, b: number)" in found
    assert "echo: marco" in read
    assert "requested permissions to use mcp__board__call_tool" in asked
    assert balanced.written == []
