"""Ends our children when we are gone, however we went. Standard library only.

A separate small process, in a session of its own, that holds one end of a pipe. While we live we
tell it which processes are ours (`+PID TICKS`) and which have ended (`-PID`), and from time to time
it looks at what came of them. End of file means that we died: it asks every family that is left to
end, then makes it.
"""

import os
import select
import signal
import time

from switchboard.procs.families import Family
from switchboard.procs.table import Table

_GRACE_S = 1.0
_STEP_S = 0.02
# How often it looks. A look may take one part in fifty of its time, however many processes run.
_LOOK_S = 0.5
_REST = 50


class Watch:
    """The families that are ours, as told over a stream."""

    def __init__(self, stream: int) -> None:
        self._stream = stream
        self._pending = b""
        self._families: dict[int, Family] = {}
        # Who was nobody of ours at the last look, and who at the last two.
        self._others: frozenset[int] = frozenset()
        self._strangers: frozenset[int] = frozenset()

    def follow(self) -> None:
        """Listen and look until the other side is gone."""
        told = select.poll()
        told.register(self._stream, select.POLLIN)
        next_look = 0.0
        while True:
            left_s = max(0.0, next_look - time.monotonic())
            if told.poll(left_s * 1000 if self._families else None):
                data = os.read(self._stream, 65536)
                if not data:
                    return
                self._take(data)
            began = time.monotonic()
            if self._families and began >= next_look:
                self._look()
                took_s = time.monotonic() - began
                next_look = began + max(_LOOK_S, took_s * _REST)

    def _take(self, data: bytes) -> None:
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            number, _, ticks = line[1:].partition(b" ")
            if line[:1] == b"+":
                self._families[int(number)] = Family(int(number), int(ticks))
                self._trust_nobody()
            elif (ended := self._families.pop(int(number), None)) is not None:
                # Its leader may have ended before anybody but us saw whom it leaves behind.
                ended.kill()

    def _look(self) -> bool:
        """Say whether anybody of ours lives."""
        table = Table(self._strangers)
        living = [family.look(table) for family in self._families.values()]
        ours = (family.members for family in self._families.values())
        others = table.listed.difference(*ours)
        # One look is not enough: it may have come between the birth of a parent and of its child.
        self._strangers, self._others = others & self._others, others
        return any(living)

    def _trust_nobody(self) -> None:
        """Read about everybody at the next look."""
        self._strangers = self._others = frozenset()

    def end(self) -> None:
        """TERM, a moment of grace, KILL."""
        table = Table()
        for family in self._families.values():
            family.send(table, signal.SIGTERM)
        self._trust_nobody()
        deadline = time.monotonic() + _GRACE_S
        while self._look() and time.monotonic() < deadline:
            time.sleep(_STEP_S)
        for family in self._families.values():
            family.kill()


def main() -> None:
    """Watch standard input. Whoever ends our parent by its terminal must not end us with it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watch = Watch(0)
    watch.follow()
    watch.end()
