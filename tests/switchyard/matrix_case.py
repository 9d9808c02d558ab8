"""One row of the status-truth matrix: what is done to a running project, and what is then true."""

import contextlib
import os
import random
import signal
from collections.abc import Callable
from typing import NamedTuple

from yardlab import Json, Lab

SERVE = '[services.web]\ncommand = [SVC, "serve"]\nport = 0\n'


class Expected(NamedTuple):
    """What the answers must say. A set of phases where the moment decides between two."""

    status: str
    phases: tuple[str, ...]
    reason: str | None = None


READY = Expected("running", ("ready",))


class Case(NamedTuple):
    """One way in which the world may go wrong.

    `CANONICAL` in its configuration is a free port. A second service is called `other`.
    """

    harm: Callable[[Lab, Json, random.Random], Expected]
    config: str = SERVE
    waits: bool = True


def end(pid: int) -> None:
    """Kill a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
