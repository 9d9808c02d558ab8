"""One client's front over a small board, asked in memory."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec import Raw

from fakes.calls import FakeProvider, Run, a_session, a_tool, answer
from fakes.events import MemoryEvents
from support.mcp_stdio import Json, modern_meta
from switchboard.core.board import Board
from switchboard.core.calls.receipts import Receipt
from switchboard.core.catalog.catalog import Catalog
from switchboard.core.catalog.visibility import Visibility
from switchboard.daemon.board.lease import CurrentBoard
from switchboard.pipeline.order import build_road
from switchboard.surface.endpoint import Endpoint
from switchboard.wire.messages import ABSENT, METHOD_NOT_FOUND, MessageId, Parts, RpcError

CLIENT: Json = {"name": "test", "version": "1"}


def joined(parts: Parts) -> bytes:
    return b"".join(map(bytes, parts))


class Visitor:
    """Asks a front as a client would, without a wire."""

    def __init__(self, run: Run = answer, *names: str) -> None:
        self.held: dict[MessageId, Receipt] = {}
        specs = [a_tool(name) for name in names or ("tool",)]
        self.provider = FakeProvider(*specs, run=run)
        road = build_road({"fake": self.provider}, Visibility(), MemoryEvents())
        self.told: list[tuple[str, Json]] = []
        rack = CurrentBoard(Board(catalog=Catalog(specs), pipeline=road))
        self.endpoint = Endpoint(rack, a_session("s"), sink=self, instructions=lambda: "Be kind.")
        self.meta: Json | None = None
        # Whether it takes what it is sent.
        self.reads = True

    def notify(self, method: str, params: Parts, /) -> None:
        self.told.append((method, json.loads(joined(params))))

    @property
    def is_pressed(self) -> bool:
        return False

    async def relieved(self) -> None:
        """It reads at once."""

    def when_answered(self, message_id: MessageId, tell: Callable[[], None], /) -> None:
        del message_id
        self.when_told(tell)

    def when_told(self, tell: Callable[[], None], /) -> None:
        if self.reads:
            tell()

    async def request(self, method: str, params: Parts, /) -> Raw:
        del params
        raise RpcError(METHOD_NOT_FOUND, f"nobody is there to answer `{method}`")

    async def ask_raw(self, method: str, params: bytes | None, message_id: int = 1) -> bytes:
        """Give the result as it would stand on the wire. Raises RpcError."""
        found = self.endpoint.request(method, ABSENT if params is None else Raw(params), message_id)
        if isinstance(found, tuple):
            return joined(found)
        async with asyncio.timeout(5):
            return joined(await found)

    async def ask(self, method: str, params: Any = None, message_id: int = 1) -> Json:
        if self.meta is not None:
            params = dict(params or {}, _meta=self.meta)
        body = None if params is None else json.dumps(params).encode()
        return json.loads(await self.ask_raw(method, body, message_id))

    async def refusal(self, method: str, params: Any = None) -> RpcError:
        """Ask what has to be refused."""
        try:
            await self.ask(method, params)
        except RpcError as error:
            return error
        raise AssertionError(f"{method} was not refused")

    async def shake_hands(self, version: str = "2025-11-25") -> Json:
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
        return await self.ask("initialize", params)

    def be_modern(self, version: str = "2026-07-28") -> None:
        """From now on every request introduces itself."""
        self.meta = modern_meta(version)

    def begin(self, method: str, params: Json, message_id: int) -> Coroutine[Any, Any, Parts]:
        """Ask what is answered later."""
        found = self.endpoint.request(
            method, Raw(json.dumps({**params, "_meta": self.meta}).encode()), message_id
        )
        assert not isinstance(found, tuple)
        return found
