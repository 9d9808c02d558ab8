"""The official SDK's client against our HTTP surface, in both eras."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from edges.board import TOKEN, Served, echo_entry, settings_of
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent, ToolListChangedNotification

from switchboard.core.events import SessionClosed

TYPESCRIPT_CLIENT = Path(__file__).parent / "servers" / "typescript_client.cjs"
NODE_MODULES = Path(__file__).parents[1] / "node"
BOTH_ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])


@asynccontextmanager
async def connected(board: Served, mode: str, **more: Any) -> AsyncGenerator[Client]:
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(board.url, http_client=http), mode=mode, **more) as client,
    ):
        yield client


def echo(text: str) -> dict[str, Any]:
    return {"action": "call", "subtool": "echo", "args": {"text": text}}


@BOTH_ERAS
async def test_a_client_lists_and_calls(served: Served, mode: str) -> None:
    async with connected(served, mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["echo"]
        result = await client.call_tool("echo", echo("hä"))
    block = result.content[0]
    assert isinstance(block, TextContent)
    assert block.text == "echo: hä"


@BOTH_ERAS
async def test_each_client_speaks_its_own_era(served: Served, mode: str) -> None:
    async with connected(served, mode) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        assert client.instructions == "use it well"


@BOTH_ERAS
async def test_many_calls_run_side_by_side(served: Served, mode: str) -> None:
    async with connected(served, mode) as client:
        results = await asyncio.gather(
            *(client.call_tool("echo", echo(str(number))) for number in range(40))
        )
    texts = [result.content[0].text for result in results if result.content]  # type: ignore[union-attr]
    assert texts == [f"echo: {number}" for number in range(40)]


async def test_a_change_of_tools_reaches_the_get_stream(served: Served) -> None:
    told = asyncio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            told.set()

    async with connected(served, "legacy", message_handler=hear) as client:
        await client.list_tools()
        _add_a_suite(served)
        async with asyncio.timeout(10):
            await told.wait()
        assert len((await client.list_tools()).tools) == 2


async def test_a_change_of_tools_reaches_a_subscription(served: Served) -> None:
    async with (
        connected(served, "auto") as client,
        client.listen(tools_list_changed=True) as subscription,
    ):
        _add_a_suite(served)
        async with asyncio.timeout(10):
            async for event in subscription:
                assert type(event).__name__ == "ToolsListChanged"
                break
        assert len((await client.list_tools(cache_mode="bypass")).tools) == 2


@BOTH_ERAS
async def test_an_error_of_the_protocol_is_one_for_the_client(served: Served, mode: str) -> None:
    async with connected(served, mode) as client:
        with pytest.raises(Exception, match="no tool `nobody`"):
            await client.call_tool("nobody", {})


async def test_the_typescript_client_lists_calls_and_hears(served: Served) -> None:
    process = await asyncio.create_subprocess_exec(
        "node",
        str(TYPESCRIPT_CLIENT),
        str(NODE_MODULES),
        served.url,
        TOKEN,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    _add_a_suite(served)
    async with asyncio.timeout(20):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    assert json.loads(out) == {"tools": ["echo"], "text": "echo: hä", "changed": True}
    assert any(isinstance(event, SessionClosed) for event in served.events)


def _add_a_suite(board: Served) -> None:
    folder = board.folder
    board.runtime.adopt(settings_of(folder, echo_entry(folder), echo_entry(folder, "second")))
