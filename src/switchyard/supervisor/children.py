"""Starting processes and learning how they ended, in one place, for all threads."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from switchyard.hooks import HOOK_S


class Children:
    """The processes this supervisor started. Reaps them, and orphans that fell to it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._alive: set[int] = set()
        self._ended: dict[int, int] = {}

    def spawn(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: int
    ) -> int:
        """Start a process in a session of its own; its output goes straight to `output`.

        Raises `OSError` when it cannot be started.
        """
        with self._changed:
            process = subprocess.Popen(
                list(command),
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            # Reaping happens in `reap`; Popen must not look after it as well.
            process.returncode = 0
            self._alive.add(process.pid)
            return process.pid

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
        """The exit code of a child, forgotten once told; nothing when it still runs."""
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
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        return code
