"""The bytes of a file that belongs to somebody else's program."""

import os
import stat

from switchboard.hosts.edits.edit import MAX_BYTES
from switchboard.hosts.edits.unfit import UnfitFile


def read_plain(path: str) -> bytes | None:
    """The bytes, or so many of them that they are too many; `None` when there is no such file.

    Raises `UnfitFile` for what is no file, and `OSError`.
    """
    try:
        # Not to wait at a pipe that lies where a file should be.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UnfitFile("it is not a plain file")
    with open(handle, "rb") as file:
        return file.read(MAX_BYTES + 1)
