"""Clients of both eras at single gateways, and a server that keeps its state in its process."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from gate.over_http import MODES
from support.mcp_stdio import modern_meta
from support.workspace import Json, Workspace, child_command
from switchboard.postgres.address import DatabaseAddress
from team.callers import ACCEPTS
from team.ground import PATIENCE, Gateway, TeamOfTwo, gateway, http_client

FIRST = "shelf://first"


class Shelved:
    """A workspace with a server whose tools and resources are shown as they are."""

    def __init__(self, workspace: Workspace, scope: str = "") -> None:
        self.workspace = workspace
        self.notes = workspace.root.parent / "notes.txt"
        more: Json = {"scope": scope} if scope else {}
        command = child_command("shelf_child", str(self.notes))
        workspace.child("shelf", command, expose="tools", **more)


class Wire:
    """One client of either era at one gateway, and what it was told."""

    def __init__(self, http: httpx2.AsyncClient, at: Gateway, version: str) -> None:
        self._http = http
        self._at = at
        self._is_modern = MODES[version] != "legacy"
        self._version = version
        self._session: dict[str, str] = {}
        self.told: list[Json] = []
        self._news = asyncio.Condition()
        self._number = 0

    async def post(self, method: str, params: Json) -> httpx2.Response:
        return await self._http.post(self._at.url, **self._request(method, params))

    def _request(self, method: str, params: Json) -> dict[str, Any]:
        headers = {**ACCEPTS, **self._session, "mcp-protocol-version": self._version}
        if self._is_modern:
            params = {**params, "_meta": modern_meta()}
            headers |= {"mcp-method": method}
            if "name" in params:
                headers |= {"mcp-name": params["name"]}
        self._number += 1
        body = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        return {"json": body, "headers": headers}

    async def begin(self) -> None:
        if not self._is_modern:
            client = {"name": "test", "version": "1"}
            params = {"protocolVersion": self._version, "capabilities": {}, "clientInfo": client}
            begun = await self.post("initialize", params)
            self._session = {"mcp-session-id": begun.headers["mcp-session-id"]}

    async def call(self, tool: str, /, **args: str) -> Json:
        done = await self.post("tools/call", {"name": tool, "arguments": args})
        lines = [line for line in done.text.splitlines() if line.startswith("data: {")]
        return json.loads(lines[-1].removeprefix("data: ") if lines else done.text)["result"]

    async def tools(self) -> list[str]:
        done = await self.post("tools/list", {})
        lines = [line for line in done.text.splitlines() if line.startswith("data: {")]
        found = json.loads(lines[-1].removeprefix("data: ") if lines else done.text)["result"]
        return [tool["name"] for tool in found["tools"]]

    @asynccontextmanager
    async def listening(self, uri: str = FIRST) -> AsyncGenerator[None]:
        """Follow the tools and one resource for as long as the block runs."""
        if self._is_modern:
            wanted = {"toolsListChanged": True, "resourceSubscriptions": [uri]}
            asked = self._request("subscriptions/listen", {"notifications": wanted})
            stream = self._http.stream("POST", self._at.url, **asked)
        else:
            headers = {**ACCEPTS, **self._session, "accept": "text/event-stream"}
            stream = self._http.stream("GET", self._at.url, headers=headers)
        async with stream as response:
            assert response.status_code == 200
            reading = asyncio.ensure_future(self._read(response))
            try:
                if self._is_modern:
                    await self.hears("notifications/subscriptions/acknowledged")
                else:
                    assert "result" in (await self.post("resources/subscribe", {"uri": uri})).text
                yield
            finally:
                reading.cancel()
                await asyncio.wait({reading})

    async def _read(self, response: httpx2.Response) -> None:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                async with self._news:
                    self.told.append(json.loads(line.removeprefix("data: ")))
                    self._news.notify_all()

    async def hears(self, method: str, is_it: Callable[[Json], bool] = lambda _: True) -> None:
        """Wait until this is told, and forget it."""

        def found() -> list[Json]:
            return [each for each in self.told if each.get("method") == method and is_it(each)]

        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(found)
            self.told.remove(found()[0])


@asynccontextmanager
async def two_gateways(
    shelved: Shelved, address: DatabaseAddress
) -> AsyncGenerator[tuple[TeamOfTwo, httpx2.AsyncClient]]:
    async with (
        gateway(shelved, address) as first,
        gateway(shelved, address) as second,
        http_client() as http,
    ):
        yield TeamOfTwo("", [first, second], address), http
