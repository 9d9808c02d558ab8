"""Who owns a question: the process that waits for its answer, as an opaque id."""

import os

from switchkit.platform.processes import process_namespace
from switchkit.processes import is_gone, living


class ProcessOwners:
    """Processes of this machine. One of another container is never known to be gone."""

    def __init__(self) -> None:
        self._namespace = process_namespace()

    def own(self) -> str:
        """The id of this process; nothing where the system does not tell when it began."""
        this = living(os.getpid())
        return f"{this.pid}:{this.began}:{self._namespace}" if this is not None else ""

    def is_gone(self, owner: str, heard_at: float = 0.0, /) -> bool:
        """Whether an owner runs no more. False where nobody can tell."""
        del heard_at
        pid, _, rest = owner.partition(":")
        began, _, where = rest.partition(":")
        if where != self._namespace or not (pid.isdigit() and began.isdigit()):
            return False
        return is_gone(int(pid), int(began))
