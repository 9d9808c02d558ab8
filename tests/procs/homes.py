"""Starting small Python programs through `procs.spawn`."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.processes import until_gone, until_true
from switchboard.procs.spawn import Running, SpawnSpec, spawn
from switchboard.procs.stop import stop
from switchkit.reaper_client import Reaper

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
    reaper = Reaper()
    running = await spawn(spec, reaper=reaper, timeout_s=PATIENCE)
    try:
        yield running
    finally:
        await ended(running)
        running.stdout.close()
        reaper.close()
        await until_gone([running.pid])


async def ended(running: Running) -> int:
    async with asyncio.timeout(PATIENCE):
        return await stop(running, close_input=running.stdin.close)


async def has_looked(reaper: int) -> None:
    """Wait until a reaper has slept a few times: it looks whenever it wakes."""
    await until_true(lambda: ignores(reaper, signal.SIGTERM))
    before = _naps(reaper)
    await until_true(lambda: _naps(reaper) >= before + 3)


def ignores(pid: int, number: int) -> bool:
    """Say whether a process ignores a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    [mask] = [line.split()[1] for line in status.splitlines() if line.startswith("SigIgn")]
    return bool(int(mask, 16) & (1 << (number - 1)))


def _naps(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [each for each in status.splitlines() if each.startswith("voluntary_ctxt_switches")]
    return int(line.split()[1])
