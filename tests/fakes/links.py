"""A way to a child that is no process and no network: words handed over in memory."""

import json
from collections.abc import Callable
from typing import Any

from switchboard.children.link import MakePeer
from switchboard.children.redaction import Redaction
from switchboard.children.schema import ServerEntry
from switchboard.core.channels.channel import Channel
from switchboard.wire.messages import Parts
from switchboard.wire.pipes import Loss

Json = dict[str, Any]


class MemoryLink:
    """A child of the handshake era that answers at once; it may end behind its handshake."""

    pid = 0
    hidden = Redaction(())
    secrets = None
    trouble = ""
    answered_at = 0.0

    def __init__(self, make_peer: MakePeer, *, short_lived: bool) -> None:
        self.peer = make_peer(self)
        self._short_lived = short_lived
        self.closed = False

    def attend(self, channel: Callable[[], Channel | None]) -> None:
        """It wants nothing of anybody."""

    def send(self, parts: Parts) -> None:
        message: Json = json.loads(b"".join(map(bytes, parts)))
        match message.get("method"):
            case "initialize":
                result: Json = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            case "tools/list":
                result = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
            case "tools/call":
                result = {"content": [{"type": "text", "text": json.dumps(message["params"])}]}
            case "notifications/initialized" if self._short_lived:
                self.peer.lose(Loss())
                return
            case _:
                return
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        self.peer.receive(json.dumps(answer).encode())

    def pause(self) -> None:
        """Nothing flows by itself."""

    def resume(self) -> None:
        """Nothing flows by itself."""

    def close(self) -> None:
        self.closed = True

    async def doubt(self) -> None:
        return None

    async def diagnosis(self) -> tuple[str, str]:
        return "it was forgotten", ""

    def appeared(self) -> tuple[str, ...]:
        return ()

    def denial(self) -> None:
        return None

    async def aclose(self) -> None:
        await self.peer.aclose()


class MemoryLinks:
    """Opens links; the first few end behind their handshake."""

    def __init__(self, *, short_lived: int = 0) -> None:
        self.opened: list[MemoryLink] = []
        self._short_lived = short_lived

    async def __call__(
        self, entry: ServerEntry, make_peer: MakePeer, *, timeout_s: float
    ) -> MemoryLink:
        del entry, timeout_s
        link = MemoryLink(make_peer, short_lived=len(self.opened) < self._short_lived)
        self.opened.append(link)
        return link
