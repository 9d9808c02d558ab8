"""Programs that the bench starts: each leads a session, and each is ended by its process id."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from .family import family

REAPER = Path(__file__).parents[1] / "reaper.py"
POLL_SECONDS = 0.005


class Programs:
    """Everything that is running. Leaving the block ends it, and so does the end of the bench."""

    def __init__(self) -> None:
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._reaper: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # In a session of its own, so that Ctrl-C at the terminal leaves it to do its work.
        self._reaper = subprocess.Popen(
            [sys.executable, "-S", str(REAPER)],
            stdin=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        for program in list(self._running.values()):
            self.end(program, patience=0.2)
        assert self._reaper is not None
        assert self._reaper.stdin is not None
        self._reaper.stdin.close()
        self._reaper.wait()

    def start(
        self, command: Sequence[str], *, cwd: Path, environ: Mapping[str, str], pipes: bool
    ) -> subprocess.Popen[bytes]:
        """Start a program; its talk goes to `talk.log` in its temporary folder."""
        # Not where it works: that may be a workspace, of which no file may change.
        with Path(environ["TMPDIR"], "talk.log").open("ab") as talk:
            program = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipes else talk,
                stderr=talk,
                cwd=cwd,
                env=environ,
                bufsize=0,
                start_new_session=True,
            )
        self._running[program.pid] = program
        self._note("+", program)
        return program

    def end(self, program: subprocess.Popen[bytes], *, patience: float) -> None:
        """Ask the program and everything that it started to end, then make them."""
        if self._running.pop(program.pid, None) is None:
            return
        for stream in (program.stdin, program.stdout):
            if stream is not None:
                stream.close()
        pids = family({program.pid})
        for number, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, 5.0)):
            _signal(pids, number)
            if _gone(program, pids, seconds):
                break
            pids |= family({program.pid})
        self._note("-", program)

    def _note(self, sign: str, program: subprocess.Popen[bytes]) -> None:
        assert self._reaper is not None
        assert self._reaper.stdin is not None
        self._reaper.stdin.write(f"{sign}{program.pid}\n".encode())


def _signal(pids: set[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _gone(program: subprocess.Popen[bytes], pids: set[int], seconds: float) -> bool:
    end = time.perf_counter() + seconds
    while True:
        program.poll()
        if not any(_alive(pid) for pid in pids):
            return True
        if time.perf_counter() > end:
            return False
        time.sleep(POLL_SECONDS)


def _alive(pid: int) -> bool:
    try:
        return _stat(pid)[0] not in {b"Z", b"X"}
    except OSError:
        return False


def _stat(pid: int) -> list[bytes]:
    return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
