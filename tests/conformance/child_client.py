"""Does what a client scenario wants of a client, as a client of Switchboard.

The suite starts this with the URL of its own server, which becomes a child of Switchboard. So its
checks judge how Switchboard speaks to children, and that all of it reaches the client in front.

Usage: child_client.py URL, with CONFORMANCE_FRONT naming the era of the client in front
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp.client.client import ConnectMode

from conformance.targets import exposing
from support.workspace import Json

PATIENCE = 25.0
LONGEST = 400


class Front:
    """A client that uses everything it is offered."""

    def __init__(self, board: StdioServerParameters, mode: ConnectMode) -> None:
        self.client = Client(
            board, mode=mode, elicitation_callback=self._answer, read_timeout_seconds=PATIENCE
        )
        self.tools: dict[str, types.Tool] = {}

    async def look(self) -> None:
        self.tools = {tool.name: tool for tool in (await self.client.list_tools()).tools}

    async def call(self, name: str, arguments: Json | None = None) -> None:
        result = await self.client.call_tool(name, arguments or {})
        if result.is_error:
            raise RuntimeError(f"{name} failed: {result.content}")

    async def call_each(self) -> None:
        for name in self.tools:
            await self.call(name)

    async def read_each(self) -> None:
        for resource in (await self.client.list_resources()).resources:
            await self.client.read_resource(resource.uri)
        for prompt in (await self.client.list_prompts()).prompts:
            await self.client.get_prompt(prompt.name)

    async def _answer(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        """Accept, with the defaults for whatever has one and a yes for the rest."""
        del context
        if "test_mrtr_unrelated" in self.tools:
            # A call in the middle of another must not get anything of that other one.
            await self.call("test_mrtr_unrelated")
        assert isinstance(params, types.ElicitRequestFormParams)
        fields: dict[str, Any] = params.requested_schema["properties"]
        content = {name: field.get("default", True) for name, field in fields.items()}
        return types.ElicitResult(action="accept", content=content)


async def play(endpoint: Front, scenario: str, context: Json) -> None:
    await endpoint.look()
    match scenario:
        case "initialize" | "request-metadata" | "json-schema-ref-no-deref":
            pass
        case "tools_call":
            await endpoint.call("add_numbers", {"a": 2, "b": 3})
        case "http-custom-headers":
            for call in context["toolCalls"]:
                await endpoint.call(call["name"], call["arguments"])
        case "http-standard-headers":
            await endpoint.call_each()
            await endpoint.read_each()
        case "json-schema-2020-12-preservation":
            schema = endpoint.tools["json_schema_2020_12_tool"].input_schema
            await endpoint.call("json_schema_echo", {"schema": schema})
        case "sep-2322-client-request-state":
            for name in ("echo_state", "no_state", "no_result_type"):
                await endpoint.call(f"test_mrtr_{name}")
        case _:
            await endpoint.call_each()


async def main(url: str) -> None:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    mode = cast("ConnectMode", os.environ["CONFORMANCE_FRONT"])
    with TemporaryDirectory() as folder:
        workspace = exposing(Path(folder), {"url": url})
        command, *args = workspace.command("mcp")
        board = StdioServerParameters(
            command=command, args=args, env=workspace.env, cwd=workspace.root
        )
        endpoint = Front(board, mode)
        async with asyncio.timeout(PATIENCE), endpoint.client:
            await play(endpoint, scenario, context)


def first_failure(failure: Exception) -> str:
    """Say in one line what went wrong first."""
    first = _first(failure)
    return f"{type(first).__name__}: {' '.join(str(first).split())}"[:LONGEST]


def _first(failure: Exception) -> Exception:
    """Find what went wrong first among all that did."""
    if isinstance(failure, ExceptionGroup):
        group = cast("ExceptionGroup[Exception]", failure)
        return _first(group.exceptions[0])
    return failure


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1]))
    except Exception as failure:  # noqa: BLE001 - whatever it is, the judge shows its last line
        sys.exit(first_failure(failure))
