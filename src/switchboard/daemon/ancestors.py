"""How many runs of agents a process came of: what it says, and what those say that started it.

A shell can take a variable away, but not out of the process that it came of.
"""

from switchboard.ipc.environment import DEPTH_VARIABLE, depth_of
from switchkit.platform import Unknown
from switchkit.processes import ancestry, environment


def runs_above(pid: int, said: int = 0) -> int:
    """The most that anybody from this process upwards was told. Where nobody can look, `said`."""
    try:
        chain = ancestry(pid)
    except Unknown:
        return said
    return max(said, *(_told(each.pid) for each in chain))


def _told(pid: int) -> int:
    return depth_of({DEPTH_VARIABLE: environment(pid).get(DEPTH_VARIABLE, "")})
