"""Notes when logs grow, without ever touching what is written to them."""

import contextlib
import os
import select
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from switchkit.platform.files import watch_writes
from switchkit.platform.light import wake_pipe
from switchyard.runtime.log.times import add_mark

# A log that grows all the time is looked at ever more rarely, down to once a second.
FIRST_S, SLOWEST_S, GROWTH, QUIET_S = 0.02, 1.0, 1.2, 2.0


class LogClock:
    """One thread for all logs of a project. It sleeps for as long as nobody writes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sizes: dict[Path, int] = {}
        self._wake_read, self._wake_write = wake_pipe()
        self._thread: threading.Thread | None = None

    def follow(self, path: Path) -> None:
        """Note from now on when this log grows. Its file may be another than before."""
        with self._lock:
            self._sizes[path] = _size(path)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
        with contextlib.suppress(OSError):
            os.write(self._wake_write, b"x")

    def forget(self, path: Path) -> None:
        """Look no more at this log."""
        with self._lock:
            self._sizes.pop(path, None)

    def _run(self) -> None:
        while True:
            with self._lock:
                paths = list(self._sizes)
            changes = _watched(paths)
            try:
                self._until_others(changes)
            finally:
                if changes is not None:
                    os.close(changes)

    def _until_others(self, changes: int | None) -> None:
        """Mark what grows, until there are other logs to look at."""
        pause_s, marked = FIRST_S, 0.0
        poller = select.poll()
        poller.register(self._wake_read, select.POLLIN)
        if changes is not None:
            poller.register(changes, select.POLLIN)
        while True:
            # Where the system cannot tell of writes, it is asked once a second.
            ready = [found for found, _ in poller.poll(None if changes is not None else 1000)]
            self._mark()
            if self._wake_read in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_read, 4096)
                return
            now = time.monotonic()
            quiet = now - marked > QUIET_S
            pause_s = FIRST_S if quiet else min(SLOWEST_S, pause_s * GROWTH)
            time.sleep(pause_s)
            marked = time.monotonic()
            if changes is not None:
                with contextlib.suppress(BlockingIOError):
                    os.read(changes, 1 << 16)
                self._mark()

    def _mark(self) -> None:
        with self._lock:
            known = dict(self._sizes)
        for path, before in known.items():
            size = _size(path)
            if size != before:
                add_mark(path)
                with self._lock:
                    if path in self._sizes:
                        self._sizes[path] = size


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _watched(paths: Iterable[Path]) -> int | None:
    """A descriptor that tells of writes to these logs, where the system has such."""
    handles: list[int] = []
    try:
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                handles.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        return watch_writes(handles)
    except OSError:
        return None
    finally:
        for one in handles:
            os.close(one)
