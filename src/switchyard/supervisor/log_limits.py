"""Keeps the logs of running services bounded, without losing a line being written."""

import contextlib
import os

from switchkit.platform.system import punch_hole
from switchyard.runtime.logs import add_mark
from switchyard.supervisor.yard import Yard

BLOCK = 4096


def punch(path: str, length: int) -> bool:
    """Free the disk space of the first bytes of a file; offsets and writers are unaffected."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            return punch_hole(descriptor, length)
        finally:
            os.close(descriptor)
    return False


def limit_logs(yard: Yard) -> None:
    """Mark the time in each log, and free what exceeds the project's limit."""
    limit = yard.context.max_log_bytes * (yard.context.keep_logs + 1)
    for thread in list(yard.threads.values()):
        if thread.is_alive:
            path = thread.launch.log
            add_mark(path)
            with contextlib.suppress(OSError):
                status = path.stat()
                if status.st_blocks * 512 > limit:
                    punch(str(path), (status.st_size - limit // 2) // BLOCK * BLOCK)
