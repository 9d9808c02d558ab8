"""The daemon's standard error: what it writes there of its own troubles, and the file behind it."""

import contextlib
import os
import sys
import traceback

from switchboard.ipc.paths import MAX_LOG_BYTES
from switchkit.files import open_log, rotate

_STDOUT, _STDERR = 1, 2


def write_line(text: str) -> None:
    """Write a line to the daemon's log. A full disk is not one more trouble."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def write_failure() -> None:
    """Write the traceback of the exception that is being handled."""
    write_line(traceback.format_exc().rstrip())


def keep_small(path: str) -> None:
    """Begin a new file when this one is full. The one before it is kept, as `<path>.1`."""
    ours = os.fstat(_STDERR)
    if ours.st_size < MAX_LOG_BYTES:
        return
    # Run by hand we write to a terminal or to somebody else's file, and a daemon that drains
    # beside us may have begun a new file already.
    with contextlib.suppress(OSError):
        if os.path.samestat(ours, os.stat(path)):
            rotate(path, MAX_LOG_BYTES)
        elif not _was_moved(ours, path):
            return
        new = open_log(path)
        for number in (_STDOUT, _STDERR):
            if os.path.samestat(ours, os.fstat(number)):
                os.dup2(new, number)
        os.close(new)


def _was_moved(ours: os.stat_result, path: str) -> bool:
    if ours.st_nlink == 0:
        return True
    try:
        return os.path.samestat(ours, os.stat(f"{path}.1"))
    except FileNotFoundError:
        return False
