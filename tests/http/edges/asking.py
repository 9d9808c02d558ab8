"""A surface whose tools are functions of a test: each gets the outlet of its own request."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx2
import pytest
from msgspec import Raw

from edges.board import HEADERS, TOKEN, Json, initialize, notification, request
from fakes.calls import FakeProvider, a_tool
from fakes.events import MemoryEvents
from switchboard.core.board import Board
from switchboard.core.catalog.catalog import Catalog
from switchboard.core.catalog.visibility import Visibility
from switchboard.daemon.board.lease import CurrentBoard
from switchboard.pipeline.order import build_road
from switchboard.surface.endpoint import Endpoint
from switchboard.surface.http.access import Access, hosts_of
from switchboard.surface.http.listener import bind, url_of
from switchboard.surface.http.server import served
from switchboard.surface.http.surface import HttpSurface
from switchboard.surface.sink import Sink
from switchboard.wire.messages import MessageId, Parts
from switchboard.wire.peer import Answer
from switchboard.wire.sse import EventReader, ServerEvent

Tool = Callable[[Sink], Awaitable[str]]
DEADLINE_S = 10


def said(value: Any) -> Parts:
    return (json.dumps(value).encode(),)


def progress(sink: Sink, number: int = 1, **more: Any) -> None:
    sink.notify("notifications/progress", said({"progressToken": 1, "progress": number} | more))


def tool(name: str, id_: int | str = 1, **arguments: Any) -> Json:
    return request("tools/call", {"name": name, "arguments": arguments}, id_)


class Asking(NamedTuple):
    """A running surface, and the fronts of its clients."""

    url: str
    surface: HttpSurface
    endpoints: list["AskingEndpoint"]

    @property
    def sink(self) -> Sink:
        """The outlet of the newest session itself."""
        return self.endpoints[-1].own

    def client(self, **headers: str) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(headers=HEADERS | headers, trust_env=False, timeout=20)

    @asynccontextmanager
    async def session(self, version: str = "2025-11-25") -> AsyncGenerator[httpx2.AsyncClient]:
        async with self.client() as http:
            response = await http.post(self.url, json=initialize(version))
            http.headers["mcp-session-id"] = response.headers["mcp-session-id"]
            http.headers["mcp-protocol-version"] = version
            await http.post(self.url, json=notification("notifications/initialized"))
            yield http

    @asynccontextmanager
    async def post(self, http: httpx2.AsyncClient, body: Json) -> AsyncGenerator["Reading"]:
        async with http.stream("POST", self.url, json=body) as response:
            yield Reading(response)

    @asynccontextmanager
    async def get(
        self, http: httpx2.AsyncClient, last: str | None = None
    ) -> AsyncGenerator["Reading"]:
        headers = {"last-event-id": last} if last is not None else {}
        async with http.stream("GET", self.url, headers=headers) as response:
            yield Reading(response)

    async def answer(self, http: httpx2.AsyncClient, id_: Any, result: Json) -> int:
        body = {"jsonrpc": "2.0", "id": id_, "result": result}
        return (await http.post(self.url, json=body)).status_code


class Reading:
    """The events of a response, one at a time."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._events = self._read()
        self.last_id = ""

    async def _read(self) -> AsyncIterator[ServerEvent]:
        reader = EventReader()
        async for chunk in self.response.aiter_raw():
            for event in reader.feed(chunk):
                yield event

    async def event(self) -> ServerEvent:
        async with asyncio.timeout(DEADLINE_S):
            event = await anext(self._events)
        self.last_id = event.id or self.last_id
        return event

    async def message(self) -> Json:
        """Give the next message; events without data are passed over."""
        while not (event := await self.event()).data:
            pass
        return json.loads(event.data)

    async def messages(self) -> list[Json]:
        """Give everything up to the end."""
        found: list[Json] = []
        try:
            while True:
                found.append(await self.message())
        except StopAsyncIteration:
            return found


class AskingEndpoint(Endpoint):
    """A front whose calls run a function of the test."""

    tools: dict[str, Tool]
    known: list["AskingEndpoint"]

    def __init__(self, *args: Any, sink: Sink, **more: Any) -> None:
        super().__init__(*args, sink=sink, **more)
        self.own = sink
        self.known.append(self)

    def request(
        self, method: str, params: Raw, message_id: MessageId, sink: Sink | None = None
    ) -> "Parts | Answer":
        if method != "tools/call":
            return super().request(method, params, message_id, sink)
        assert sink is not None
        return self._run(json.loads(bytes(params))["name"], sink)  # type: ignore[override]

    async def _run(self, name: str, sink: Sink) -> Parts:  # type: ignore[override]
        text = await self.tools[name](sink)
        content = [{"type": "text", "text": text}]
        return said({"content": content, "resultType": "complete"})


@asynccontextmanager
async def asking(
    monkeypatch: pytest.MonkeyPatch, schemas: dict[str, Any] | None = None, **tools: Tool
) -> AsyncGenerator[Asking]:
    known: list[AskingEndpoint] = []
    kind = type("AskingEndpoint", (AskingEndpoint,), {"tools": tools, "known": known})
    monkeypatch.setattr("switchboard.surface.http.surface.Endpoint", kind)
    specs = [a_tool(name, schema=(schemas or {}).get(name)) for name in tools]
    road = build_road({"fake": FakeProvider(*specs)}, Visibility(), MemoryEvents())
    listening = bind("127.0.0.1", 0, allow_remote=False)
    surface = HttpSurface(
        CurrentBoard(Board(catalog=Catalog(specs), pipeline=road)),
        MemoryEvents(),
        Access(token=TOKEN, hosts=hosts_of("127.0.0.1", listening.getsockname()[1])),
        workspace="/workspace",
        instructions=lambda: "",
    )
    async with served(surface, listening):
        yield Asking(url_of(listening), surface, known)
