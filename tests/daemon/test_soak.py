"""Many sessions with many calls each, for minutes: no error, and nothing grows."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.daemons import daemon_pid, open_files, shim, status
from support.mcp_stdio import StdioClient, text_of
from support.workspace import Workspace

SESSIONS, IN_FLIGHT = 64, 16
# A shorter run is for whoever changes this file.
SECONDS = float(os.environ.get("SOAK_SECONDS", "300"))
WARM_UP = SECONDS / 5
MEGABYTES_OF_GROWTH = 8.0


def resident_megabytes(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


class Load:
    """Clients that keep calling until they are told to stop."""

    def __init__(self) -> None:
        self.calls = 0
        self.is_over = False

    async def session(self, workspace: Workspace, name: int, arrived: asyncio.Semaphore) -> None:
        async with arrived:
            entered = shim(workspace, patience=120)
            client = await entered.__aenter__()
        try:
            await asyncio.gather(*(self._calls(client, f"{name}-{n}") for n in range(IN_FLIGHT)))
        finally:
            await entered.__aexit__(None, None, None)

    async def _calls(self, client: StdioClient, name: str) -> None:
        number = 0
        while not self.is_over:
            number += 1
            text = f"{name}-{number}"
            result = await client.call_subtool("echo_suite", "echo", {"text": text})
            assert f"echo: {text}" in text_of(result)
            self.calls += 1
            client.messages.clear()
            client.framings.clear()


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_many_sessions_leave_no_error_and_nothing_behind(
    workspace: Workspace, record_property: Callable[[str, object], None]
) -> None:
    load = Load()
    async with shim(workspace, patience=120) as first:
        await first.call_subtool("echo_suite", "echo", {"text": "warm"})
        pid = daemon_pid(workspace)
        before = open_files(pid)
        arrived = asyncio.Semaphore(8)
        tasks = [
            asyncio.create_task(load.session(workspace, name, arrived)) for name in range(SESSIONS)
        ]
        await asyncio.sleep(WARM_UP)
        memory, files, calls = resident_megabytes(pid), open_files(pid), load.calls
        assert calls > 0
        await asyncio.sleep(SECONDS - WARM_UP)
        # Before the daemon is asked: a busy one closes that connection a little later.
        memory_now, files_now = resident_megabytes(pid), open_files(pid)
        found = status(workspace)
        assert found is not None
        failures = sum(session["failures"] for session in found["sessions"])
        # `-o junit_family=xunit1 --junitxml FILE` writes these down, for bench/README.md.
        for name, figure in {
            "calls": load.calls,
            "failures": failures,
            "megabytes after warm-up": memory,
            "megabytes at the end": memory_now,
            "open files after warm-up": files,
            "open files at the end": files_now,
        }.items():
            record_property(name, figure)
        assert load.calls > calls
        assert memory_now < memory + MEGABYTES_OF_GROWTH
        assert files_now <= files
        assert len(found["sessions"]) == SESSIONS + 1
        assert failures == 0
        load.is_over = True
        await asyncio.gather(*tasks)
        assert daemon_pid(workspace) == pid
        async with asyncio.timeout(30):
            while open_files(pid) > before + 2:  # noqa: ASYNC110 - the kernel sends no event
                await asyncio.sleep(0.05)
