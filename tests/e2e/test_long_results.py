"""Long results in real hosts: kept by us with a handle, or by the host that does so itself."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from e2e.test_hosts import HOSTS, played
from support.mcp_stdio import talking_to
from support.models.script import Step, say, use
from support.workspace import Json, Workspace, child_command, server

SETTINGS = '[results]\nmode = "passthrough"\ninline_tokens = 1000\n'


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(tmp_path, daemon=True)
    workspace.child("wiki", wiki(tmp_path))
    workspace.config_toml(SETTINGS)
    yield workspace
    workspace.stop_daemon()


def wiki(folder: Path) -> list[str]:
    return [*child_command("wiki_child", str(folder / "saved.json"))]


def call(subtool: str, **args: int) -> Step:
    return use("wiki_suite", action="call", subtool=subtool, args=args)


@pytest.mark.parametrize("name", ["codex", "codex-searching"])
async def test_a_host_that_cuts_results_is_given_a_handle(name: str, workspace: Workspace) -> None:
    model = await played(HOSTS[name], workspace, call("page"), say("done"))
    [given] = model.results
    assert re.search(r"as r1-[0-9a-f]{12}: ", given)
    assert "Section 599" in given
    assert "Section 300" not in given
    assert "truncated" not in given
    assert any("read_result" in tool.name for situation in model.offers for tool in situation.tools)


@pytest.mark.parametrize("name", ["claude-code", "claude-code-modern"])
async def test_a_host_that_keeps_results_does_so_from_the_same_length_on(
    name: str, workspace: Workspace
) -> None:
    model = await played(
        HOSTS[name],
        workspace,
        call("page"),
        call("log", lines=100),
        use("wiki_suite", action="introspect"),
        say("done"),
    )
    long, short, known = model.results
    assert "persisted-output" in long
    assert "Switchboard keeps" not in long
    assert "Full output saved to: " in long
    assert "99 all is well here" in short
    # What was asked of the host is no reason to cut what has to be seen whole.
    assert "persisted-output" not in known
    assert "browse" in known
    offered = {tool.name for situation in model.offers for tool in situation.tools}
    assert not any("read_result" in each for each in offered)


async def test_such_a_host_gets_handles_too_where_its_user_wants_them(workspace: Workspace) -> None:
    workspace.config_toml(f'{SETTINGS}handles = "always"\n')
    model = await played(HOSTS["claude-code"], workspace, call("page"), say("done"))
    [given] = model.results
    assert "Switchboard keeps this result as r1-" in given
    assert "persisted-output" not in given


async def test_a_tool_under_its_own_name_promises_no_structure_that_may_be_left_out(
    tmp_path: Path,
) -> None:
    """A client of the SDK refuses a result without the structure that its tool was listed with."""
    workspace = Workspace(tmp_path, daemon=True)
    entry = server(wiki(tmp_path), expose="tools")
    workspace.mcp_json({"wiki": entry})
    workspace.config_toml(SETTINGS)
    program, *arguments = workspace.command("mcp")
    parameters = StdioServerParameters(
        command=str(program), args=arguments, env=workspace.env, cwd=workspace.root
    )
    try:
        async with Client(parameters) as client:
            [tool] = [each for each in (await client.list_tools()).tools if each.name == "page"]
            assert tool.output_schema is None
            result = await client.call_tool("page", {})
            assert not result.is_error
            assert result.structured_content is None
        async with talking_to(
            workspace.command("mcp"), cwd=workspace.root, env=workspace.env
        ) as plain:
            await plain.initialize()
            tools: dict[str, Json] = await plain.tools()
            assert tools["page"]["_meta"] == {"anthropic/maxResultSizeChars": 4_000}
            small = await plain.call("page", {"sections": 1})
            assert json.loads(small["content"][0]["text"]) == small["structuredContent"]
    finally:
        workspace.stop_daemon()
