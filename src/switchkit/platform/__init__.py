"""The only place that knows the operating system. What cannot be known is `Unknown`.

`light` is for programs that must start in a blink. Every other noun is chosen once from its two
sides, `linux` and `darwin`.
"""

import os
import sys

if sys.platform not in {"linux", "darwin"}:
    raise ImportError("Switchboard and Switchyard run on Linux and macOS; on Windows use WSL 2")

DEAD_STATES = "ZXx"
STOPPED_STATES = "Tt"


class Unknown(Exception):
    """The system does not tell. Whoever asked must do without, on the safe side."""


# What became of a signal. `UNKNOWN`: whether the process is the one that is meant cannot be seen,
# so it got none.
SENT, GONE, REFUSED, UNKNOWN = "sent", "gone", "refused", "unknown"


class Vitals:
    """What the system says of one process, which may have ended and wait to be reaped."""

    __slots__ = ("_name", "began", "group", "parent", "pid", "session", "state", "terminal")

    def __init__(
        self,
        pid: int,
        state: str,
        *,
        parent: int,
        group: int,
        session: int,
        began: int,
        name: bytes,
        terminal: int = 0,
    ) -> None:
        self.pid = pid
        self.state = state
        self.parent = parent
        self.group = group
        self.session = session
        # When it began, to be compared within one boot only: a number can come to mean another.
        self.began = began
        # The number of the terminal that its session belongs to; 0 without one.
        self.terminal = terminal
        self._name = name

    @property
    def is_dead(self) -> bool:
        """A zombie has ended; only its parent has not looked yet."""
        return self.state in DEAD_STATES

    @property
    def is_stopped(self) -> bool:
        """Whether somebody suspended it."""
        return self.state in STOPPED_STATES

    @property
    def name(self) -> str:
        """What the process calls itself."""
        return self._name.decode("utf-8", "replace")


def checked_signal(found: Vitals | None, pid: int, began: int, number: int) -> str:
    """Signal a process by its number, if the look that was just taken shows the one that is meant.

    Says what became of the signal.
    """
    if found is not None and found.began != began:
        return GONE
    try:
        # A process that is not shown gets nothing, and tells by this whether it is there.
        os.kill(pid, number if found is not None else 0)
    except ProcessLookupError:
        return GONE
    except OSError:
        return UNKNOWN if found is None else REFUSED
    return UNKNOWN if found is None else SENT


def signal_group(leader: int, number: int) -> bool:
    """Signal everybody in a group of processes, our own if it is 0. Says whether anybody got it.

    One in which all have ended, and wait to be reaped, refuses on macOS.
    """
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
