"""Clients inside the process of the tests, so that waits can be made short and memory be seen."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Raw

from fakes.boards import Desk, server
from fakes.calls import a_session
from relay.bridges import EVERY_CAPABILITY, EraName
from support.mcp_stdio import CLIENT, META, modern_meta
from support.workspace import Json, child_command
from switchboard.children.schema import ServerEntry
from switchboard.core.calls.receipts import Receipt
from switchboard.core.events import SessionOpened
from switchboard.surface.channel import PATIENCE_S
from switchboard.surface.endpoint import Endpoint
from switchboard.surface.suspended_calls import SuspendedCall, SuspendedCalls
from switchboard.wire.messages import MessageId, Parts, RpcError
from switchboard.wire.peer import Answer
from switchboard.wire.pending import PeerLost
from switchboard.wire.pipes import Loss


def frank_entry(era: EraName, name: str = "", tools: int = 0, **more: Any) -> ServerEntry:
    """The child that does as it is told, named after its era; its tools are prefixed with that."""
    name = name or era
    settings: Json = {"expose": "tools", "tool_prefix": f"{name}_", **more}
    return server(name, child_command("frank_child", era, name, str(tools)), **settings)


class WatchedParking(SuspendedCalls):
    """Tells when the calls in it have ended."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: set[asyncio.Task[Parts]] = set()

    def begin(self, suspended: SuspendedCall, work: Answer, about: Any) -> None:
        super().begin(suspended, work, about)
        assert suspended.task is not None
        self.tasks.add(suspended.task)


class _Arrived:
    """The way of answers that are there as soon as they are sent."""

    taken = 0
    is_over = False

    def look(self) -> int:
        return self.taken


class Guest:
    """One client of a desk, whose every word is kept."""

    def __init__(
        self,
        desk: Desk,
        era: EraName,
        *,
        session: str = "guest",
        patience_s: float = PATIENCE_S,
        capabilities: Json = EVERY_CAPABILITY,
    ) -> None:
        self.held: dict[MessageId, Receipt] = {}
        self.era = era
        self.capabilities = capabilities
        self.told: list[tuple[str, Json]] = []
        self.asked: list[tuple[str, Json]] = []
        self.withdrawn = 0
        # Answers to the next questions of the handshake era; without one nobody answers.
        self.answers: list[Json] = []
        self.answers_after_s = 0.0
        self.suspended_calls = WatchedParking()
        self._next = 0
        self._news = asyncio.Event()
        self.endpoint = Endpoint(
            desk.runtime.boards,
            a_session(session),
            sink=self,
            instructions=lambda: "",
            suspended_calls=self.suspended_calls,
            patience_s=patience_s,
        )
        desk.runtime.on_changed.add(self.endpoint.changed)
        desk.runtime.events.emit(SessionOpened(session_id=session, via="stdio"))
        if era == "handshake":
            hello = {
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities,
                "clientInfo": CLIENT,
            }
            self.endpoint.request("initialize", Raw(json.dumps(hello).encode()), 0)

    # What it is told and asked

    def notify(self, method: str, params: Parts, /) -> None:
        self.told.append((method, json.loads(b"".join(map(bytes, params)))))
        self._news.set()

    @property
    def is_pressed(self) -> bool:
        return False

    async def relieved(self) -> None:
        """It reads at once."""

    def when_answered(self, message_id: MessageId, tell: Callable[[], None], /) -> None:
        """Nobody here wants to know."""

    def when_told(self, tell: Callable[[], None], /) -> None:
        """Nobody here wants to know."""

    async def request(self, method: str, params: Parts, /) -> Raw:
        self.asked.append((method, json.loads(b"".join(map(bytes, params)))))
        self._news.set()
        if self.answers:
            # A person thinks before they answer.
            await asyncio.sleep(self.answers_after_s)
            return Raw(json.dumps(self.answers.pop(0)).encode())
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.withdrawn += 1
            self._news.set()
            raise
        raise PeerLost(Loss())

    async def until(self, is_true: Any) -> None:
        async with asyncio.timeout(10):
            while not is_true():
                self._news.clear()
                await self._news.wait()

    # What it asks

    async def ask(self, method: str, params: Json | None = None, **meta: Any) -> Json:
        """The result. Raises RpcError."""
        params = dict(params or {})
        if self.era == "modern":
            meta = {**modern_meta(), META + "clientCapabilities": self.capabilities, **meta}
        if meta:
            params["_meta"] = meta
        self._next += 1
        number = self._next
        try:
            answer = self.endpoint.request(method, Raw(json.dumps(params).encode()), number)
            if not isinstance(answer, tuple):
                async with asyncio.timeout(20):
                    answer = await answer
        finally:
            self._read(number)
        return json.loads(b"".join(map(bytes, answer)))

    def _read(self, number: int) -> None:
        """An answer is read at once; a question in its place is not the end of the call."""
        receipt = self.held.pop(number, None)
        if receipt is not None and receipt.status and receipt.book is not None:
            receipt.book.sent(receipt, _Arrived(), 0)

    async def call(self, name: str, arguments: Json | None = None, **meta: Any) -> Json:
        return await self.ask("tools/call", {"name": name, "arguments": arguments or {}}, **meta)

    async def follow(self, uri: str) -> Callable[[], Awaitable[object]]:
        """Follow a resource in the way of the era; what is returned ends it."""
        if self.era == "handshake":
            await self.ask("resources/subscribe", {"uri": uri})
            return lambda: self.ask("resources/unsubscribe", {"uri": uri})
        wanted = {"notifications": {"resourceSubscriptions": [uri]}}
        listening = asyncio.ensure_future(self.ask("subscriptions/listen", wanted))
        acknowledged = "notifications/subscriptions/acknowledged"
        await self.until(lambda: acknowledged in dict(self.told))

        def end() -> Awaitable[object]:
            listening.cancel()
            return asyncio.wait({listening})

        return end

    async def refused(self, method: str, params: Json | None = None) -> RpcError:
        try:
            await self.ask(method, params)
        except RpcError as error:
            return error
        raise AssertionError(f"`{method}` was not refused")

    async def names(self) -> list[str]:
        return [tool["name"] for tool in (await self.ask("tools/list"))["tools"]]

    @staticmethod
    def named(child: str, call: Json) -> Json:
        """The call of a tool under the prefix of its child."""
        return {**call, "name": f"{child}_{call['name']}"}

    async def parked_calls_ended(self) -> None:
        """Wait until every call that waits for this client has given up."""
        await asyncio.wait(self.suspended_calls.tasks, timeout=10)
        for _ in range(3):
            # What is forgotten at once is forgotten one turn of the loop later.
            await asyncio.sleep(0)
