"""The streams of a process under the loop that we serve with."""

import asyncio
from pathlib import Path

import uvloop

from procs.homes import PATIENCE, python
from support.processes import until_true
from switchboard.procs.spawn import spawn
from switchboard.procs.stop import stop
from switchkit.reaper_client import Reaper


def test_ending_a_process_leaves_none_of_its_streams_open(tmp_path: Path) -> None:
    uvloop.run(_start_and_end(tmp_path, times=5))


async def _start_and_end(folder: Path, *, times: int) -> None:
    loop, reaper = asyncio.get_running_loop(), Reaper()
    before = _open_pipes()
    for _ in range(times):
        spec = python("import sys; sys.stdin.read()", cwd=folder)
        running = await spawn(spec, reaper=reaper, timeout_s=PATIENCE)
        going, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, running.stdin)
        await loop.connect_read_pipe(asyncio.Protocol, running.stdout)
        await stop(running, close_input=going.close)
        # The one to the reaper stays.
        await until_true(lambda: _open_pipes() <= before + 1)
    reaper.close()


def _open_pipes() -> int:
    return sum(_is_pipe(file) for file in Path("/proc/self/fd").iterdir())


def _is_pipe(file: Path) -> bool:
    try:
        return file.readlink().name.startswith("pipe:")
    except OSError:
        return False
