"""Ends our children when we are gone, however we went. Standard library only.

A separate small process, in a session of its own, that holds one end of a pipe. While we live we
tell it which sessions are ours (`+PID TICKS`) and which have ended (`-PID`). End of file means that
we died: it asks every session that is left to end, then makes it.
"""

import os
import signal
import time

from switchboard.procs import sessions

_GRACE_S = 1.0
_STEP_S = 0.02


def watch(stream: int) -> dict[int, int]:
    """Read until the other side is gone; return the sessions that were still ours."""
    ours: dict[int, int] = {}
    pending = b""
    while data := os.read(stream, 65536):
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            session, _, ticks = line[1:].partition(b" ")
            if line[:1] == b"+":
                ours[int(session)] = int(ticks)
            else:
                ours.pop(int(session), None)
    return ours


def end(ours: dict[int, int]) -> None:
    """TERM, a moment of grace, KILL."""
    # A number that now belongs to somebody else is left alone.
    left = [sid for sid, ticks in ours.items() if sessions.start_ticks(sid) in {ticks, None}]
    for session in left:
        sessions.send(session, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_S
    while time.monotonic() < deadline and any(sessions.members(session) for session in left):
        time.sleep(_STEP_S)
    for session in left:
        sessions.kill(session)


def main() -> None:
    """Watch standard input. Whoever ends our parent by its terminal must not end us with it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    end(watch(0))
