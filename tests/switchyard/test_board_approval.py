"""On a guarded surface a person agrees before the yard changes anything; reading asks nobody."""

from boarded import Boarded, called, simple
from yardlab import Json

from support.mcp_stdio import StdioClient, talking_to
from support.reading import read_it, reply, says


async def decided(client: StdioClient, name: str, decision: str) -> tuple[str, Json]:
    """Call a tool and answer the question that comes; gives the question and the result."""
    number = client.begin("tools/call", {"name": f"switchyard_{name}", "arguments": {}})
    asked = await client.message("elicitation/create")
    await read_it()
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": reply(decision)})
    return asked["params"]["message"], (await client.answer_to(number))["result"]


async def test_what_changes_something_is_asked_for_and_what_reads_is_not(board: Boarded) -> None:
    lab, workspace = board.lab, board.workspace
    simple(lab)
    workspace.config_toml("enable_mcp_server_surface = true\n", scope="home")
    command = workspace.command("mcp")
    async with talking_to(command, cwd=lab.root, env=workspace.env, patience=60) as client:
        await client.initialize(capabilities={"elicitation": {}})
        assert (await called(client, "brief"))["project"] == "shop"
        uri = "switchyard://project/doctor"
        assert (await client.request("resources/read", {"uri": uri}))["contents"]
        question, refused = await decided(client, "up", "deny")
        assert "switchyard.toml" in question
        assert "web:" in question
        assert says(question, "svc.py serve"), "the command that would run is shown"
        assert "Risk: HIGH" in question
        assert refused["_meta"]["switchboard/error"]["reason"] == "approval-denied"
        assert lab.ours() == []
        assert not lab.home.exists()
        _, up = await decided(client, "up", "allow_once")
        assert up["structuredContent"]["services"][0]["phase"] == "ready"
        _, down = await decided(client, "down", "allow_once")
        assert down["structuredContent"]["stopped"][0]["service"] == "web"
    assert lab.ours() == []
