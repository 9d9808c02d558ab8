"""The reference server of the project itself, its tools under their own names."""

from pathlib import Path

import mcp_types as types
import pytest

from relay.bridges import EraName, Person, board, client_of, each_client_era, texts
from support.processes import wait_until_none_mention
from support.workspace import NODE_MODULES, server

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

EVERYTHING = NODE_MODULES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"


@each_client_era
async def test_the_reference_server_is_as_useful_as_without_us(
    tmp_path: Path, client_era: EraName
) -> None:
    entry = {**server(["node", EVERYTHING, "stdio"]), "expose": "tools"}
    workspace = board(tmp_path, {"reference": entry})
    person = Person()
    async with client_of(client_era, workspace, person) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"echo", "get-tiny-image", "get-structured-content"} <= set(tools)
        echoed = await client.call_tool("echo", {"message": "marco"})
        assert "marco" in texts(echoed.content)
        image = await client.call_tool("get-tiny-image", {})
        assert any(isinstance(block, types.ImageContent) for block in image.content)
        weather = await client.call_tool("get-structured-content", {"location": "New York"})
        assert weather.structured_content is not None
        long = await client.call_tool(
            "trigger-long-running-operation",
            {"duration": 0.4, "steps": 4},
            progress_callback=person.advance,
        )
        assert not long.is_error
        assert [done for done, _, _ in person.progress] == [1, 2, 3, 4]
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert prompts
        resources = (await client.list_resources()).resources
        assert resources
        assert (await client.read_resource(resources[0].uri)).contents
        templates = (await client.list_resource_templates()).resource_templates
        assert templates
        if "trigger-elicitation-request" in tools:
            await client.call_tool("trigger-elicitation-request", {})
            assert person.asked[0].message.startswith("The server `reference` asks: ")
    wait_until_none_mention(str(workspace.root))
