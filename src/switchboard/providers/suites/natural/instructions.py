"""What the model is told of one server: the `CLAUDE.md` of its folder."""

import asyncio
import os
import stat
from collections.abc import Callable

from switchboard.children.faults import fault_from_change
from switchboard.core.faults import Fault, FaultCode

MAX_INSTRUCTIONS = 64 * 1024


class Instructions:
    """The file as it is when it is needed. A workspace's own counts only as it was trusted."""

    def __init__(
        self, path: str, *, server: str, is_trusted: Callable[[], bool] = lambda: True
    ) -> None:
        self._path = path
        self._server = server
        self._is_trusted = is_trusted

    async def text(self) -> str:
        """The text; nothing where there is no file. Raises a fault."""
        return await asyncio.to_thread(self._read)

    def _read(self) -> str:
        found = _content(self._path) if self._path else b""
        # After reading: what was read is then no newer than what was looked at.
        if not self._is_trusted():
            raise fault_from_change(self._server)
        if found is None:
            raise self._unusable("is no plain file that can be read")
        if len(found) > MAX_INSTRUCTIONS:
            raise self._unusable(f"is larger than {MAX_INSTRUCTIONS // 1024} KiB")
        try:
            return found.decode().strip()
        except UnicodeDecodeError:
            raise self._unusable("is not UTF-8") from None

    def _unusable(self, why: str) -> Fault:
        return Fault(
            FaultCode.FAILED_PRECONDITION,
            "instructions-unusable",
            f"the `CLAUDE.md` of `{self._server}` {why}",
            hint="mend the file, or remove it",
        )


def _content(path: str) -> bytes | None:
    """The bytes of a plain file, one more than may be; none of what is no such file."""
    try:
        # A link could lead anywhere, and a pipe would hold us for ever.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return b""
    except OSError:
        return None
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        return file.read(MAX_INSTRUCTIONS + 1)
