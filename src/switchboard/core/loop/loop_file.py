"""A file descriptor as an event loop may close it."""

import asyncio
from typing import IO, cast


def loop_file(number: int, mode: str) -> IO[bytes]:
    """A file over a descriptor that belongs to the running loop from now on.

    uvloop closes a pipe by its number, and then the file, whose number may by then be that of a
    file that a thread has just opened. So it gets a file that does not close its number.
    """
    closes_numbers = type(asyncio.get_running_loop()).__module__.startswith("uvloop")
    file = open(number, mode, buffering=0, closefd=not closes_numbers)  # noqa: SIM115
    return cast("IO[bytes]", file)
