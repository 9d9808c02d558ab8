"""`serve --http` as a user starts it, and what clients of it need."""

import asyncio
import json
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2

from cli.commands import report_of
from support.workspace import Json, Workspace

PATIENCE = 60.0


class Endpoint:
    """A command that serves HTTP, and what a client of it needs."""

    def __init__(self, workspace: Workspace, report: Json, process: Process) -> None:
        self.workspace = workspace
        self.report = report
        self.url: str = report["url"]
        self.process = process

    @property
    def base(self) -> str:
        return self.url.removesuffix("/mcp")

    def token(self, name: str = "http-token") -> str:
        return (self.workspace.home / name).read_text("utf-8").strip()

    def http(self, token: str, **headers: str) -> httpx2.AsyncClient:
        ours = {
            "authorization": f"Bearer {token}",
            "accept": "application/json, text/event-stream",
            **headers,
        }
        return httpx2.AsyncClient(headers=ours, trust_env=False, timeout=PATIENCE)

    @asynccontextmanager
    async def control(self, **headers: str) -> AsyncGenerator["Control"]:
        async with self.http(self.token("control-token"), **headers) as http:
            yield Control(http, self.base)

    async def call(self, subtool: str, **arguments: Any) -> Json:
        """Call one tool of the suite of an echo."""
        args = {"action": "call", "subtool": subtool, "args": arguments}
        return await self.call_tool("echo_suite", args)

    async def call_tool(self, name: str, arguments: Json) -> Json:
        """Shake hands as a client does, and call one tool."""
        async with self.http(self.token()) as http:
            hello = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "http-tests", "version": "1"},
            }
            opened = await http.post(self.url, json=message("initialize", hello))
            assert opened.status_code == 200, opened.text
            http.headers["mcp-session-id"] = opened.headers["mcp-session-id"]
            params = {"name": name, "arguments": arguments}
            answer = await http.post(self.url, json=message("tools/call", params))
            # What takes long comes as the last event of a stream.
            events = [line for line in answer.text.splitlines() if line.startswith("data: {")]
            text = events[-1].removeprefix("data: ") if events else answer.text
            result: Json = json.loads(text)["result"]
            return result

    async def ends(self, number: signal.Signals) -> int | None:
        self.process.send_signal(number)
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()


class Control:
    """The control API as a page would use it."""

    def __init__(self, http: httpx2.AsyncClient, base: str) -> None:
        self.http = http
        self.base = base

    async def post(self, word: str, **fields: Any) -> httpx2.Response:
        return await self.http.post(f"{self.base}/control/{word}", json=fields)

    async def ask(self, word: str, **fields: Any) -> Json:
        response = await self.post(word, **fields)
        assert response.status_code == 200, response.text
        answer: Json = response.json()
        return answer


def message(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@asynccontextmanager
async def serving(
    workspace: Workspace, *words: str, env: Mapping[str, str] = {}
) -> AsyncGenerator[Endpoint]:
    """Start it with these words, on any port unless they say otherwise."""
    words = words if "--port" in words or "PORT" in env else ("--http", "--port", "0", *words)
    process = await asyncio.create_subprocess_exec(
        *workspace.command("serve", "--json", *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        cwd=workspace.root,
        env={**workspace.env, **env},
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE):
            text = (await process.stdout.readuntil(b"\n}\n")).decode()
        yield Endpoint(workspace, report_of(text), process)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
