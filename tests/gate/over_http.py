"""Clients of both eras over HTTP, and the people in front of them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitResult

from gate.ground import SUITE, call
from support.reading import read_it, reply

TOKEN = "a-token-for-tests-of-the-gate"
MODES: Any = {"2025-11-25": "legacy", "2026-07-28": "2026-07-28"}
VERSIONS = pytest.mark.parametrize("version", list(MODES))


class Person:
    """Whoever sits in front of the client, and what they were offered."""

    def __init__(self, decision: str) -> None:
        self.decision = decision
        self.offered: list[list[str]] = []

    async def __call__(self, context: object, params: Any) -> ElicitResult:
        del context
        choice = params.requested_schema["properties"].get("remember", {"oneOf": []})
        self.offered.append([each["const"] for each in choice["oneOf"]])
        await read_it()
        return ElicitResult.model_validate(reply(self.decision))


class Hesitant(Person):
    """Whoever is asked and does not answer."""

    def __init__(self) -> None:
        super().__init__("")

    async def __call__(self, context: object, params: Any) -> ElicitResult:
        del context, params
        return await asyncio.get_running_loop().create_future()


@asynccontextmanager
async def connected(
    url: str, version: str, person: Person | None, *, token: str = TOKEN
) -> AsyncGenerator[Client]:
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=90) as http,
        Client(
            streamable_http_client(url, http_client=http),
            mode=MODES[version],
            elicitation_callback=person,
        ) as client,
    ):
        yield client


async def write(client: Client, text: str) -> CallToolResult:
    result = await client.call_tool(SUITE, call("write", text=text)["arguments"])
    assert isinstance(result, CallToolResult)
    return result
