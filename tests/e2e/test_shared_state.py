"""Claude Code and Codex, running at once, use one real server that keeps its state in memory.

Behind one daemon it is one process, and each host goes on where the other was. With a server each,
as both have directly, neither knows of the other.
"""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.daemons import status
from support.hosts import claude_program, codex_program, run_claude, run_codex
from support.models.messages import messages_model
from support.models.responses import responses_model
from support.models.script import Reply, Situation, Step, Stumble, say, use
from support.workspace import NODE_MODULES, Json, Workspace, server

PROGRAM = NODE_MODULES / "@modelcontextprotocol/server-sequential-thinking/dist/index.js"
PATIENCE = 90
THOUGHT: Json = {"thought": "t", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 3}
DIRECTLY = use("sequentialthinking", **THOUGHT)
THROUGH_A_SUITE = use("think_suite", action="call", subtool="sequentialthinking", args=THOUGHT)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(tmp_path, daemon=True)
    yield workspace
    workspace.stop_daemon()


def once(happened: threading.Event, then: Step, *, tells: threading.Event) -> Step:
    """Tell the other host that this one got so far, and go on when that one is done."""

    def step(situation: Situation) -> Reply | Stumble:
        tells.set()
        assert happened.wait(PATIENCE), "the other host did not get there"
        return then(situation)

    return step


async def thought_at_once(
    workspace: Workspace, servers: dict[str, Any], think: Step
) -> tuple[list[int], list[int]]:
    """Let Codex think while Claude Code runs; gives how many thoughts each was told of, each time.

    Claude Code thinks before and after it.
    """
    has_thought, is_done = threading.Event(), threading.Event()
    before_and_after = (think, once(is_done, think, tells=has_thought), say("done"))
    with messages_model(*before_and_after) as one, responses_model(think, say("done")) as other:
        first = asyncio.create_task(run_claude(claude_program(), one, workspace, servers))
        try:
            assert await asyncio.to_thread(has_thought.wait, PATIENCE)
            second = await run_codex(codex_program(), other, workspace, servers)
        finally:
            is_done.set()
            finished = await first
    for each in (finished, second):
        assert each.code == 0, each.stderr + each.stdout
    return [thoughts(each) for each in one.results], [thoughts(each) for each in other.results]


def thoughts(result: str) -> int:
    found = re.search(r"thoughtHistoryLength\D+(\d+)", json.dumps(result))
    assert found is not None, result
    return int(found[1])


async def test_two_hosts_that_run_at_once_share_one_server(workspace: Workspace) -> None:
    workspace.mcp_json({"think": server(["node", PROGRAM])})
    servers = {"board": server(workspace.command("mcp"))}
    claude, codex = await thought_at_once(workspace, servers, THROUGH_A_SUITE)
    assert (claude, codex) == ([1, 3], [2])
    assert [each["name"] for each in (status(workspace) or {})["children"]] == ["think"]


async def test_with_a_server_each_neither_host_knows_of_the_other(workspace: Workspace) -> None:
    servers = {"think": server(["node", PROGRAM])}
    claude, codex = await thought_at_once(workspace, servers, DIRECTLY)
    assert (claude, codex) == ([1, 2], [1])
