"""How many runs work at once, and for how long they are remembered."""

from typing import Literal

from msgspec import Struct

# What becomes of a run whose process was killed with us.
OnCrash = Literal["fail", "resume", "retry"]
# Of two that wait, the one with the lower number goes first.
PRIORITY = 100


class RunLimits(Struct, frozen=True, kw_only=True):
    """The `[runs]` section. Only the home may say."""

    # At once, in one process: in all, of one engine, and of one workspace. An engine takes hundreds
    # of megabytes.
    max_runs: int = 4
    max_per_engine: int = 4
    max_per_workspace: int = 4
    # Whether runs that may write in one workspace work side by side.
    parallel_writes: bool = False
    retention_days: int = 30
    # Of a team: the queue that runs wait in, and who goes first, by the names of agents.
    queue: str = "default"
    priorities: dict[str, int] = {}
