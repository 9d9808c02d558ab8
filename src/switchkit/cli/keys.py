"""Single keys of a terminal, without Enter, and a screen that is drawn anew in place."""

import contextlib
import os
import select
import shutil
import sys
import termios
import tty
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

_MOST_BYTES = 64
# What terminals send for keys that are no letters.
_NAMED = {
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[B": "down",
    "\x1bOB": "down",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\x03": "interrupt",
    "\x04": "end",
}
_ENTER_SCREEN = "\x1b[?1049h\x1b[?25l"
_LEAVE_SCREEN = "\x1b[?25h\x1b[?1049l"
_ANEW = "\x1b[H\x1b[J"
BELL = "\a"


class KeyScreen:
    """The terminal of a command, from which it takes keys one by one. It is left as it was."""

    def __init__(self) -> None:
        self._input = sys.stdin.fileno()
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._input)
        tty.setcbreak(self._input)
        self.write(_ENTER_SCREEN)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        # A terminal that was closed keeps nothing.
        with contextlib.suppress(OSError, termios.error):
            self.write(_LEAVE_SCREEN)
            termios.tcsetattr(self._input, termios.TCSAFLUSH, self._before)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows, as they are now."""
        found = shutil.get_terminal_size()
        return found.columns, found.lines

    def draw(self, rows: Sequence[str], *, rings: bool = False) -> None:
        """Show these rows and nothing else."""
        self.write(_ANEW + "\r\n".join(rows) + (BELL if rings else ""))

    def forget(self) -> None:
        """What was typed so far was meant for what was shown before."""
        termios.tcflush(self._input, termios.TCIFLUSH)

    def key(self, within_s: float) -> str | None:
        """The key that is pressed: a letter or a name. None when the time is over.

        A pressed key is one key: letters that come with it were pasted, or typed by a program.
        """
        if not select.select([self._input], [], [], within_s)[0]:
            return None
        try:
            raw = os.read(self._input, _MOST_BYTES)
        except OSError:
            return "end"
        text = raw.decode("utf-8", "replace")
        if not text:
            return "end"
        return _NAMED.get(text) or (text if len(text) == 1 else "")

    def write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
