"""Two windows of one daemon: what one of them opened is of no concern to the other."""

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from settings.slow_files import SLOW
from support.daemons import daemon_here, shim
from support.mcp_stdio import StdioClient
from support.requirements import attack
from support.workspace import Workspace
from switchboard.config import toml_text

PATIENCE_S = 60.0
# A ping takes a millisecond, and clients give a server up after minutes.
PROMPT_S = 3.0


def clone(workspace: Workspace, kind: str) -> Path:
    """A folder whose settings were made to take long."""
    root = workspace.root.parent / f"clone-{list(SLOW).index(kind)}"
    (root / ".switchboard").mkdir(parents=True, exist_ok=True)
    (root / ".switchboard" / "config.toml").write_text(SLOW[kind], "utf-8")
    return root


@attack("B10")
async def test_a_window_is_answered_while_the_settings_of_another_are_read(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reading is stopped in its midst, until the other one has its answer."""
    hostile = SLOW["tables"]
    begun, answered = threading.Event(), threading.Event()
    read = toml_text.read_toml
    met: list[bool] = []

    def stopped(text: str) -> Any:
        if text == hostile:
            begun.set()
            met.append(answered.wait(PATIENCE_S / 4))
        return read(text)

    monkeypatch.setattr(toml_text, "read_toml", stopped)
    async with daemon_here(workspace), shim(workspace, patience=PATIENCE_S) as first:
        await first.tools()
        root = clone(workspace, "tables")
        second = asyncio.ensure_future(opened(workspace, root))
        assert await asyncio.to_thread(begun.wait, PATIENCE_S)
        assert await first.request("ping") == {}
        answered.set()
        async with asyncio.timeout(PATIENCE_S):
            await second
    assert met
    assert all(met)


@attack("B10")
async def test_no_clone_makes_another_window_wait(workspace: Workspace) -> None:
    """Pings, one after the other, while one hostile clone after the other is opened."""
    longest = 0.0
    async with shim(workspace, patience=PATIENCE_S) as first:
        await first.tools()
        for kind in SLOW:
            second = asyncio.ensure_future(opened(workspace, clone(workspace, kind)))
            while not second.done():
                longest = max(longest, await pinged(first))
            await second
    assert longest < PROMPT_S


async def opened(workspace: Workspace, root: Path) -> None:
    async with shim(workspace, cwd=root, patience=PATIENCE_S) as client:
        await client.tools()


async def pinged(client: StdioClient) -> float:
    began = time.monotonic()
    assert await client.request("ping") == {}
    return time.monotonic() - began
