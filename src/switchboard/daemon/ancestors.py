"""The runs of agents that a process came of: how many, and for whom the nearest one works.

What a process says of itself counts, and what those say that started it: a shell can take a
variable away, but not out of the process that it came of.
"""

from typing import TYPE_CHECKING

from msgspec import Struct

from switchboard.ipc.environment import DEPTH_VARIABLE, depth_of
from switchkit.platform import Unknown
from switchkit.processes import ancestry, environment, is_gone

if TYPE_CHECKING:
    from switchboard.runs.service import RunService


def runs_above(pid: int, said: int = 0) -> int:
    """The most that anybody from this process upwards was told. Where nobody can look, `said`."""
    try:
        chain = ancestry(pid)
    except Unknown:
        return said
    return max(said, *(_told(each.pid) for each in chain))


def _told(pid: int) -> int:
    return depth_of({DEPTH_VARIABLE: environment(pid).get(DEPTH_VARIABLE, "")})


class Acting(Struct, frozen=True, kw_only=True):
    """For whom a process acts that an agent started: nobody, unless said otherwise."""

    # The agent and its run.
    words: str = ""
    # The processes that had the run done.
    pids: tuple[int, ...] = ()


NOBODY = Acting()


def acting_for(pid: int, runs: "RunService | None") -> Acting:
    """For whom a process acts, by the engine that it came of. Where nobody can look, for nobody."""
    if runs is None:
        return NOBODY
    try:
        chain = ancestry(pid)
    except Unknown:
        return NOBODY
    run = runs.of_process(each.pid for each in chain)
    if run is None:
        return NOBODY
    return Acting(
        words=f"agent {run.spec.agent}, run {run.id}",
        pids=tuple(each for each, since in run.spec.on_behalf_of if not is_gone(each, since)),
    )
