"""A server over HTTP that works until a test has it misbehave, in any era and transport."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Literal

from edges.failures import EVENTS
from edges.scripted import Asked, Json, Told, error, result

Kind = Literal["handshake", "modern", "sse"]
KINDS: tuple[Kind, ...] = ("handshake", "modern", "sse")
NO_ANSWER = Told(0)
HINTS: Json = {"look": {"readOnlyHint": True}, "put": {"idempotentHint": True}, "send": {}}


class Moody:
    """Answers well, but for what `mood` says to single requests."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.transport = "sse" if kind == "sse" else "http"
        self.mood: Callable[[Asked], Told | None] = lambda _: None
        # The calls of tools that it took, by name: what has run, whatever became of the answer.
        self.ran: list[str] = []
        self.greetings = 0
        self.session = ""
        self._streams: list[asyncio.Queue[bytes | None]] = []

    def __call__(self, asked: Asked) -> Told:
        return self.mood(asked) or self._plain(asked) or self._answer_by_stream(asked)

    def _plain(self, asked: Asked) -> Told | None:
        """What is no request of JSON-RPC, or of no session that is known."""
        if asked.method == "DELETE":
            return Told(204)
        if asked.method == "GET":
            return self._stream() if self.kind == "sse" else Told(405)
        if "id" not in asked.message:
            return Told(202)
        needs_session = asked.rpc not in ("initialize", "server/discover")
        is_known = asked.headers.get("mcp-session-id") == self.session
        if self.kind == "handshake" and needs_session and not is_known:
            return error(asked, -32001, "Session not found", 404)
        if self.kind == "sse" and not asked.path.endswith(f"={len(self._streams)}"):
            return Told(404, b"Could not find session")
        return None

    def _answer_by_stream(self, asked: Asked) -> Told:
        answer = self._answer(asked)
        if self.kind != "sse":
            return answer
        assert isinstance(answer.body, bytes)
        self._streams[-1].put_nowait(answer.body.replace(b"\n", b""))
        return Told(202)

    def _answer(self, asked: Asked) -> Told:
        match asked.rpc:
            case "server/discover" if self.kind == "modern":
                self.greetings += 1
                found: Json = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
                return result(asked, found)
            case "initialize" if self.kind != "modern":
                self.greetings += 1
                self.session = f"session-{self.greetings}"
                agreed: Json = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
                told = result(asked, agreed)
                return told._replace(headers=told.headers | {"mcp-session-id": self.session})
            case "ping":
                return result(asked, {})
            case "tools/list":
                schema = {"type": "object"}
                tools = [
                    {"name": name, "inputSchema": schema, "annotations": hints}
                    for name, hints in HINTS.items()
                ]
                return result(asked, {"tools": tools})
            case "tools/call":
                name = asked.message["params"]["name"]
                self.ran.append(name)
                return result(asked, {"content": [{"type": "text", "text": name}]})
            case _:
                return error(asked, -32601, "what?", 400)

    def _stream(self) -> Told:
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._streams.append(queue)
        number = len(self._streams)

        async def events() -> AsyncIterator[bytes]:
            yield b"event: endpoint\ndata: /messages?session=%d\n\n" % number
            while (data := await queue.get()) is not None:
                yield b"data: " + data + b"\n\n"

        return Told(200, events(), EVENTS)

    def forget_sessions(self) -> None:
        """Be as if started anew."""
        self.session = ""
        for queue in self._streams:
            queue.put_nowait(None)
        self._streams.append(asyncio.Queue())


def calls(asked: Asked, *names: str) -> bool:
    """Whether a tool is called, of these names if there are any."""
    if asked.rpc != "tools/call":
        return False
    return not names or json.loads(asked.body)["params"]["name"] in names
