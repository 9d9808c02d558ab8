"""Phase `cold`: from the spawn to the answered greeting, listing and first call."""

import subprocess
import time
from collections.abc import Sequence
from typing import NamedTuple

from .figures import Rounds
from .gateway import echo_children
from .link import LinkLostError
from .row import Row
from .session import Session
from .turns import Pace, turns

CALL_SECONDS = 20.0
PAUSE_SECONDS = 0.01
END_SECONDS = 0.5


class ColdTimes(NamedTuple):
    """Seconds since the spawn, by round."""

    greeting: Rounds
    listing: Rounds
    call: Rounds


ColdResult = dict[str, dict[int, ColdTimes]]


def measure_cold(
    session: Session, rows: Sequence[Row], counts: Sequence[int], pace: Pace
) -> ColdResult:
    """Start every row anew in every round, with each number of children."""
    found: ColdResult = {}
    lost: set[str] = set()
    for number, row in turns(rows, pace, session.say):
        for count in counts:
            if count > row.most_children or row.name in lost:
                continue
            times = found.setdefault(row.name, {}).setdefault(count, ColdTimes({}, {}, {}))
            try:
                _start(session, row, count, number, times)
            except (LinkLostError, OSError, subprocess.SubprocessError) as error:
                session.failed(row, "cold", error)
                lost.add(row.name)
    return found


def _start(session: Session, row: Row, count: int, number: int, times: ColdTimes) -> None:
    gateway = session.gateway(row, echo_children(count), "cold")
    try:
        gateway.start()
        gateway.tools()
        listed = gateway.since_start()
        # Some gateways list before they can call; the last child is the last one they start.
        while not gateway.echoes("cold", child=f"c{count - 1}", seconds=CALL_SECONDS):
            if gateway.since_start() > CALL_SECONDS:
                raise LinkLostError("no call succeeds")
            time.sleep(PAUSE_SECONDS)
        times.call[number] = gateway.since_start()
        times.listing[number] = listed
        times.greeting[number] = gateway.greeted
    finally:
        gateway.end(patience=END_SECONDS)
