"""What puts the processes of servers into their sandboxes, as children see it."""

from typing import Protocol

from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault, FaultCode
from switchboard.procs.spawn import Wrap


class Sandboxes(Protocol):
    """Puts the processes of servers into their sandboxes. Handed in: children do not know how."""

    def __call__(self, entry: ServerEntry, /) -> Wrap | None:
        """What does it; nothing for a server that is to have none. Raises a fault."""
        ...

    def run_folder(self, entry: ServerEntry, /) -> str:
        """Where the process of a server runs."""
        ...

    @property
    def notes(self) -> str:
        """The folder where it is noted what has to be removed after us, if there is one."""
        ...


class NoSandboxes:
    """For whoever has no sandbox: what is to be confined does not start."""

    def __call__(self, entry: ServerEntry, /) -> Wrap | None:
        if entry.sandbox_profile != "none":
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "sandbox-unavailable",
                f"`{entry.name}` runs only in a sandbox, and there is none here",
            )
        return None

    notes = ""

    def run_folder(self, entry: ServerEntry, /) -> str:
        return entry.cwd
