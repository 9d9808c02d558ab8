"""Ends our children when we are gone, however we went. Light: it starts in milliseconds.

A separate small process, in a session of its own, that holds one end of a pipe. While we live we
tell it which processes are ours (`+PID BEGAN`, or `*PID BEGAN` for a keeper) and which have ended
(`-PID`), and from time to time it looks at what came of them. `=NAME=VALUE` is a variable that
marks whoever has it as ours. `!LABEL NOTE` is a container with a label of ours, `~LABEL` one that
is gone. End of file means that we died: it asks every family that is left to end, then makes it,
and has the containers removed. A keeper ends its own by itself, and is only made to if it does not.
After `?SECONDS` it makes all of them end, too, when nothing was said for so long; `.` says nothing.
`reaper_client` is our side.
"""

import os
from select import POLLIN, poll
from signal import SIG_IGN, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGTERM, signal
from time import monotonic, sleep

from switchkit.processes import Family, ProcessTable, is_marked, signal_exactly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from threading import Thread

_GRACE_S = 1.0
# A keeper needs half a second for its own grace, and then little.
_KEEPER_S = 3.0
_STEP_S = 0.02
# How often it looks. A look may take one part in fifty of its time, however many processes run.
_LOOK_S = 0.5
_REST = 50
_LONG_S = 3600.0


class FamilyWatch:
    """The families that are ours, as told over a stream."""

    def __init__(self, stream: int) -> None:
        self._stream = stream
        self._pending = b""
        self._families: dict[int, Family] = {}
        # Those of them that a keeper leads, and when it began.
        self._keepers: dict[int, int] = {}
        self._mark = b""
        # The notes of containers, by their labels.
        self._containers: dict[bytes, bytes] = {}
        # Who was nobody of ours at the last look, and who at the last two.
        self._others: frozenset[int] = frozenset()
        self._strangers: frozenset[int] = frozenset()
        # How long the other side may say nothing, if that matters, and when it last did not.
        self._silence_s = 0.0
        self._heard_at = monotonic()

    def follow(self) -> None:
        """Listen and look until the other side is gone, or silent for too long."""
        told = poll()
        told.register(self._stream, POLLIN)
        next_look = 0.0
        while True:
            left_s = max(0.0, next_look - monotonic()) if self._families else _LONG_S
            if self._silence_s:
                left_s = min(left_s, max(0.0, self._silent_until - monotonic()))
            if told.poll(left_s * 1000):
                data = os.read(self._stream, 65536)
                if not data:
                    return
                self._heard_at = monotonic()
                self._take(data)
            elif self._silence_s and monotonic() >= self._silent_until:
                # Others may be about to do what these do: there is no time for grace.
                for family in self._families.values():
                    family.kill()
                return
            began = monotonic()
            if self._families and began >= next_look:
                self._look()
                took_s = monotonic() - began
                next_look = began + max(_LOOK_S, took_s * _REST)

    @property
    def _silent_until(self) -> float:
        return self._heard_at + self._silence_s

    def _take(self, data: bytes) -> None:
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            if line[:1] == b"=":
                self._mark = b"\0" + line[1:] + b"\0"
                continue
            if line[:1] == b"?":
                self._silence_s = float(line[1:])
                continue
            if line[:1] == b".":
                continue
            if line[:1] == b"!":
                label, _, note = line[1:].partition(b" ")
                self._containers[label] = note
                continue
            if line[:1] == b"~":
                self._containers.pop(line[1:], None)
                continue
            number, _, began = line[1:].partition(b" ")
            if line[:1] in (b"+", b"*"):
                self._families[int(number)] = Family(int(number), int(began))
                self._trust_nobody()
                if line[:1] == b"*":
                    self._keepers[int(number)] = int(began)
            elif (ended := self._families.pop(int(number), None)) is not None:
                self._keepers.pop(int(number), None)
                # Its leader may have ended before anybody but us saw whom it leaves behind.
                ended.kill()

    def _look(self) -> bool:
        """Say whether anybody of ours lives."""
        table = ProcessTable(self._strangers)
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
        # Their pipes broke when we died, and they may end by that before we have seen whom they
        # have started since the last look.
        unkept = [each for pid, each in self._families.items() if pid not in self._keepers]
        for family in unkept:
            family.hold()
        table = ProcessTable()
        for family in unkept:
            family.send(table, SIGTERM)
            family.send(table, SIGCONT)
        for pid, since in self._keepers.items():
            signal_exactly(pid, since, SIGCONT)
        self._trust_nobody()
        self._wait(_GRACE_S)
        for family in unkept:
            family.kill()
        # Not before whoever started them has ended: it might start another.
        removing = self._remove_containers()
        self._wait(_KEEPER_S)
        for family in self._families.values():
            family.kill()
        self._kill_marked()
        for each in removing:
            each.join()

    def _wait(self, within_s: float) -> None:
        """Until nobody of ours lives, or the time is up."""
        deadline = monotonic() + within_s
        while self._look() and monotonic() < deadline:
            sleep(_STEP_S)

    def _remove_containers(self) -> "list[Thread]":
        if not self._containers:
            return []
        from switchkit.containers import begin_removal  # noqa: PLC0415 - few have any

        return begin_removal(self._containers.values())

    def _kill_marked(self) -> None:
        """End whoever bears our mark and was not seen to belong to anybody of ours."""
        deadline = monotonic() + _GRACE_S
        while self._mark and monotonic() < deadline:
            table = ProcessTable()
            marked = [
                each
                for each in table.processes.values()
                if not each.is_dead and is_marked(each.pid, self._mark)
            ]
            if not marked:
                return
            for each in marked:
                signal_exactly(each.pid, each.began, SIGKILL)
            sleep(_STEP_S)


def main() -> None:
    """Watch standard input. Whoever ends our parent by its terminal must not end us with it."""
    for number in (SIGINT, SIGTERM, SIGHUP):
        signal(number, SIG_IGN)
    watch = FamilyWatch(0)
    watch.follow()
    watch.end()
