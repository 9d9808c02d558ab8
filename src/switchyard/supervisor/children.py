"""Starts processes and learns how they ended, in one place, for all threads."""

import contextlib
import errno
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from switchkit.open_files import give_first_limit
from switchkit.platform import signal_group
from switchkit.processes import ProcessTable
from switchyard.core.environ import on_path
from switchyard.runtime.hooks import HOOK_S

_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def _program(name: str, env: Mapping[str, str]) -> str:
    """Where the program is; in the current folder only if its name says so."""
    if os.sep in name:
        return name
    found = on_path(name, env.get("PATH", os.defpath))
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return found


def endless_input() -> int:
    """A pipe whose reader is its own writer: no end of ours is its end."""
    reader, writer = os.pipe()
    try:
        return os.open(f"/dev/fd/{reader}", os.O_RDWR | os.O_CLOEXEC)
    finally:
        os.close(reader)
        os.close(writer)


class Children:
    """The processes this supervisor started. Reaps them, and orphans that it inherited."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._alive: set[int] = set()
        self._ended: dict[int, int] = {}

    def spawn(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        output: int,
        holds_input: bool = False,
    ) -> int:
        """Start a process in a session of its own; its output goes straight to `output`.

        Its input is empty, or with `holds_input` one that never ends and never has anything.
        Raises `OSError` when it cannot be started.
        """
        with self._changed:
            # The folder changes for the whole process, but only for a moment, and every other
            # path in a supervisor is absolute.
            os.chdir(cwd)
            quiet = endless_input() if holds_input else os.open(os.devnull, os.O_RDONLY)
            try:
                pid = os.posix_spawn(
                    _program(command[0], env),
                    list(command),
                    env,
                    file_actions=[
                        (os.POSIX_SPAWN_DUP2, quiet, 0),
                        (os.POSIX_SPAWN_DUP2, output, 1),
                        (os.POSIX_SPAWN_DUP2, output, 2),
                    ],
                    setsid=True,
                    setsigdef=_IGNORED_BY_PYTHON,
                )
            finally:
                os.close(quiet)
                os.chdir("/")
            self._alive.add(pid)
            give_first_limit(pid)
            return pid

    def inherited(self) -> dict[int, int]:
        """Orphans of what was started here, and all below them, with the times of their start."""
        table = ProcessTable()
        with self._changed:
            queue = [pid for pid in table.children(os.getpid()) if pid not in self._alive]
        made: dict[int, int] = {}
        while queue:
            pid = queue.pop()
            # The parent of the rest may have ended while the table was read.
            queue += table.children(pid)
            if not table.processes[pid].is_dead:
                made[pid] = table.processes[pid].began
        return made

    def reap(self) -> None:
        """Collect everything that has ended by now."""
        with self._changed:
            with contextlib.suppress(ChildProcessError):
                while True:
                    pid, status = os.waitpid(-1, os.WNOHANG)
                    if not pid:
                        break
                    if pid in self._alive:
                        self._alive.discard(pid)
                        self._ended[pid] = os.waitstatus_to_exitcode(status)
            self._changed.notify_all()

    def wait(self, pid: int, timeout_s: float) -> int | None:
        """The exit code of a child, given once; nothing while it is still running."""
        until = time.monotonic() + timeout_s
        with self._changed:
            while pid not in self._ended:
                left = until - time.monotonic()
                if left <= 0 or pid not in self._alive:
                    return None
                self._changed.wait(left)
            return self._ended.pop(pid)

    def run(self, command: list[str], cwd: Path, env: Mapping[str, str], output: int) -> int | None:
        """Run a hook to its end; nothing when it took too long and was ended."""
        pid = self.spawn(command, cwd=cwd, env=env, output=output)
        code = self.wait(pid, HOOK_S)
        if code is None:
            signal_group(pid, signal.SIGKILL)
        return code
