"""Our side of the reaper: what it guards, and that there is one."""

import asyncio
import contextlib
import os
import subprocess
import sys
from io import FileIO

from switchkit.platform import Unknown
from switchkit.platform.processes import open_exit
from switchkit.processes import began

# Without site-packages it starts in a few milliseconds, so it has to be told where we are.
_PROGRAM = (
    f"import sys; sys.path.insert(0, {os.path.abspath(f'{__file__}/../..')!r})\n"
    "from switchkit.reaper import main; main()"
)
# In the environment of whoever may leave processes behind that nobody has seen.
MARK = "SWITCHBOARD_GUARD"
# After so many in a row the next one is not started before there is something to tell.
_MOST_REPLACEMENTS = 5


class Reaper:
    """The process that ends our children after us. One per program, started late, replaced."""

    def __init__(self) -> None:
        # Whoever is started with this variable is found after us, whatever became of its parents.
        self.mark = (MARK, os.urandom(16).hex())
        # What it is told of each process that is guarded.
        self._guarded: dict[int, str] = {}
        # And of each container, by the value of its label.
        self._containers: dict[str, str] = {}
        # Keepers that are started from now on end their own when `pulse` is not called for so many
        # seconds; 0: they live as long as we do, stopped or not.
        self.silence_s = 0.0
        # Whether everything that is guarded ends then, not only what keepers keep.
        self.ends_in_silence = False
        self._lifelines: dict[int, FileIO] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._replacements = 0
        self._exit = -1
        self._loop: asyncio.AbstractEventLoop | None = None

    def guard(self, pid: int, *, lifeline: FileIO | None = None) -> None:
        """From now on what came of `pid` does not outlive us. Raises OSError.

        A keeper, which has a lifeline, sees to that itself, and is given the time for it.
        """
        if lifeline is not None:
            self._lifelines[pid] = lifeline
        self._guarded[pid] = f"{'+' if lifeline is None else '*'}{pid} {began(pid)}\n"
        self._tell(self._guarded[pid])

    def release(self, pid: int) -> None:
        """The process `pid` has ended; what it left behind, if anything, is ended."""
        self._lifelines.pop(pid, None)
        if self._guarded.pop(pid, None) is not None:
            with contextlib.suppress(OSError):
                self._tell(f"-{pid}\n")

    def pulse(self) -> None:
        """Let every keeper know that we are here, and that what it keeps may go on."""
        for lifeline in tuple(self._lifelines.values()):
            # One that has ended, or does not read, is none that has to know.
            if self.silence_s and not lifeline.closed:
                with contextlib.suppress(OSError):
                    os.write(lifeline.fileno(), b".")
        if self.ends_in_silence and self._process is not None:
            _written(self._process, ".\n")

    def guard_containers(self, owner: str, written: str) -> None:
        """From now on no container with this label outlives us. Raises OSError.

        `written` is what `containers.Containers` tells of it.
        """
        self._containers[owner] = f"!{owner} {written}\n"
        self._tell(self._containers[owner])

    def release_containers(self, owner: str) -> None:
        """There is none any more."""
        if self._containers.pop(owner, None) is not None:
            with contextlib.suppress(OSError):
                self._tell(f"~{owner}\n")

    def _tell(self, line: str) -> None:
        self._replacements = 0
        process = self._process
        if process is None or process.poll() is not None or not _written(process, line):
            self._forget()
            # It learns everything, this line's news included, from what is guarded now.
            self._start()

    def _start(self) -> None:
        if not self._guarded and not self._containers:
            return
        process = self._process = subprocess.Popen(
            (sys.executable, "-I", "-S", "-c", _PROGRAM),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )
        _written(process, "=" + "=".join(self.mark) + "\n")
        if self.ends_in_silence:
            _written(process, f"?{self.silence_s:g}\n")
        _written(process, "".join((*self._guarded.values(), *self._containers.values())))
        # Where its end cannot be watched it is noticed when there is something to tell it.
        with contextlib.suppress(OSError, RuntimeError, Unknown):
            self._loop = asyncio.get_running_loop()
            self._exit = open_exit(process.pid)
            self._loop.add_reader(self._exit, self._replace)

    def _replace(self) -> None:
        """It ended, though we live."""
        self._forget()
        self._replacements += 1
        if self._replacements <= _MOST_REPLACEMENTS:
            with contextlib.suppress(OSError):
                self._start()

    def _forget(self) -> None:
        process, self._process = self._process, None
        if self._exit >= 0:
            if self._loop is not None and not self._loop.is_closed():
                self._loop.remove_reader(self._exit)
            os.close(self._exit)
            self._exit = -1
        if process is not None and process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()

    def close(self) -> None:
        """Let it end what is still guarded, and wait until it has."""
        self._guarded.clear()
        self._containers.clear()
        self._forget()


def _written(process: "subprocess.Popen[bytes]", line: str) -> bool:
    assert process.stdin is not None
    try:
        process.stdin.write(line.encode())
        process.stdin.flush()
    except BrokenPipeError:
        return False
    return True
