"""What the server scenarios run against: the everything server, alone or behind Switchboard."""

import asyncio
import json
import os
import secrets
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from support.measuring import starter
from support.nursery import VARIABLE, nursery, started_in_it
from support.workspace import Json, Workspace, server

SCRIPT = Path(__file__).parent / "everything_server.py"
EVERYTHING = [sys.executable, str(SCRIPT)]
# What it loads.
LOADED = ("uvicorn", "mcp.server.lowlevel", "mcp.server.stdio", "mcp.server.streamable_http")
CHILD = "everything"
PATIENCE = 30.0


class Target(NamedTuple):
    """Where a server listens, and what its clients have to show."""

    url: str
    token: str | None = None

    @property
    def env(self) -> dict[str, str]:
        return {} if self.token is None else {"CONFORMANCE_TOKEN": self.token}


@asynccontextmanager
async def direct(folder: Path) -> AsyncGenerator[Target]:
    """Serve the everything server over HTTP with nothing in between."""
    async with _started([*EVERYTHING, "http"], os.environ, folder) as process:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            port = (await process.stdout.readline()).decode().strip()
        yield Target(f"http://127.0.0.1:{port}/mcp")


@asynccontextmanager
async def through_stdio(folder: Path) -> AsyncGenerator[Target]:
    """Put the everything server behind Switchboard as a program that it starts."""
    async with _switchboard(folder, server([*EVERYTHING, "stdio"])) as target:
        yield target


@asynccontextmanager
async def through_handshake(folder: Path) -> AsyncGenerator[Target]:
    """Put an everything server behind Switchboard that speaks as servers did before 2026-07-28."""
    # It asks without saying whom it means, and scenarios run side by side: each gets its own.
    async with nursery(LOADED, starter(os.environ)) as at:
        command = started_in_it(SCRIPT, "handshake")
        entry = {**server(command, env={VARIABLE: at}), "scope": "session"}
        async with _switchboard(folder, entry) as target:
            yield target


@asynccontextmanager
async def through_http(folder: Path) -> AsyncGenerator[Target]:
    """Put the everything server behind Switchboard as a remote server."""
    async with direct(folder) as remote, _switchboard(folder, {"url": remote.url}) as target:
        yield target


@asynccontextmanager
async def _switchboard(folder: Path, entry: Json) -> AsyncGenerator[Target]:
    workspace = exposing(folder / "board", entry)
    token = secrets.token_urlsafe()
    command = workspace.command("serve", "--http", "--port", "0", "--json")
    env = {**workspace.env, "SWITCHBOARD_TOKEN": token}
    async with _started(command, env, folder, workspace.root) as process:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            report = json.loads(await process.stdout.readuntil(b"\n}\n"))
        if "url" not in report:
            raise RuntimeError(f"Switchboard does not serve: {report}")
        yield Target(report["url"], token)


def exposing(folder: Path, entry: Json) -> Workspace:
    """Make a workspace with one server whose tools appear under their own names."""
    workspace = Workspace(folder)
    workspace.mcp_json({CHILD: entry})
    workspace.config_json({"suites": {CHILD: {"expose": "tools"}}})
    return workspace


@asynccontextmanager
async def _started(
    command: Sequence[str], env: Mapping[str, str], folder: Path, cwd: Path | None = None
) -> AsyncGenerator[Process]:
    with (folder / "servers.txt").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=DEVNULL, stdout=PIPE, stderr=log, env=env, cwd=cwd
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(PATIENCE):
                await process.communicate()
        except TimeoutError:
            process.kill()
            await process.communicate()
