"""The same over HTTP: the official client before the board, the official server behind it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from conformance.targets import Target, through_handshake, through_http, through_stdio
from relay.bridges import ROOT, EraName, Person, each_bridge, each_client_era, texts
from support.mcp_stdio import MODERN, modern_meta
from support.relays import relays
from support.workspace import Json

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

BEHIND: dict[EraName, Callable[[Path], AbstractAsyncContextManager[Target]]] = {
    "handshake": through_handshake,
    "modern": through_stdio,
}


@asynccontextmanager
async def http_client(era: EraName, target: Target, person: Person) -> AsyncGenerator[Client]:
    headers = {"Authorization": f"Bearer {target.token}"}
    async with (
        asyncio.timeout(30),
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(
            streamable_http_client(target.url, http_client=http),
            mode="legacy" if era == "handshake" else MODERN,
            elicitation_callback=person.elicit,
            sampling_callback=person.sample,
            list_roots_callback=person.roots,
            logging_callback=person.log,
            log_level="info",
        ) as client,
    ):
        if era == "handshake":
            await client.set_logging_level("info")  # pyright: ignore[reportDeprecated]
        yield client


@relays("progress")
@relays("logging", how="under the child's name")
@relays("elicitation by form")
@relays("sampling")
@relays("roots")
@each_bridge
async def test_a_client_over_http_is_told_and_asked_like_any_other(
    tmp_path: Path, client_era: EraName, child_era: EraName
) -> None:
    person = Person()
    async with (
        BEHIND[child_era](tmp_path) as target,
        http_client(client_era, target, person) as client,
    ):
        three = await client.call_tool("test_input_required_result_multiple_inputs", {})
        rounds = await client.call_tool("test_input_required_result_multi_round", {})
        await client.call_tool("test_tool_with_progress", {}, progress_callback=person.advance)
        await client.call_tool("test_tool_with_logging", {})
    assert texts(three.content) == f"Paris Ada, {ROOT}"
    assert texts(rounds.content).startswith("Ada likes")
    assert [done for done, _, _ in person.progress] == [0, 50, 100]
    assert [line.logger for line in person.logged] == ["everything/everything"] * 3


@relays("arguments in headers", "handshake→modern", "written for the child")
@relays("arguments in headers", "modern→modern", "checked, and written for the child")
@each_client_era
async def test_a_server_over_http_asks_and_is_told_and_gets_arguments_in_headers(
    tmp_path: Path, client_era: EraName
) -> None:
    person = Person()
    async with (
        through_http(tmp_path) as target,
        http_client(client_era, target, person) as client,
    ):
        await client.list_tools()
        three = await client.call_tool("test_input_required_result_multiple_inputs", {})
        await client.call_tool("test_tool_with_progress", {}, progress_callback=person.advance)
        region = await client.call_tool("test_x_mcp_header", {"region": "eu"})
    assert texts(three.content) == f"Paris Ada, {ROOT}"
    assert [done for done, _, _ in person.progress] == [0, 50, 100]
    # The server refuses a call without the header.
    assert texts(region.content) == "region: eu"


@relays("arguments in headers", "modern→handshake", "checked")
async def test_a_header_that_says_something_else_than_the_argument_is_refused(
    tmp_path: Path,
) -> None:
    arguments = {"name": "test_x_mcp_header", "arguments": {"region": "eu"}}
    async with through_handshake(tmp_path) as target, httpx2.AsyncClient(timeout=60) as http:
        for region, status in (("eu", 200), ("us", 400), (None, 400)):
            answer = await http.post(
                target.url,
                json=modern_call(arguments),
                headers={
                    "Authorization": f"Bearer {target.token}",
                    "Accept": "application/json, text/event-stream",
                    "MCP-Protocol-Version": MODERN,
                    "Mcp-Method": "tools/call",
                    "Mcp-Name": "test_x_mcp_header",
                    **({"Mcp-Param-Region": region} if region is not None else {}),
                },
            )
            assert answer.status_code == status
            if status != 200:
                assert answer.json()["error"]["code"] == -32020


async def test_a_question_over_http_is_answered_by_another_connection_and_once(
    tmp_path: Path,
) -> None:
    call: Json = {"name": "test_input_required_result_elicitation", "arguments": {}}
    async with through_stdio(tmp_path) as target:
        headers = {
            "Authorization": f"Bearer {target.token}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call",
            "Mcp-Name": call["name"],
        }
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            asked = (await http.post(target.url, json=modern_call(call))).json()["result"]
        assert asked["resultType"] == "input_required"
        named = {"user_name": {"action": "accept", "content": {"name": "Ada"}}}
        again = {**call, "requestState": asked["requestState"], "inputResponses": named}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            first = await http.post(target.url, json=modern_call(again))
            second = await http.post(target.url, json=modern_call(again))
    assert first.json()["result"]["content"][0]["text"] == "Hello, Ada!"
    assert second.status_code == 400
    assert "spent" in second.json()["error"]["message"]


def modern_call(params: Json) -> Json:
    capabilities: Json = {"elicitation": {"form": {}}}
    meta: Json = {**modern_meta(), "io.modelcontextprotocol/clientCapabilities": capabilities}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, "_meta": meta}}
