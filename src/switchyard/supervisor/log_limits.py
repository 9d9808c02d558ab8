"""Keeps the logs of running services bounded, without losing a line being written."""

import contextlib
import os
from pathlib import Path

from switchkit.files import open_log
from switchkit.platform.files import punch_hole
from switchyard.runtime.log.times import rotate_marks, shift_marks
from switchyard.supervisor.yard import Yard

BLOCK = 4096
_STEP = 1 << 20


def punch(path: str, length: int) -> bool:
    """Free the disk space of the first bytes of a file; offsets and writers are unaffected."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            return punch_hole(descriptor, length)
        finally:
            os.close(descriptor)
    return False


def begin_anew(path: str, kept: int, keep: int) -> bool:
    """Move the last bytes of a log aside and empty it, where its disk knows no holes.

    Whoever writes to it appends, and goes on at its new beginning. What it writes in the moment
    between the last look and the emptying is lost.
    """
    aside = f"{path}.cut"
    with contextlib.suppress(OSError):
        log = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            begin = max(0, os.fstat(log).st_size - kept)
            end = open_log(aside)
            try:
                at = begin
                while keep and (part := os.pread(log, _STEP, at)):
                    os.write(end, part)
                    at += len(part)
                os.ftruncate(log, 0)
            finally:
                os.close(end)
        finally:
            os.close(log)
        if keep:
            for number in range(keep, 1, -1):
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{path}.{number - 1}", f"{path}.{number}")
            os.replace(aside, f"{path}.1")
        else:
            os.unlink(aside)
        rotate_marks(Path(path), keep)
        shift_marks(Path(f"{path}.1"), begin)
        return True
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
                    free = (status.st_size - limit // 2) // BLOCK * BLOCK
                    if not punch(str(path), free):
                        begin_anew(str(path), context.max_log_bytes, context.keep_logs)
        return fast
