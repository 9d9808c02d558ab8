"""Who is left of a run whose first process has just ended."""

import time
from collections.abc import Callable
from typing import NamedTuple

from switchkit.platform import Unknown
from switchkit.platform.ports import holds, listening
from switchkit.platform.processes import vitals
from switchyard.runtime.family import marked_runs
from switchyard.runtime.runs import RunRecord
from switchyard.supervisor.children import Children

_LOOK_S = 0.02
# How long a program whose first process ends has to open its port as a daemon.
_DAEMON_S = 1.0
# A program forks twice to become a daemon. After this many looks that find the same it has done so.
_SETTLED_LOOKS = 3


class Kin(NamedTuple):
    """The processes that are left, each with the time of its start, and their sessions."""

    processes: tuple[tuple[int, int], ...]
    sessions: tuple[int, ...]


def kin(run: RunRecord, children: Children, pause: Callable[[float], bool], *, waits: bool) -> Kin:
    """The processes that are left, while that can be proved.

    A program that makes itself a daemon leaves its session and may write over its variables.
    It is an orphan then, and this supervisor inherits it: it is known by the port, for which
    such a program is given a moment with `waits`. One without a port is known by its variables,
    which it still has when it has just begun. `pause` says whether nobody waits for the answer any
    more.
    """
    until = time.monotonic() + (_DAEMON_S if waits else 0.0)
    looks = same = 0
    before: set[int] = set()
    sessions: set[int] = set()
    while True:
        orphans = children.inherited()
        # One that was made while the table was read is in no table before the next.
        looks = 0 if orphans else looks + 1
        try:
            inodes = listening().get(run.port or 0, set())
        except Unknown:
            inodes = set[int]()
        marks = marked_runs()
        bound = {pid for pid in orphans if holds(pid, inodes)}
        ours = {pid for pid in orphans if marks.get(pid) == run.run_id}
        ours |= bound - marks.keys()
        # Who was ours at an earlier look is, whatever has become of its variables since.
        ours |= before & orphans.keys()
        sessions |= {one.session for pid in ours if (one := vitals(pid))}
        same = same + 1 if ours == before else 1
        before = ours
        settled = ours & bound if run.port else same >= _SETTLED_LOOKS
        if looks > 1 or settled or time.monotonic() >= until or pause(_LOOK_S):
            return Kin(
                tuple(sorted((pid, orphans[pid]) for pid in ours)),
                tuple(sorted(sessions - {0, run.pid})),
            )
