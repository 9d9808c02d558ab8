"""What a person types as the answer to a question that they have seen."""

import os
import select
import sys
import termios

# A key that is on its way while a question appears was meant for something else.
_SEEING_S = 0.5
_LINE_BYTES = 4096


def ask_at_terminal(prompt: str) -> None:
    """Show a prompt. What was typed before it, or just as its question appeared, is no answer."""
    select.select([], [], [], _SEEING_S)
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    sys.stderr.write(prompt)
    sys.stderr.flush()


def typed_line() -> str:
    """The line that was typed; nothing when the terminal is closed.

    Read past Python's buffer, which would keep further lines for the next question.
    """
    return os.read(sys.stdin.fileno(), _LINE_BYTES).decode("utf-8", "replace")


def says_yes() -> bool:
    """Whether the line is a yes."""
    return typed_line().strip().lower() in {"y", "yes"}
