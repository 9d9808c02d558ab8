"""How many runs may stand above a run: an agent can call an agent, but not without end."""

from switchboard.core.faults import Fault, FaultCode

# A supervisor, its routers, their specialists, and two more.
MOST_DEPTH = 5


def check_depth(depth: int) -> None:
    """Refuse a run with too many above it."""
    if depth >= MOST_DEPTH:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "agents-too-deep",
            f"{depth} runs of agents already stand above this one, and {MOST_DEPTH} is the most:"
            " an agent probably calls itself through another one",
            hint="do the task directly instead of calling an agent",
        )
