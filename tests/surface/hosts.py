"""Talking to `switchboard mcp` as a host does, and looking at it from outside."""

import json
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fakes.nursery import SCRIPTED
from support.mcp_stdio import Framing, StdioClient, talking_to
from support.processes import wait_until_none_mention
from support.workspace import Workspace, child_command


@asynccontextmanager
async def hosting(
    workspace: Workspace,
    *,
    framing: Framing = "newline",
    handshake: bool = True,
    verb: tuple[str, ...] = ("mcp",),
    env: Mapping[str, str] | None = None,
) -> AsyncGenerator[StdioClient]:
    """Start Switchboard in a workspace; afterwards nothing of it may be left."""
    async with talking_to(
        workspace.command(*verb),
        cwd=workspace.root,
        env={**workspace.env, **(env or {})},
        framing=framing,
        patience=40,
    ) as client:
        if handshake:
            await client.initialize()
        yield client
    wait_until_none_mention(str(workspace.root))


def misbehaving(workspace: Workspace, habit: str, *args: str, **more: Any) -> str:
    """Write a child with one bad habit; gives the name of its suite."""
    workspace.child(habit, child_command("misbehaving_child", habit, *args), **more)
    return f"{habit}_suite"


def scripted(workspace: Workspace, script: Mapping[str, list[str]], notes: Path) -> str:
    """Write a child that says these texts and notes what it hears; gives the name of its suite."""
    workspace.child("odd", [sys.executable, str(SCRIPTED), json.dumps(script), str(notes)])
    return "odd_suite"


def memory_kb(pid: int, field: str) -> int:
    """Read `VmRSS` or `VmHWM` of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith(f"{field}:")]
    return int(line.split()[1])


def network_sockets(pid: int) -> set[str]:
    """Give the sockets of a process that are of the network, by inode."""
    links = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
    ours = {link[8:-1] for link in links if link.startswith("socket:")}
    tables = [Path(f"/proc/{pid}/net/{name}") for name in ("tcp", "tcp6", "udp", "udp6", "raw")]
    lines = [line for table in tables for line in table.read_text().splitlines()[1:]]
    return ours & {line.split()[9] for line in lines}
