"""Keeps the logs of running services bounded without losing a line that is being written."""

import contextlib
import ctypes
import os

from switchyard.runtime.logs import add_mark
from switchyard.supervisor.yard import Yard

KEEP_SIZE, PUNCH_HOLE = 1, 2
BLOCK = 4096


def punch(path: str, length: int) -> bool:
    """Give back the disk under the first bytes of a file; offsets and writers are untouched."""
    with contextlib.suppress(OSError, AttributeError):
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            arguments = (
                descriptor,
                KEEP_SIZE | PUNCH_HOLE,
                ctypes.c_long(0),
                ctypes.c_long(length),
            )
            return libc.fallocate(*arguments) == 0
        finally:
            os.close(descriptor)
    return False


def limit_logs(yard: Yard) -> None:
    """Mark the time in each log, and let go of what is older than the project keeps."""
    limit = yard.context.max_log_bytes * (yard.context.keep_logs + 1)
    for thread in list(yard.threads.values()):
        if thread.is_alive:
            path = thread.launch.log
            add_mark(path)
            with contextlib.suppress(OSError):
                status = path.stat()
                if status.st_blocks * 512 > limit:
                    punch(str(path), (status.st_size - limit // 2) // BLOCK * BLOCK)
