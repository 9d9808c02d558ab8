"""Starting small Python programs through `procs.spawn`."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.processes import until_gone
from switchboard.procs.spawn import Running, SpawnSpec, Warden, spawn
from switchboard.procs.stop import stop

PATIENCE = 15.0


def python(text: str, *args: str, cwd: Path, env: dict[str, str] | None = None) -> SpawnSpec:
    """Say how to run a program of Python, without what the site adds."""
    return SpawnSpec(
        argv=(sys.executable, "-I", "-S", "-c", text, *args), cwd=str(cwd), env=env or {}
    )


async def first_line(running: Running) -> Any:
    """Read the first line that a program writes, as JSON."""
    async with asyncio.timeout(PATIENCE):
        return json.loads(await asyncio.to_thread(running.stdout.readline))


@asynccontextmanager
async def started(spec: SpawnSpec) -> AsyncGenerator[Running]:
    """Start a program; on the way out it is stopped, and its streams are closed."""
    warden = Warden()
    running = await spawn(spec, warden=warden, timeout_s=PATIENCE)
    try:
        yield running
    finally:
        await ended(running)
        running.stdout.close()
        warden.close()
        await until_gone([running.pid])


async def ended(running: Running) -> int:
    async with asyncio.timeout(PATIENCE):
        return await stop(running, close_input=running.stdin.close)
