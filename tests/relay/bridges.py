"""Boards over children of one era, and clients of either era in front of them.

Clients of the official SDK say the same in both eras; `wired` gives the words themselves.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import get_default_environment
from pydantic import FileUrl

from conformance.targets import EVERYTHING
from support.mcp_stdio import META, StdioClient, modern_meta, talking_to
from support.workspace import Json, Workspace, child_command, server

EraName = Literal["handshake", "modern"]
ERAS: tuple[EraName, ...] = ("handshake", "modern")
EVERY_CAPABILITY: Json = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {"listChanged": True},
}
ROOT = "file:///somewhere"
SPOKEN = {"handshake": "handshake", "modern": "stdio"}

each_client_era = pytest.mark.parametrize("client_era", ERAS)
each_child_era = pytest.mark.parametrize("child_era", ERAS)


def each_bridge(test: Any) -> Any:
    """Run a test with a client and a child of either era."""
    return each_client_era(each_child_era(test))


def frank(era: EraName, name: str = "frank", **more: Any) -> Json:
    """The child that does as it is told, its tools under their own names."""
    return {**server(child_command("frank_child", era, name)), "expose": "tools", **more}


def everything(era: EraName) -> Json:
    """The server of the conformance suite, its tools under their own names."""
    return {**server([*EVERYTHING, SPOKEN[era]]), "protocol": era, "expose": "tools"}


def board(folder: Path, servers: dict[str, Json], *, daemon: bool = False) -> Workspace:
    workspace = Workspace(folder, daemon=daemon)
    workspace.mcp_json(servers)
    return workspace


class Person:
    """Who sits at a client: answers what is asked, and keeps what was said."""

    def __init__(self) -> None:
        self.asked: list[types.ElicitRequestParams] = []
        self.sampled: list[types.CreateMessageRequestParams] = []
        self.logged: list[types.LoggingMessageNotificationParams] = []
        self.progress: list[tuple[float, float | None, str | None]] = []
        self.told: list[str] = []
        self._news = asyncio.Event()

    async def elicit(self, context: object, params: types.ElicitRequestParams) -> Any:
        del context
        self.asked.append(params)
        if isinstance(params, types.ElicitRequestURLParams):
            return types.ElicitResult(action="accept")
        return types.ElicitResult(action="accept", content={"name": "Ada", "username": "ada"})

    async def sample(self, context: object, params: types.CreateMessageRequestParams) -> Any:
        del context
        self.sampled.append(params)
        said = types.TextContent(text="Paris")
        return types.CreateMessageResult(role="assistant", content=said, model="m")

    async def roots(self, context: object) -> Any:
        del context
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl(ROOT), name="somewhere")])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logged.append(params)
        self._news.set()

    async def advance(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))

    async def hear(self, message: object) -> None:
        if isinstance(message, Exception):
            raise message
        self.told.append(getattr(message, "method", ""))
        self._news.set()

    async def until(self, is_true: Any) -> None:
        """Wait for news that make it true."""
        async with asyncio.timeout(10):
            while not is_true():
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def client_of(
    era: EraName,
    workspace: Workspace,
    person: Person,
    *,
    log_level: types.LoggingLevel | None = None,
    **more: Any,
) -> AsyncGenerator[Client]:
    """A client of the SDK in front of a board."""
    command, *args = workspace.command("mcp")
    program = StdioServerParameters(
        command=command, args=args, env=workspace.env, cwd=workspace.root
    )
    callbacks: Json = {
        "elicitation_callback": person.elicit,
        "sampling_callback": person.sample,
        "list_roots_callback": person.roots,
        "logging_callback": person.log,
        "message_handler": person.hear,
        **more,
    }
    mode = "legacy" if era == "handshake" else "2026-07-28"
    async with (
        asyncio.timeout(30),
        Client(program, mode=mode, log_level=log_level, **callbacks) as client,
    ):
        if log_level is not None and era == "handshake":
            await client.set_logging_level(log_level)  # pyright: ignore[reportDeprecated]
        yield client


@asynccontextmanager
async def wired(
    era: EraName,
    workspace: Workspace,
    *,
    capabilities: Json = EVERY_CAPABILITY,
    patience: float = 20.0,
) -> AsyncGenerator[StdioClient]:
    """A client of whom every word can be seen."""
    # What the SDK adds to the environment; who has the same shares the same children.
    env = {**get_default_environment(), **workspace.env}
    async with talking_to(
        workspace.command("mcp"), cwd=workspace.root, env=env, patience=patience
    ) as client:
        if era == "handshake":
            await client.initialize(capabilities=capabilities)
        else:
            client.era_meta = {**modern_meta(), META + "clientCapabilities": capabilities}
        yield client


def question(method: str = "elicitation/create", **params: Any) -> Json:
    """Something that a child may ask."""
    if method == "elicitation/create":
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        params = {"message": "Who?", "requestedSchema": schema, **params}
    return {"method": method, "params": params}


def answered(text: str) -> Json:
    """The answers that the child was given, by its own keys."""
    return json.loads(text)["answers"]


def texts(blocks: Iterable[object]) -> str:
    """The text of the blocks that are text."""
    return "".join(block.text for block in blocks if isinstance(block, types.TextContent))
