"""A temporary folder of one process alone, where the system gives it none of its own."""

import os
import shutil
import socket
import tempfile
from collections.abc import Mapping

from switchboard.procs.wrapped import Vigil
from switchkit.platform.paths import true_path

_VARIABLES = ("TMPDIR", "TMP", "TEMP")


class Scratch:
    """There from before the start of a process to its end."""

    def __init__(self) -> None:
        self.path = true_path(tempfile.mkdtemp(prefix="switchboard-"))
        self._is_used = False

    @property
    def variables(self) -> dict[str, str]:
        """What tells a program of it."""
        return dict.fromkeys(_VARIABLES, self.path)

    @property
    def shown(self) -> str:
        """The part of it that the process is not to change."""
        return os.path.join(self.path, "shown")

    def show(self, files: Mapping[str, bytes]) -> dict[str, str]:
        """Put files into that part; gives where each lies now. Raises OSError."""
        found = {path: os.path.join(self.shown, os.path.basename(path)) for path in files}
        if found:
            os.mkdir(self.shown, 0o700)
        for path, content in files.items():
            file = os.open(found[path], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
            with open(file, "wb") as opened:
                opened.write(content)
        return found

    def pass_on(self) -> Vigil:
        self._is_used = True
        return _ScratchUse(self.path)

    def close(self) -> None:
        if not self._is_used:
            shutil.rmtree(self.path, ignore_errors=True)


class _ScratchUse:
    """There is nothing to watch: what was not opened at the start stays closed."""

    def __init__(self, path: str) -> None:
        self._path = path
        # Never to be read, as nobody can send to it: nobody has to look now and then.
        self.handle: int | None = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).detach()
        self.bell = None

    def look(self) -> None:
        """It can always go on."""

    def close(self) -> None:
        """The process has ended."""
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None
        shutil.rmtree(self._path, ignore_errors=True)
