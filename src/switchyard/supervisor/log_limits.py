"""Keeps the logs of running services bounded, without losing a line being written."""

import contextlib
import os
from pathlib import Path

from switchkit.platform.files import punch_hole
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


class LogLimits:
    """Looks after the logs of one project."""

    def __init__(self, yard: Yard) -> None:
        self._yard = yard
        self._sizes: dict[Path, int] = {}

    def apply(self) -> bool:
        """Free what exceeds the project's limit.

        Says whether one grows so fast that it has to be looked at again soon.
        """
        context = self._yard.context
        limit = context.max_log_bytes * (context.keep_logs + 1)
        before, self._sizes = self._sizes, {}
        fast = False
        for thread in list(self._yard.threads.values()):
            path = thread.launch.log
            if not thread.is_alive:
                continue
            with contextlib.suppress(OSError):
                status = path.stat()
                self._sizes[path] = status.st_size
                fast |= status.st_size - before.get(path, 0) > limit // 16
                if status.st_blocks * 512 > limit:
                    punch(str(path), (status.st_size - limit // 2) // BLOCK * BLOCK)
        return fast
