"""A process that we started and whatever came of it. Standard library only: the warden imports it.

Every process we start leads a session of its own. To its family belong the members of that session
and all descendants, those with a session of their own included. A descendant whose parent has ended
cannot be told from a stranger any more, so a family remembers whom it has seen, each with the time
of its start: a number that now belongs to somebody else is never signalled.
"""

import contextlib
import os
import signal
import time

from switchboard.procs.table import IS_SHOWN, Table, read_process

_KILL_ROUNDS = 100
_KILL_PAUSE_S = 0.01


class Family:
    """One leader of a session and those who were seen to belong to it."""

    def __init__(self, leader: int, ticks: int) -> None:
        self._leader = leader
        self._known = {leader: ticks}

    @property
    def members(self) -> frozenset[int]:
        """Who belonged to it at the last look."""
        return frozenset(self._known)

    def look(self, table: Table) -> list[int]:
        """Learn who belongs to it, forget who is gone, and tell who lives."""
        if not IS_SHOWN:
            return [self._leader] if _is_alive(self._leader) else []
        known = {pid: ticks for pid, ticks in self._known.items() if table.has(pid, ticks)}
        # A session is inherited or begun, never joined: one that a member is in is all ours.
        ours = {table.processes[pid][1] for pid in known}
        if self._leader not in table.listed:
            # Nobody gets the number of a leader while its session has members.
            ours.add(self._leader)
        found = [*known, *(pid for session in ours for pid in table.by_session.get(session, ()))]
        while found:
            pid = found.pop()
            _, session, known[pid], _ = table.processes[pid]
            found += (each for each in table.children(pid) if each not in known)
            if session not in ours:
                ours.add(session)
                found += table.by_session[session]
        self._known = known
        return [pid for pid in known if not table.processes[pid][3]]

    def send(self, table: Table, number: int, spared: frozenset[int] = frozenset()) -> bool:
        """Look, and signal every member but some; say whether there was one."""
        living = [pid for pid in self.look(table) if pid not in spared]
        for pid in living:
            _signal(pid, self._known[pid], number)
        if self._leader in self._known and self._leader not in spared:
            # At once, so whoever is born meanwhile in the leader's group gets it too.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._leader, number)
        return bool(living)

    def kill(self) -> None:
        """End every member, those that are born meanwhile included. Blocks for a moment."""
        # Bounded, because a process stuck in the kernel dies only when it comes back from there.
        for _ in range(_KILL_ROUNDS):
            if not self.send(Table(), signal.SIGKILL):
                return
            time.sleep(_KILL_PAUSE_S)


def _signal(pid: int, ticks: int, number: int) -> None:
    """Signal exactly the process that began then."""
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):
        _signal_by_number(pid, ticks, number)
        return
    try:
        # What the handle stands for cannot change any more, so this is the last look.
        process = read_process(pid)
        if process is not None and process[2] == ticks:
            signal.pidfd_send_signal(handle, number)
    except OSError:
        return
    finally:
        os.close(handle)


def _signal_by_number(pid: int, ticks: int, number: int) -> None:
    process = read_process(pid)
    if IS_SHOWN and (process is None or process[2] != ticks):
        return
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
