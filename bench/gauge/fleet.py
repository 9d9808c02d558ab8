"""All rows up side by side, warm, for the phases that measure calls."""

import subprocess
import time
from collections.abc import Iterator, Sequence

from .gateway import Gateway, echo_children
from .link import LinkLostError
from .row import Row
from .session import Session

CHILDREN = 5
READY_SECONDS = 20.0
PAUSE_SECONDS = 0.05
WARM_CALLS = 50
WARM_SECONDS = 1.0


class Fleet:
    """The gateways that came up. One that fails later is ended and left out."""

    def __init__(self, session: Session, rows: Sequence[Row]) -> None:
        self.session = session
        self._up: dict[str, Gateway] = {}
        for row in rows:
            gateway = session.gateway(row, echo_children(CHILDREN), "load")
            self._up[row.name] = gateway
            try:
                _bring_up(gateway)
            except (LinkLostError, OSError, subprocess.SubprocessError) as error:
                self.drop(row, "start", error)

    @property
    def rows(self) -> list[Row]:
        return [gateway.row for gateway in self]

    def __iter__(self) -> Iterator[Gateway]:
        return iter(list(self._up.values()))

    def get(self, row: Row) -> Gateway | None:
        return self._up.get(row.name)

    def drop(self, row: Row, phase: str, why: object) -> None:
        self.session.failed(row, phase, why)
        self._up.pop(row.name).end()

    def end(self) -> None:
        for gateway in self:
            gateway.end()
        self._up.clear()


def _bring_up(gateway: Gateway) -> None:
    gateway.start()
    gateway.tools()
    while not gateway.echoes("ready", seconds=READY_SECONDS):
        if gateway.since_start() > READY_SECONDS:
            raise LinkLostError("no call succeeds")
        time.sleep(PAUSE_SECONDS)
    end = time.perf_counter() + WARM_SECONDS
    for _ in range(WARM_CALLS):
        gateway.echoes("warm")
        if time.perf_counter() > end:
            break
