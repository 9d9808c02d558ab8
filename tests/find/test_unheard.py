"""Servers that a search could not ask: each is named, with why and with what to type."""

from collections.abc import AsyncGenerator

import pytest

from gate.ground import Era, Gate
from oauth.scripted_servers import Told, scripted_servers
from support.mcp_stdio import StdioClient
from support.workspace import Json, child_command, server

BOTH_ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])
ERROR = "switchboard/error"


@pytest.fixture
async def partial(gate: Gate) -> AsyncGenerator[Gate]:
    """Give a home of which one server can be asked, and a workspace that nobody has trusted."""
    del gate.workspace.env["SWITCHBOARD_TRUST_WORKSPACE"]
    async with scripted_servers() as remote:
        remote.script["/mcp"] = lambda _: Told(401, {}, {"www-authenticate": "Bearer"})
        servers: Json = {
            "echo": server(child_command("echo_child", "echo")),
            "broken": server(child_command("misbehaving_child", "exit-at-once")),
            "far": {"url": remote.url},
        }
        gate.workspace.mcp_json(servers, scope="home")
        gate.guard(surface_tokens="lean")
        yield gate


async def searched(client: StdioClient, query: str, **more: str) -> list[str]:
    result = await client.call("find_tool", {"query": query, **more})
    return [block["text"] for block in result["content"]]


@BOTH_ERAS
async def test_a_search_names_the_servers_that_could_not_be_asked(partial: Gate, era: Era) -> None:
    async with partial.window(era) as client:
        found, missing = await searched(client, "add two numbers")
        assert found.startswith("echo.add(")
        assert missing == (
            "Not searched:"
            " broken (failed, child-exited: `switchboard doctor --deep`);"
            " far (needs a login: `switchboard mcp auth login far`);"
            " 1 server of this workspace not trusted yet (`switchboard trust`)."
        )
        # What a workspace calls its servers is told to nobody before they are trusted.
        assert "ledger" not in missing
        nothing, again = await searched(client, "brew coffee tomorrow morning at seven")
        assert nothing == "No tool matches. Servers: echo."
        assert again == missing


async def test_a_search_of_one_server_says_nothing_of_the_others(partial: Gate) -> None:
    async with partial.window() as client:
        _, missing = await searched(client, "add two numbers", server="echo")
        assert "broken" not in missing
        assert "far" not in missing
        nothing, missing = await searched(client, "open an issue", server="far")
        assert nothing.startswith("No tool matches.")
        assert "far (needs a login: " in missing


async def test_a_call_to_a_server_that_could_not_be_asked_says_why(partial: Gate) -> None:
    async with partial.window() as client:
        told = await client.call("call_tool", {"tool": "far.open_issue", "args": {}})
        assert told["_meta"][ERROR]["reason"] == "login-required"
        assert "switchboard mcp auth login far" in str(told["_meta"][ERROR])
        told = await client.call("call_tool", {"tool": "nobody.nothing", "args": {}})
        assert told["_meta"][ERROR]["reason"] == "unknown-tool"


async def test_a_server_that_has_not_answered_yet_is_starting(gate: Gate) -> None:
    gate.workspace.child("slow", child_command("misbehaving_child", "hang-at-start"))
    gate.guard(surface_tokens="lean")
    async with gate.window() as client:
        _, missing = await searched(client, "write a line")
        assert missing == "Not searched: slow (still starting: search again in a moment)."
        told = await client.call("call_tool", {"tool": "slow.anything", "args": {}})
        assert told["_meta"][ERROR]["reason"] == "server-starting"


async def test_where_every_server_was_asked_nothing_is_added(lean: Gate) -> None:
    async with lean.window() as client:
        assert len(await searched(client, "add two numbers")) == 1


async def test_the_instructions_of_a_lean_listing_say_how_many_wait_for_trust(
    partial: Gate,
) -> None:
    async with partial.window("modern") as client:
        about = await client.request("server/discover")
        assert "1 server of this workspace waits for trust" in about["instructions"]
