"""A board behind the HTTP surface, in this process."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from support.workspace import child_command
from switchboard.children.exposure import SuiteSettings
from switchboard.children.schema import ServerEntry
from switchboard.core.bus import EventBus
from switchboard.core.events import Event
from switchboard.daemon.board.runtime import Runtime, running
from switchboard.settings.sections import Settings
from switchboard.surface.http.access import Access, hosts_of
from switchboard.surface.http.connection import Bounds
from switchboard.surface.http.listener import bind, url_of
from switchboard.surface.http.server import served
from switchboard.surface.http.surface import HttpSurface

TOKEN = "a-token-for-tests"
Json = dict[str, Any]

HEADERS = {
    "authorization": f"Bearer {TOKEN}",
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
MODERN = "2026-07-28"
_META = "io.modelcontextprotocol/"


def echo_entry(folder: Path, name: str = "echo") -> ServerEntry:
    command, *args = child_command("echo_child", name)
    return ServerEntry(
        name=name, transport="stdio", command=command, args=tuple(args), cwd=str(folder)
    )


def settings_of(folder: Path, *servers: ServerEntry, **more: Any) -> Settings:
    suites = {
        entry.name: SuiteSettings(suite_name=entry.name, result_mode="passthrough")
        for entry in servers
    }
    # The gate has tests of its own.
    more = {"is_guarded": False, **more}
    return Settings(
        workspace=str(folder), home=str(folder / "home"), servers=servers, suites=suites, **more
    )


class Served:
    """What a test needs of a running surface."""

    def __init__(self, url: str, surface: HttpSurface, runtime: Runtime, folder: Path) -> None:
        self.url = url
        self.surface = surface
        self.runtime = runtime
        self.folder = folder
        self.events: list[Event] = []

    def client(self, **headers: str) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(headers=HEADERS | headers, trust_env=False, timeout=20)

    async def session(self, http: httpx2.AsyncClient, version: str = "2025-11-25") -> str:
        """Shake hands; from then on the client carries the session."""
        response = await http.post(self.url, json=initialize(version))
        assert response.status_code == 200, response.text
        session_id = response.headers["mcp-session-id"]
        http.headers["mcp-session-id"] = session_id
        await http.post(self.url, json=notification("notifications/initialized"))
        return session_id


def initialize(version: str = "2025-11-25") -> Json:
    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }
    return request("initialize", params, 0)


def request(method: str, params: Json | None = None, id_: int | str = 1) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}


def notification(method: str, params: Json | None = None) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params or {}}


def call(subtool: str, args: Json | None = None, id_: int | str = 1) -> Json:
    arguments = {"action": "call", "subtool": subtool, "args": args or {}}
    return request("tools/call", {"name": "echo", "arguments": arguments}, id_)


def modern(body: Json, version: str = MODERN) -> tuple[Json, dict[str, str]]:
    """Dress a request for the modern era: its body and the headers that repeat it."""
    meta: Json = {f"{_META}protocolVersion": version, f"{_META}clientCapabilities": {}}
    body = body | {"params": body["params"] | {"_meta": meta}}
    headers = {"mcp-protocol-version": version, "mcp-method": body["method"]}
    if name := body["params"].get("name"):
        headers["mcp-name"] = name
    return body, headers


@asynccontextmanager
async def served_board(
    folder: Path, *servers: ServerEntry, idle_s: float = 60.0, bounds: Bounds | None = None
) -> AsyncGenerator[Served]:
    settings = settings_of(folder, *(servers or (echo_entry(folder),)))
    events: list[Event] = []
    async with running(settings, environ={}, events=EventBus(events.append)) as runtime:
        listening = bind("127.0.0.1", 0, allow_remote=False)
        surface = HttpSurface(
            runtime.boards,
            runtime.events,
            Access(token=TOKEN, hosts=hosts_of("127.0.0.1", listening.getsockname()[1])),
            workspace=settings.workspace,
            instructions=lambda: "use it well",
            idle_s=idle_s,
        )
        runtime.on_changed.add(surface.changed)
        board = Served(url_of(listening), surface, runtime, folder)
        board.events = events
        async with served(surface, listening, bounds):
            yield board
