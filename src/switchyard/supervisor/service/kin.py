"""Who is left of a run whose first process has just ended."""

import time
from collections.abc import Callable

from switchkit.platform.ports import holds, listening
from switchyard.runtime.family import marked_runs
from switchyard.runtime.runs import RunRecord
from switchyard.supervisor.children import Children

_LOOK_S = 0.02
# How long a program whose first process ends has to open its port as a daemon.
_DAEMON_S = 1.0


def kin(
    run: RunRecord, children: Children, pause: Callable[[float], bool], *, waits: bool
) -> tuple[tuple[int, int], ...]:
    """The processes that are left, while that can be proved, each with the time of its start.

    A program that makes itself a daemon leaves its session and may write over its variables.
    It is an orphan then, and this supervisor inherits it: it is known by the port, for which
    such a program is given a moment with `waits`. `pause` says whether nobody waits for the answer
    any more.
    """
    until = time.monotonic() + (_DAEMON_S if waits and run.port else 0.0)
    looks = 0
    while True:
        orphans = children.inherited()
        # One that was made while the table was read is in no table before the next.
        looks = 0 if orphans else looks + 1
        inodes = listening().get(run.port or 0, set())
        marks = marked_runs()
        bound = {pid for pid in orphans if holds(pid, inodes)}
        ours = {pid for pid in orphans if marks.get(pid) == run.run_id}
        ours |= bound - marks.keys()
        if looks > 1 or ours & bound or time.monotonic() >= until or pause(_LOOK_S):
            return tuple(sorted((pid, orphans[pid]) for pid in ours))
