"""The same project through both doors: Switchyard's own server, and Switchboard."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from yardlab import Json, Lab

from support.mcp_stdio import StdioClient, talking_to
from support.workspace import Workspace

ERAS = ["handshake", "modern"]
SIMPLE = (
    '[services.web]\ncommand = [SVC, "serve"]\nport = {port}\n'
    '[profiles.all]\nservices = ["web"]\n[env]\nlink = [".env"]\ncopy = ["gone.json"]\n'
)


def simple(lab: Lab, port: int = 0) -> None:
    """Write a project with one service, and make it a repository."""
    lab.config(SIMPLE.replace("{port}", str(port)))
    (lab.root / ".env").write_text("A=1\n")
    (lab.root / ".gitignore").write_text(".env\n")
    lab.repository()


class Boarded:
    """Switchboard with the lab's project as its workspace."""

    def __init__(self, lab: Lab, *, daemon: bool) -> None:
        self.lab = lab
        self.workspace = Workspace(lab.folder / "board", daemon=daemon)
        self.workspace.env |= {"SWITCHYARD_HOME": str(lab.home)}

    def untrusting(self) -> None:
        """Trust nothing that the record of trust does not hold."""
        self.workspace.env["SWITCHBOARD_TRUST_WORKSPACE"] = "0"

    @asynccontextmanager
    async def client(
        self, era: str = "handshake", *, cwd: Path | None = None, **env: str
    ) -> AsyncGenerator[StdioClient]:
        """Talk to `switchboard mcp`."""
        command = self.workspace.command("mcp")
        env = {**self.workspace.env, **env}
        where = cwd or self.lab.root
        async with talking_to(command, cwd=where, env=env, patience=60) as client:
            await begun(client, era)
            yield client

    @asynccontextmanager
    async def own_server(
        self, era: str = "handshake", *, cwd: Path | None = None
    ) -> AsyncGenerator[StdioClient]:
        """Talk to `switchyard mcp`."""
        command = [sys.executable, "-m", "switchyard", "mcp"]
        where = cwd or self.lab.root
        async with talking_to(command, cwd=where, env=self.workspace.env, patience=60) as client:
            await begun(client, era)
            yield client


async def begun(client: StdioClient, era: str) -> None:
    """Begin in the way of an era."""
    if era == "modern":
        await client.discover()
    else:
        await client.initialize()


async def called(client: StdioClient, name: str, **given: Any) -> Json:
    """Call a tool that is to succeed; gives its structured content."""
    result = await client.call(f"switchyard_{name}", given)
    assert not result.get("isError"), result
    return result["structuredContent"]
