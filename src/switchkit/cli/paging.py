"""Long text at a terminal, a screen at a time: nothing runs away from whoever has to read it."""

import contextlib
import os
import re
import sys
import termios
import tty
from collections.abc import Iterable
from typing import TextIO

from switchkit.cli.style import is_terminal

# What marks a text up and takes no room.
_MARK = r"\x1b\[\d+m"
_ENOUGH = {"q", "Q", "\x03", "\x04", ""}
_MOST_BYTES = 64
_PROMPT = "-- more: any key; enough: q --"


def paged(lines: Iterable[str], stream: TextIO) -> bool:
    """Write lines, and wait for a key after each screen. False if the reader had enough.

    Where no person reads and types, all of it is written at once.
    """
    columns, rows = _size(stream)
    left = rows - 1
    for line in lines:
        needed = _rows_of(line, columns)
        if rows and needed > left:
            if not _wants_more(stream):
                return False
            left = rows - 1
        stream.write(line + "\n")
        left -= needed
    stream.flush()
    return True


def _size(stream: TextIO) -> tuple[int, int]:
    """Columns and rows of a terminal that somebody types at; nothing otherwise."""
    if is_terminal(stream) and is_terminal(sys.stdin):
        with contextlib.suppress(OSError, ValueError):
            found = os.get_terminal_size(stream.fileno())
            # A terminal without a size is read by a program.
            return (found.columns, found.lines) if found.columns and found.lines > 1 else (0, 0)
    return 0, 0


def _rows_of(line: str, columns: int) -> int:
    return max(1, -(-len(re.sub(_MARK, "", line)) // columns)) if columns else 1


def _wants_more(stream: TextIO) -> bool:
    """Ask for one key, without Enter. The terminal is left as it was."""
    source = sys.stdin.fileno()
    before = termios.tcgetattr(source)
    try:
        # First, because it forgets what was typed before anybody was asked. Raw, so that Ctrl-C is
        # a key as well, and the prompt is taken away.
        tty.setraw(source)
        stream.write(_PROMPT)
        stream.flush()
        key = os.read(source, _MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        key = ""
    finally:
        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(source, termios.TCSAFLUSH, before)
    stream.write("\r\x1b[K")
    stream.flush()
    return key not in _ENOUGH
