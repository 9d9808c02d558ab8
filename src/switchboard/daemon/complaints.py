"""What the daemon writes down of its own troubles. A full disk must not be one more of them."""

import contextlib
import sys
import traceback


def complain(text: str) -> None:
    """A line of the daemon's log."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def complain_of_failure() -> None:
    """The exception that is being handled, with its way here."""
    complain(traceback.format_exc().rstrip())
