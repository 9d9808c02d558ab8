"""What puts a child's process into its sandbox. Handed in: children do not know how."""

from collections.abc import Callable

from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault, FaultCode
from switchboard.procs.spawn import Wrap

# The wrap of a server, or None for one that is not to be confined. Raises a fault.
Enclose = Callable[[ServerEntry], Wrap | None]


def without_sandbox(entry: ServerEntry) -> Wrap | None:
    """For whoever has no sandbox: what is to be confined does not start."""
    if entry.sandbox_profile != "none":
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "sandbox-unavailable",
            f"`{entry.name}` runs only in a sandbox, and there is none here",
        )
    return None
