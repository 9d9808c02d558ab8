"""The table of processes at one moment, and the families in it. Light: the reaper imports it.

Every process that we start leads a session of its own. To its family belong the members of that
session and all descendants, those with a session of their own included. A descendant whose parent
has ended cannot be told from a stranger any more, so a family remembers whom it has seen, each with
the time of its start: a number that now belongs to somebody else is never signalled. A family may
also have a mark, a variable that its members inherit and that no stranger has.
"""

import os
from collections.abc import Iterable, Mapping
from time import monotonic

from switchkit.platform import Unknown, Vitals, signal_group
from switchkit.platform.processes import (
    SHOWS_PROCESSES,
    first_children,
    is_living_child,
    pids,
    raw_environment,
    signal_exactly,
    vitals,
)

_MOST_ANCESTORS = 64
_KILL_S = 1.0


class ProcessTable:
    """Every process, by its number, by its parent and by its session. One pass for any question."""

    def __init__(self, without: frozenset[int] = frozenset()) -> None:
        # Those left out too. To list a process costs next to nothing beside reading about it.
        self.listed = frozenset(pids())
        self.processes: dict[int, Vitals] = {}
        self._by_parent: dict[int, list[int]] = {}
        self.by_session: dict[int, list[int]] = {}
        for pid in self.listed - without:
            if (process := vitals(pid)) is not None:
                self.processes[pid] = process
                self._by_parent.setdefault(process.parent, []).append(pid)
                self.by_session.setdefault(process.session, []).append(pid)

    def has(self, pid: int, began: int) -> bool:
        """Whether this number still belongs to the process that began then."""
        return pid in self.processes and self.processes[pid].began == began

    def children(self, pid: int) -> list[int]:
        """The children of a process. Who is older than it had another parent of that number."""
        began = self.processes[pid].began
        return [
            each for each in self._by_parent.get(pid, ()) if self.processes[each].began >= began
        ]


class Family:
    """One leader of a session and those who were seen to belong to it."""

    def __init__(
        self, leader: int, began: int, mark: bytes = b"", kin: "Mapping[int, int] | None" = None
    ) -> None:
        """Take `mark` as `NAME=value`, and in `kin` who is known to belong to it, since when."""
        self._leader = leader
        self._began = began
        self._mark = b"\0" + mark + b"\0" if mark else b""
        self._known = {leader: began, **(kin or {})}
        # The sessions that members had at the last look. While one has members nobody else gets
        # its number, so whoever is in it is ours even if all whom we know there have ended since.
        self._sessions: frozenset[int] = frozenset()

    @property
    def members(self) -> frozenset[int]:
        """Who belonged to it at the last look."""
        return frozenset(self._known)

    def look(self, table: ProcessTable) -> list[Vitals]:
        """Learn who belongs to it, forget who is gone, and tell who lives."""
        leader = self._leader
        if not SHOWS_PROCESSES:
            alone = Vitals(
                leader, "?", parent=0, group=leader, session=leader, began=self._began, name=b""
            )
            # Only of our own child is it certain that the number still means it.
            return [alone] if is_living_child(leader) else []
        known = {pid: began for pid, began in self._known.items() if table.has(pid, began)}
        if self._mark:
            # Of long ago, maybe: without its leader the number of a session proves nothing.
            ours = {leader} & known.keys()
            known.update(self._marked(table, known))
        else:
            # A session is inherited or begun, never joined: one that a member is in is all ours.
            ours = {table.processes[pid].session for pid in known}
            if leader not in table.listed:
                # Nobody gets the number of a leader while its session has members.
                ours.add(leader)
        ours |= {each for each in self._sessions if each not in table.listed}
        found = [*known, *(pid for session in ours for pid in table.by_session.get(session, ()))]
        while found:
            pid = found.pop()
            process = table.processes[pid]
            known[pid] = process.began
            found += (each for each in table.children(pid) if each not in known)
            if process.session not in ours and not self._mark:
                ours.add(process.session)
                found += table.by_session[process.session]
        self._known = known
        living = [table.processes[pid] for pid in known if not table.processes[pid].is_dead]
        # Of a marked one only those that a member has begun: it may have joined a stranger's.
        self._sessions = frozenset(
            each.session for each in living if not self._mark or each.session in known
        )
        return living

    def _marked(self, table: ProcessTable, known: dict[int, int]) -> "Iterable[tuple[int, int]]":
        for pid, process in table.processes.items():
            if pid not in known and process.began >= self._began and is_marked(pid, self._mark):
                yield pid, process.began

    def send(
        self, table: ProcessTable, number: int, spared: frozenset[int] = frozenset()
    ) -> list[Vitals]:
        """Look, and signal every living member but some, once each; tell whom."""
        living = [each for each in self.look(table) if each.pid not in spared]
        # At once, so that whoever is born meanwhile in the leader's group gets it too.
        is_there = self._leader in self._known if SHOWS_PROCESSES else bool(living)
        has_leader = is_there and self._leader not in spared
        grouped = has_leader and signal_group(self._leader, number)
        for each in living:
            if not grouped or each.group != self._leader:
                signal_exactly(each.pid, each.began, number)
        return living

    def hold(self) -> None:
        """Stop the leader and its group where they are, without a look: that takes too long.

        One that ends by itself meanwhile would leave behind whom nobody has seen yet. Whoever is
        held goes on with a SIGCONT.
        """
        from signal import SIGSTOP  # noqa: PLC0415

        if SHOWS_PROCESSES and began(self._leader) == self._began:
            signal_group(self._leader, SIGSTOP)

    def kill(self, within_s: float = _KILL_S) -> list[Vitals]:
        """End every member, those that are born meanwhile included; tell who is left. Blocks.

        Bounded, because a process stuck in the kernel dies only when it comes back from there.
        """
        from signal import SIGKILL  # noqa: PLC0415

        from switchkit.exits import wait_ended  # noqa: PLC0415

        until = monotonic() + within_s
        while True:
            living = self.send(ProcessTable(), SIGKILL)
            if not living or monotonic() >= until:
                return living
            wait_ended(living, min(until, monotonic() + within_s / 5))

    def stop(self, number: int, grace_s: float, kill_s: float) -> "tuple[bool, list[Vitals]]":
        """Ask every member to end, then make those who do not. Blocks.

        Tells whether somebody had to be made to, and who is left even so.
        """
        from signal import SIGCONT  # noqa: PLC0415

        from switchkit.exits import wait_ended  # noqa: PLC0415

        living = self.send(ProcessTable(), number)
        for each in living:
            if each.is_stopped:
                signal_exactly(each.pid, each.began, SIGCONT)
        until = monotonic() + grace_s
        while living and monotonic() < until:
            wait_ended(living, until)
            living = self.look(ProcessTable())
        return (True, self.kill(kill_s)) if living else (False, [])


def is_running(pid: int) -> bool:
    """Whether there is a process of this number, ours or not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def began(pid: int) -> int:
    """When a process began, to be compared only; 0 when that cannot be known."""
    found = vitals(pid)
    return 0 if found is None else found.began


def living(pid: int) -> Vitals | None:
    """A process that runs now."""
    found = vitals(pid)
    return None if found is None or found.is_dead else found


def parent_of(pid: int) -> int:
    """The process that started another; 0 when that cannot be known."""
    found = vitals(pid)
    return 0 if found is None else found.parent


def is_gone(pid: int, began: int) -> bool:
    """Whether a process that was noted once runs no more. False where nobody can tell."""
    if pid <= 0 or began <= 0 or not SHOWS_PROCESSES:
        return False
    found = vitals(pid)
    if found is None:
        # One of another user may be hidden from us.
        return not is_running(pid)
    return found.is_dead or found.began != began


def ancestry(pid: int) -> tuple[Vitals, ...]:
    """A process and those above it that are shown, nearest first. Raises `Unknown`."""
    chain: list[Vitals] = []
    while pid > 0 and len(chain) < _MOST_ANCESTORS:
        found = living(pid)
        if found is None and chain and (parent := parent_of(chain[-1].pid)) not in (0, pid):
            # Its parent has ended meanwhile, and it has another.
            pid, found = parent, living(parent)
        if found is None:
            break
        chain.append(found)
        pid = found.parent
    if not chain:
        raise Unknown(f"the system does not tell who started process {pid}")
    return tuple(chain)


def is_whole(chain: tuple[Vitals, ...]) -> bool:
    """Whether an ancestry leaves nobody out: neither hidden ones nor those that are too many.

    The first process of all may be hidden. It is of another user then, and nobody is above it.
    """
    return bool(chain) and chain[-1].parent in (0, 1)


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs, without a look at everybody where that can be."""
    found: list[int] = []
    queue = [pid]
    while queue:
        children = children_of(queue.pop())
        found += children
        queue += children
    return found


def children_of(pid: int) -> list[int]:
    """The children of a process; of one with several threads, those of its first."""
    try:
        return first_children(pid)
    except Unknown:
        table = ProcessTable()
        return table.children(pid) if pid in table.processes else []


def program_behind(wall: int, *, is_keeper: bool = False) -> int:
    """What a sandbox runs, of which only the outer wall is known; 0 when that cannot be seen.

    The wall has one thread and one child, the first process of the namespace. That one also gets
    whoever lost its parent inside, but the program came before them. A keeper has it below itself.
    """
    below = children_of(wall)
    if not is_keeper:
        below = [grandchild for child in below for grandchild in children_of(child)]
    return min(below, key=began, default=0)


def environment(pid: int) -> dict[str, str]:
    """The variables that a process was started with; none when they are not shown."""
    try:
        raw = raw_environment(pid)
    except Unknown:
        return {}
    pairs = (os.fsdecode(each).partition("=") for each in raw.split(b"\0"))
    return {name: value for name, equals, value in pairs if equals}


def has_environment(pid: int) -> bool:
    """Whether a process shows variables: some write their title over them, and show none.

    Raises `Unknown` when we may not see them.
    """
    name, equals, _ = raw_environment(pid).partition(b"\0")[0].partition(b"=")
    return bool(equals) and name.replace(b"_", b"a").isalnum()


def is_marked(pid: int, mark: bytes) -> bool:
    """Whether a process was started with this variable, given with a zero at both ends."""
    try:
        return mark in b"\0" + raw_environment(pid)
    except Unknown:
        return False
