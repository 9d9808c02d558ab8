"""Clients of both eras that call without a pause, and what became of their calls."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from support.mcp_stdio import modern_meta
from support.processes import until_true
from support.workspace import Json, Workspace, child_command
from team.ground import BEARER, PATIENCE

ACCEPTS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
SESSION = "mcp-session-id"


class Held:
    """A workspace with servers `one`, `two` and `three`, whose calls end when a test says so."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.folder = workspace.root.parent / "held"
        self.folder.mkdir()
        for name in ("one", "two", "three"):
            workspace.child(name, child_command("held_child", str(self.folder)))

    def has_begun(self, name: str) -> bool:
        return (self.folder / f"{name}.began").exists()

    def let_end(self, name: str) -> None:
        (self.folder / f"{name}.go").touch()


def request(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def called(server: str, subtool: str, **args: Any) -> Json:
    arguments = {"action": "call", "subtool": subtool, "args": args}
    params = {"name": f"{server}_suite", "arguments": arguments}
    return request("tools/call", params)


def modern(message: Json) -> tuple[Json, dict[str, str]]:
    """The body and the headers of a request without a session."""
    headers = {"mcp-method": message["method"], "mcp-protocol-version": "2026-07-28"}
    if name := message["params"].get("name"):
        headers["mcp-name"] = name
    params = {**message["params"], "_meta": modern_meta()}
    return {**message, "params": params}, {**ACCEPTS, **headers}


def initialize() -> Json:
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    return request("initialize", params)


def answer_in(response: httpx2.Response) -> Json:
    """The last message of a response, which may be a stream."""
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: {")]
        return json.loads(lines[-1])
    return response.json()


def text_in(answer: Json) -> str:
    """What a suite answered."""
    assert "result" in answer, answer
    said = json.loads(answer["result"]["content"][0]["text"])
    assert not answer["result"].get("isError"), said
    return str(said["content"][0]["text"])


class Callers:
    """Counts what became of calls: `ok`, or in which way they failed."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.outcomes: Counter[str] = Counter()
        # Sessions that ended, after which their client began another.
        self.renewed = 0
        self.processes: set[str] = set()
        self._is_over = asyncio.Event()

    @property
    def failed(self) -> dict[str, int]:
        return {key: count for key, count in self.outcomes.items() if key != "ok"}

    async def more(self, count: int) -> None:
        """Wait until so many more calls are answered."""
        wanted = self.outcomes.total() + count
        await until_true(lambda: self.outcomes.total() >= wanted)

    @asynccontextmanager
    async def calling(self, *, modern_ones: int, sessions: int) -> AsyncGenerator[None]:
        tasks = [asyncio.ensure_future(self._modern()) for _ in range(modern_ones)]
        tasks += [asyncio.ensure_future(self._in_sessions()) for _ in range(sessions)]
        try:
            yield
        finally:
            self._is_over.set()
            await asyncio.gather(*tasks)

    async def _modern(self) -> None:
        body, headers = modern(called("one", "who"))
        async with _client() as http:
            while not self._is_over.is_set():
                await self._count(http.post(self.url, json=body, headers=headers))

    async def _in_sessions(self) -> None:
        async with _client() as http:
            session: dict[str, str] = {}
            while not self._is_over.is_set():
                if not session:
                    begun = await http.post(self.url, json=initialize(), headers=ACCEPTS)
                    if begun.status_code != 200:
                        self.outcomes[f"initialize {begun.status_code}"] += 1
                        continue
                    session = {SESSION: begun.headers[SESSION]}
                posted = http.post(
                    self.url, json=called("one", "who"), headers={**ACCEPTS, **session}
                )
                if not await self._count(posted, may_be_gone=True):
                    self.renewed += 1
                    session = {}

    async def _count(self, asked: Any, *, may_be_gone: bool = False) -> bool:
        """Whether its session still is; what a client does when it is not is not a failure."""
        try:
            response = await asked
            if may_be_gone and response.status_code == 404:
                return False
            self.processes.add(text_in(answer_in(response)))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
            self.outcomes[f"{type(error).__name__}: {str(error)[:100]}"] += 1
        else:
            self.outcomes["ok"] += 1
        return True


def _client() -> httpx2.AsyncClient:
    # Each by a connection of its own: one that is kept may close just as it is used again.
    limits = httpx2.Limits(max_keepalive_connections=0)
    return httpx2.AsyncClient(headers=BEARER, trust_env=False, timeout=PATIENCE, limits=limits)
