"""Where log lines go: a thread that writes, so that nobody else ever waits for it.

Standard error is often a pipe that a host does not read. A line that finds no room is dropped and
counted; a call that waits for its answer is not.
"""

import os
import threading

_MOST_LINES = 2_000
_GOODBYE_S = 0.2


class LogSink:
    """A bounded queue in front of a file descriptor."""

    def __init__(self, handle: int, *, owned: bool = False) -> None:
        self._owned = owned
        self._handle = handle
        self._lines: list[str] = []
        self._dropped = 0
        self._closing = False
        self._news = threading.Condition()
        # A daemon: a write that never ends must not keep the program alive.
        self._thread = threading.Thread(target=self._write, daemon=True)

    def put(self, line: str) -> None:
        """Queue a line, or count it as dropped."""
        with self._news:
            if len(self._lines) >= _MOST_LINES:
                self._dropped += 1
                return
            self._lines.append(line)
            if self._thread.ident is None:
                self._thread.start()
            self._news.notify()

    def close(self) -> None:
        """Give the last lines a moment to be written."""
        with self._news:
            self._closing = True
            self._news.notify()
        if self._thread.ident is not None:
            self._thread.join(_GOODBYE_S)
        # A daemon opens a file for every board that wants one.
        if self._owned and not self._thread.is_alive():
            os.close(self._handle)

    def _write(self) -> None:
        while lines := self._next():
            view = memoryview("".join(lines).encode("utf-8", "replace"))
            try:
                while view:
                    # Not the stream object: its lock, held by a write that never ends, would be
                    # waited for when the interpreter shuts down.
                    view = view[os.write(self._handle, view) :]
            except OSError:
                # A log that cannot be written must not stop a call.
                continue

    def _next(self) -> list[str]:
        with self._news:
            while not self._lines and not self._closing:
                self._news.wait()
            lines, self._lines = self._lines, []
            if self._dropped:
                lines.append(f"… {self._dropped} lines of this log were dropped: nobody read it\n")
                self._dropped = 0
            return lines
