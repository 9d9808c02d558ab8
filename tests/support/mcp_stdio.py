"""A JSON-RPC client that drives a program over stdio, in either framing, with bounded waits.

It knows nothing of Switchboard. It reads both framings, keeps what is not JSON as junk so that a
test can insist on a clean stdout, and keeps notifications and requests of the program for a test
to look at.
"""

import asyncio
import fcntl
import json
import struct
import termios
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal

Json = dict[str, Any]
Framing = Literal["newline", "content-length"]

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
CLIENT = {"name": "switchboard-tests", "version": "1"}
PATIENCE = 60.0


class RpcError(Exception):
    """The program answered a request with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')} {error.get('data', '')}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class Ended(Exception):  # noqa: N818 - states what happened
    """The program closed its stdout while an answer was awaited."""


def modern_meta(version: str = MODERN) -> Json:
    """Give the `_meta` that a request of the era without handshake carries."""
    return {
        META + "protocolVersion": version,
        META + "clientInfo": CLIENT,
        META + "clientCapabilities": {},
    }


def unread_of(pipe: int) -> int:
    """How many bytes a pipe holds."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]


def text_of(result: Json) -> str:
    """Join the text blocks of a tool result."""
    return "".join(block["text"] for block in result["content"] if block["type"] == "text")


class StdioClient:
    """One running program and the conversation with it. Make one with `talking_to`."""

    def __init__(self, process: Process, framing: Framing, patience: float) -> None:
        self.process = process
        self.framing: Framing = framing
        self.patience = patience
        self.era_meta: Json | None = None
        self.messages: list[Json] = []
        self.framings: list[Framing] = []
        self.junk: list[bytes] = []
        self._stderr = bytearray()
        self._waiting: dict[int | str, asyncio.Future[Json]] = {}
        self._inbox: asyncio.Queue[Json] = asyncio.Queue()
        self._next_id = 0
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._drain())]

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def stderr(self) -> str:
        """Give what the program has written to stderr so far."""
        return self._stderr.decode("utf-8", "replace")

    async def initialize(self, version: str = LEGACY, capabilities: Json | None = None) -> Json:
        """Shake hands as a client of the handshake era."""
        params = {
            "protocolVersion": version,
            "capabilities": capabilities or {},
            "clientInfo": CLIENT,
        }
        result = await self.request("initialize", params)
        await self.notify("notifications/initialized")
        return result

    async def discover(self) -> Json:
        """Begin as a client of the era without handshake; later requests carry its `_meta`."""
        self.era_meta = modern_meta()
        return await self.request("server/discover")

    async def tools(self) -> dict[str, Json]:
        """List every tool by name, over all pages."""
        found: dict[str, Json] = {}
        cursor: Json = {}
        while True:
            page = await self.request("tools/list", cursor)
            found |= {tool["name"]: tool for tool in page["tools"]}
            if "nextCursor" not in page:
                return found
            cursor = {"cursor": page["nextCursor"]}

    async def call(self, name: str, arguments: Json, *, patience: float | None = None) -> Json:
        params = {"name": name, "arguments": arguments}
        return await self.request("tools/call", params, patience=patience)

    async def introspect(self, suite: str, **more: Any) -> Json:
        """Introspect a suite tool and decode its JSON text."""
        return json.loads(text_of(await self.call(suite, {"action": "introspect", **more})))

    async def call_subtool(self, suite: str, subtool: str, args: Json | None = None) -> Json:
        """Call a subtool through its suite tool; gives the whole result."""
        return await self.call(suite, {"action": "call", "subtool": subtool, "args": args or {}})

    async def request(
        self, method: str, params: Json | None = None, *, patience: float | None = None
    ) -> Json:
        """Send a request and give its result.

        Raises RpcError for an error answer, Ended when the program goes away, TimeoutError.
        """
        answer = await self.answer_to(self.begin(method, params), patience=patience)
        if "error" in answer:
            raise RpcError(answer["error"])
        return answer["result"]

    def begin(self, method: str, params: Json | None = None) -> int:
        """Send a request without waiting; give its id, for `answer_to` or a cancellation."""
        self._next_id += 1
        message: Json = {"jsonrpc": "2.0", "id": self._next_id, "method": method}
        if self.era_meta is not None:
            message["params"] = {**(params or {}), "_meta": self.era_meta}
        elif params is not None:
            message["params"] = params
        self._waiting[self._next_id] = asyncio.get_running_loop().create_future()
        self.send(message)
        return self._next_id

    async def answer_to(self, id_: int, *, patience: float | None = None) -> Json:
        """Wait for the answer to a request that was begun; it can be had once."""
        async with asyncio.timeout(patience or self.patience):
            answer = await self._waiting[id_]
        del self._waiting[id_]
        return answer

    async def notify(self, method: str, params: Json | None = None) -> None:
        message: Json = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        await self._stdin.drain()

    async def message(self, method: str, *, patience: float | None = None) -> Json:
        """Wait for a notification or a request of this method; others before it are dropped."""
        async with asyncio.timeout(patience or self.patience):
            while True:
                message = await self._inbox.get()
                if message.get("method") == method:
                    return message

    def send(self, message: Json) -> None:
        body = json.dumps(message).encode()
        if self.framing == "newline":
            self.send_bytes(body + b"\n")
        else:
            self.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def send_bytes(self, data: bytes) -> None:
        self._stdin.write(data)

    async def drained(self) -> None:
        """Wait until the program has taken what was sent."""
        async with asyncio.timeout(self.patience):
            await self._stdin.drain()

    @property
    def unread(self) -> int:
        """How much of what was sent nobody has read yet."""
        return unread_of(self._stdin.get_extra_info("pipe").fileno())

    async def close(self, *, patience: float | None = None) -> int:
        """Close stdin, as a host that leaves does, and give the exit code."""
        self._stdin.close()
        return await self.ended(patience=patience)

    async def ended(self, *, patience: float | None = None) -> int:
        """Wait until the program has ended and its output is read; give the exit code."""
        async with asyncio.timeout(patience or self.patience):
            code = await self.process.wait()
            await asyncio.gather(*self._tasks)
            return code

    async def abandon(self) -> None:
        """End the program whatever it does, and stop reading."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.kill()
        await self.process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._stdin.close()

    @property
    def _stdin(self) -> asyncio.StreamWriter:
        assert self.process.stdin is not None
        return self.process.stdin

    async def _read(self) -> None:
        assert self.process.stdout is not None
        buffer = bytearray()
        while data := await self.process.stdout.read(1 << 18):
            # Whether a line is complete shows in the new bytes alone, so reading stays linear.
            buffer += data
            if b"\n" in data or buffer.startswith((b"C", b"c")):
                self._split(buffer)
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(Ended(self.stderr[-2000:]))
                future.exception()

    def _split(self, buffer: bytearray) -> None:
        while buffer:
            if buffer[:15].lower().startswith(b"content-length:"):
                header, mark, _ = bytes(buffer[:4096]).partition(b"\r\n\r\n")
                size = int(header.split(b"\r\n")[0].split(b":")[1]) if mark else 0
                start = len(header) + len(mark)
                if not mark or len(buffer) < start + size:
                    return
                body = bytes(buffer[start : start + size])
                del buffer[: start + size]
                self._take(body, "content-length")
            else:
                end = buffer.find(b"\n")
                if end < 0:
                    return
                line = bytes(buffer[:end])
                del buffer[: end + 1]
                if line.strip():
                    self._take(line, "newline")

    def _take(self, body: bytes, framing: Framing) -> None:
        if not body.lstrip().startswith(b"{"):
            self.junk.append(body)
            return
        try:
            message: Json = json.loads(body)
        except ValueError:
            self.junk.append(body)
            return
        self.framings.append(framing)
        self.messages.append(message)
        waiting = None if "method" in message else self._waiting.get(message.get("id", ""))
        if waiting is not None and not waiting.done():
            waiting.set_result(message)
        else:
            self._inbox.put_nowait(message)

    async def _drain(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(1 << 16):
            self._stderr += data


@asynccontextmanager
async def talking_to(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    framing: Framing = "newline",
    patience: float = PATIENCE,
) -> AsyncGenerator[StdioClient, None]:
    """Start a program and talk to it; on the way out it is ended if it still runs."""
    process = await asyncio.create_subprocess_exec(
        *map(str, argv), stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=cwd, env=env
    )
    client = StdioClient(process, framing, patience)
    try:
        yield client
    finally:
        await client.abandon()
