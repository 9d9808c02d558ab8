"""How many runs may stand above a run: an agent can call an agent, but not without end."""

from collections.abc import Mapping

from switchboard.core.faults import Fault, FaultCode

# Carried in the environment of everything that an engine starts for us.
DEPTH_VARIABLE = "SWITCHBOARD_DEPTH"
# A supervisor, its routers, their specialists, and two more.
MOST_DEPTH = 5


def depth_of(environ: Mapping[str, str]) -> int:
    """How many runs stand above a process with this environment."""
    text = environ.get(DEPTH_VARIABLE, "").strip()
    return int(text) if text.isdecimal() and len(text) < 4 else 0  # noqa: PLR2004 - no int is huge


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
