"""The loop that we serve with closes the streams of a process once, and nobody else's files."""

import asyncio
import os
import threading
from pathlib import Path

import uvloop

from procs.homes import PATIENCE, python
from support.processes import until_true
from switchboard.procs.spawn import Warden, spawn
from switchboard.procs.stop import stop


def test_ending_a_process_closes_its_streams_and_no_file_of_a_thread(tmp_path: Path) -> None:
    stopped = threading.Event()
    broken: list[OSError] = []

    def open_and_close() -> None:
        while not stopped.is_set():
            try:
                os.close(os.open(os.devnull, os.O_RDONLY))
            except OSError as error:
                broken.append(error)

    opener = threading.Thread(target=open_and_close)
    opener.start()
    try:
        uvloop.run(_start_and_end(tmp_path, times=20))
    finally:
        stopped.set()
        opener.join()
    assert broken == []


async def _start_and_end(folder: Path, *, times: int) -> None:
    loop, warden = asyncio.get_running_loop(), Warden()
    before = _open_pipes()
    for _ in range(times):
        spec = python("import sys; sys.stdin.read()", cwd=folder)
        running = await spawn(spec, warden=warden, timeout_s=PATIENCE)
        going, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, running.stdin)
        await loop.connect_read_pipe(asyncio.Protocol, running.stdout)
        await stop(running, close_input=going.close)
        # The one to the warden stays.
        await until_true(lambda: _open_pipes() <= before + 1)
    warden.close()


def _open_pipes() -> int:
    return sum(_is_pipe(file) for file in Path("/proc/self/fd").iterdir())


def _is_pipe(file: Path) -> bool:
    try:
        return file.readlink().name.startswith("pipe:")
    except OSError:
        return False
