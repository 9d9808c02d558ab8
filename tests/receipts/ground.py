"""A server that writes and answers when it is told to, behind a daemon, and looks at both."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cli.commands import Finished, switchboard
from support.daemons import shim
from support.mcp_stdio import LEGACY, Json, StdioClient, talking_to, text_of
from support.processes import until_true
from support.workspace import Workspace, child_command, server
from switchboard.control.call_desk import CallList, CallStatus
from switchboard.control.client import running_daemon
from switchboard.control.requests import CallsRequest

REPEATS = "switchboard/repeats"
TOOLS = frozenset({"post", "look", "write", "token"})
TIMED_OUT = "McpError: MCP error -32001: Request timed out"


class Post:
    """One workspace with one server, and what the server has done."""

    def __init__(self, folder: Path, *, daemon: bool = True) -> None:
        self.workspace = Workspace(folder, daemon=daemon)
        self.folder = folder / "post"
        self.folder.mkdir()
        self.serve()

    def serve(self, *words: str, **more: Any) -> None:
        """Configure the server, with words of its own."""
        command = child_command("posting_child", str(self.folder), *words)
        self.workspace.mcp_json({"post": server(command, **more)}, scope="home")
        self.workspace.config_json({"results": {"mode": "passthrough"}})

    @property
    def done(self) -> list[str]:
        """What the server did, line by line."""
        ledger = self.folder / "ledger"
        return ledger.read_text("utf-8").splitlines() if ledger.exists() else []

    async def until_done(self, *lines: str) -> None:
        await until_true(lambda: self.done == list(lines), 60)

    def answer(self, text: str = "a") -> None:
        """Let the server answer calls with this text."""
        (self.folder / f"go-{text}").touch()

    @property
    def kept(self) -> list[Path]:
        """The files of outcomes that nobody has got."""
        folder = self.workspace.home / "results"
        return sorted(folder.glob("*.json")) if folder.is_dir() else []

    async def until_kept(self, count: int = 1) -> None:
        await until_true(lambda: len(self.kept) == count, 60)

    async def type(self, *words: str) -> Finished:
        """Type a command, as a person does: what others called is for nobody below a client."""
        apart = words[0] in {"calls", "result"}
        return await asyncio.to_thread(switchboard, self.workspace, *words, apart=apart)

    def approve(self, approval_id: str) -> None:
        """Agree to a question, from a terminal of one's own."""
        words = ("approvals", "approve", approval_id, "--yes")
        assert switchboard(self.workspace, *words, apart=True).code == 0

    def all_calls(self) -> Sequence[CallStatus]:
        """The calls that the daemon knows of."""
        client = running_daemon(self.workspace.daemon_places)
        assert client is not None, "no daemon is running"
        try:
            found = client.answer(CallsRequest(last=0), CallList)
        finally:
            client.close()
        assert found is not None, "the daemon has ended"
        return found.calls

    def calls(self) -> list[CallStatus]:
        """The same, but for introspections."""
        return [each for each in self.all_calls() if each.tool in TOOLS]

    async def until_calls(self, *states: str) -> list[CallStatus]:
        """Wait until the calls are in these states, and give them."""
        await until_true(lambda: [each.state for each in self.calls()] == list(states), 60)
        return self.calls()

    async def until_answers(self, *answers: str) -> list[CallStatus]:
        """Wait until the answers of the calls have got so far."""
        await until_true(lambda: [each.answer for each in self.calls()] == list(answers), 60)
        return self.calls()


def call(tool: str = "post", text: str = "a", **more: Any) -> Json:
    """The parameters of a call."""
    arguments = {"action": "call", "subtool": tool, "args": {"text": text, **more}}
    return {"name": "post_suite", "arguments": arguments}


def begin(client: StdioClient, tool: str = "post", text: str = "a", **more: Any) -> int:
    return client.begin("tools/call", call(tool, text, **more))


async def said(client: StdioClient, number: int) -> str:
    """The text of an answer."""
    return text_of((await client.answer_to(number))["result"])


def repeats(result: Json) -> str:
    """The call whose answer a result is; empty if it is its own."""
    return result.get("_meta", {}).get(REPEATS, {}).get("call_id", "")


@asynccontextmanager
async def client_of(post: Post, era: str = "handshake") -> AsyncGenerator[StdioClient]:
    """A client of either era, by way of a shim or of a process of its own."""
    if era == "handshake":
        async with shim(post.workspace, patience=60) as client:
            yield client
        return
    words: Sequence[str] = post.workspace.command("mcp")
    root, env = post.workspace.root, post.workspace.env
    async with talking_to(words, cwd=root, env=env, patience=60) as client:
        await client.discover()
        yield client


class Rude:
    """A client that reads when it is told to, and leaves without a word."""

    def __init__(self, post: Post, name: str = "rude", *, host: Sequence[str] = ()) -> None:
        """`host` is a command that starts it in our place."""
        self._reading, out = os.pipe()
        self._read = b""
        self._count = 0
        self.process = subprocess.Popen(
            [*host, *post.workspace.command("mcp")],
            stdin=subprocess.PIPE,
            stdout=out,
            cwd=post.workspace.root,
            env=post.workspace.env,
        )
        os.close(out)
        hello: Json = {"protocolVersion": LEGACY, "capabilities": {}}
        self.begin("initialize", {**hello, "clientInfo": {"name": name, "version": "1"}})

    def begin(self, method: str, params: Json) -> None:
        self._count += 1
        message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    async def answer(self) -> Json:
        """Read the next answer, and no further than that."""
        while b"\n" not in self._read:
            self._read += await asyncio.to_thread(os.read, self._reading, 1)
        line, _, self._read = self._read.partition(b"\n")
        message: Json = json.loads(line)
        return message if "id" in message else await self.answer()

    async def leave(self) -> None:
        """As who is killed: both ends close, and nobody reads what is in the pipe."""
        os.close(self._reading)
        assert self.process.stdin is not None
        self.process.stdin.close()
        await asyncio.to_thread(self.process.wait)


async def left_behind(post: Post, text: str = "a", **more: Any) -> str:
    """The id of a call that has ended, and whose client was killed before."""
    async with client_of(post) as client:
        begin(client, text=text, **more)
        await until_true(lambda: f"post {text}" in post.done, 60)
        await killed(client)
    post.answer(text)
    await until_true(lambda: [each.answer for each in post.calls()][-1] == "kept", 60)
    return post.calls()[-1].id


async def asked(post: Post) -> str:
    """The id of the one question that waits, once there is one."""
    found: list[str] = []
    while not found:
        listed = (await post.type("approvals", "list", "--json")).report["approvals"]
        found = [each["id"] for each in listed]
    return found[0]


async def approved(post: Post) -> str:
    """Approve the one question that waits; gives its id."""
    question = await asked(post)
    await asyncio.to_thread(post.approve, question)
    return question


async def killed(client: StdioClient) -> None:
    """End a client, and its shim, without a word."""
    client.process.kill()
    await client.process.wait()
