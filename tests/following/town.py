"""A repository with a worktree, a server that follows, and clients that move between the two."""

import asyncio
import json
import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning
from pydantic import FileUrl

from support.repositories import repository, worktree
from support.workspace import Json, Workspace, child_command, server

EraName = Literal["handshake", "modern"]
ERAS: tuple[EraName, ...] = ("handshake", "modern")
MODES = {"handshake": "legacy", "modern": "2026-07-28"}
ROOT = "switchboard/root"
ERROR = "switchboard/error"


class Town:
    """The worktrees `main` and `feature-x`; `look` is a server of the home that follows."""

    def __init__(self, folder: Path, *, daemon: bool) -> None:
        self.folder = folder
        self.workspace = Workspace(folder, daemon=daemon)
        self.main = self.workspace.root
        (self.main / "code.py").write_text("x = 1\n")
        repository(self.main)
        self.side = worktree(self.main, folder / "side", "feature-x")
        self.home(look=self.entry())

    def entry(self, **more: Any) -> Json:
        return server(child_command("echo_child", "look"), follow="worktree", **more)

    def home(self, **servers: Json) -> None:
        self.workspace.mcp_json(servers, scope="home")


class Mover:
    """A client of the official SDK; where it works is what it says when it is asked."""

    def __init__(self, client: Client, at: list[Path]) -> None:
        self.client = client
        self.at = at

    async def call(self, subtool: str, args: Json | None = None, **more: Any) -> Json:
        """Call a tool of `look` through its suite; gives the whole result."""
        arguments = {"action": "call", "subtool": subtool, "args": args or {}, **more}
        return await self.tool("look_suite", arguments)

    async def tool(self, name: str, arguments: Json, meta: Json | None = None) -> Json:
        result = await self.client.call_tool(name, arguments, meta=meta)  # pyright: ignore[reportArgumentType]
        assert isinstance(result, types.CallToolResult)
        return result.model_dump(by_alias=True, exclude_none=True, mode="json")

    async def report(self, **more: Any) -> Json:
        """What the process that was reached tells of itself."""
        result = await self.call("report", **more)
        assert not result.get("isError"), result
        told: Json = json.loads(json.loads(said(result))["content"][0]["text"])
        # It never is elsewhere than we say.
        assert Path(told["cwd"]) == Path(result["_meta"][ROOT])
        return told

    async def cwd(self, **more: Any) -> Path:
        return Path((await self.report(**more))["cwd"])

    async def refused(self, **more: Any) -> Json:
        result = await self.call("report", **more)
        assert result["isError"], result
        fault: Json = result["_meta"][ERROR]
        return fault

    async def moves(self, *folders: Path) -> None:
        """Work elsewhere from now on, and say so."""
        self.at[:] = folders
        with warnings.catch_warnings():
            # Of the handshake era alone.
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await self.client.send_roots_list_changed()  # pyright: ignore[reportDeprecated]


def said(result: Json) -> str:
    return "".join(block["text"] for block in result["content"] if block["type"] == "text")


@asynccontextmanager
async def mover(
    town: Town,
    era: EraName = "handshake",
    *words: str,
    at: list[Path] | None = None,
    cwd: Path | None = None,
    heard: list[str] | None = None,
    asks: Any = None,
) -> AsyncGenerator[Mover]:
    """A client that says where it works, if `at` is given, and was started in `cwd`."""
    command, *args = town.workspace.command("mcp", *words)
    program = StdioServerParameters(
        command=command, args=args, env=town.workspace.env, cwd=cwd or town.main
    )
    folders = at if at is not None else []

    async def roots(context: object) -> types.ListRootsResult:
        del context
        uris = [FileUrl(f"file://{folder}") for folder in folders]
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in uris])

    async def hear(message: object) -> None:
        if heard is not None:
            heard.append(getattr(message, "method", ""))

    callbacks: Json = {"message_handler": hear}
    if asks is not None:
        callbacks["elicitation_callback"] = asks
    if at is not None:
        callbacks["list_roots_callback"] = roots
    async with asyncio.timeout(60), Client(program, mode=MODES[era], **callbacks) as client:  # pyright: ignore[reportArgumentType]
        yield Mover(client, folders)
