"""Waiting for a service that somebody has started. Reads only."""

import time
from typing import TYPE_CHECKING

from switchyard.project.scope import ProjectScope
from switchyard.queries.services import where

if TYPE_CHECKING:
    from switchyard.runtime.service_row import ServiceRow

USUAL_WAIT_S = 30
_POLL_S = 0.05
_ON_ITS_WAY = ("starting", "waiting", "restarting", "unhealthy")


def wait_for(
    scope: ProjectScope, service: str, branch: str | None, timeout_s: float
) -> "dict[str, ServiceRow]":
    """The service as `where` tells it, once it is ready or has ended, or when time is up."""
    until = time.monotonic() + timeout_s
    while True:
        found = where(scope, service, branch)
        if found["service"]["phase"] not in _ON_ITS_WAY or time.monotonic() >= until:
            return found
        time.sleep(_POLL_S)
