"""The search of Claude Code finds what it keeps back of ours by the words that people use."""

import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from support.hosts import claude_program, run_claude
from support.models.messages import messages_model
from support.models.script import search_and_use
from support.workspace import Workspace, server

modern_claude = partial(claude_program, "claude-modern")


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(tmp_path, daemon=True)
    workspace.write("switchyard.toml", '[services.web]\ncommand = ["true"]\n')
    for words in (["init", "-q"], ["add", "switchyard.toml"], ["commit", "-qm", "begin"]):
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *name, *words], cwd=workspace.root, check=True)
    yield workspace
    workspace.stop_daemon()


@pytest.mark.parametrize("program", [claude_program, modern_claude], ids=["claude", "modern"])
async def test_a_word_that_only_a_hint_has_finds_the_tool(
    program: Callable[[], Path], yard: Workspace
) -> None:
    # In no name and in no description of any tool of ours.
    step = search_and_use("healthy alive", "switchyard_status")
    with messages_model(step) as model:
        board = {"board": server(yard.command("mcp"))}
        done = await run_claude(program(), model, yard, board, tool_search=True)
    assert done.code == 0, done.stderr + done.stdout
    # It was kept back at first, then found and called.
    assert not any(tool.name.endswith("switchyard_status") for tool in model.offers[0].tools)
    [result] = model.results
    assert "services" in result
