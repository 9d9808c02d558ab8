"""Phase `throughput`: so many calls in flight at any moment, each sent by itself."""

import time
from typing import NamedTuple

from .figures import Rounds
from .fleet import Fleet
from .footprint import computed
from .gateway import ANSWER_SECONDS, Gateway, holds
from .link import LinkLostError
from .turns import Pace, turns

WINDOWS = (16, 64)
TEXT = "many at a time"
# A row this slow gets the small window once: its last answers would take most of the time.
_DIFFERENT = 1_000
SLOW_PER_SECOND = 50.0


class Rates(NamedTuple):
    """Of one row with one window, by round."""

    per_second: Rounds
    # Seconds of processor time that the row's own processes spend on a call.
    effort: Rounds


ThroughputResult = dict[str, dict[int, Rates]]


def measure_throughput(fleet: Fleet, pace: Pace, seconds: float) -> ThroughputResult:
    """By row and window."""
    found: ThroughputResult = {}
    slow: set[str] = set()
    for number, row in turns(fleet.rows, pace, fleet.session.say):
        for window in WINDOWS:
            gateway = fleet.get(row)
            if gateway is None or row.name in slow:
                continue
            pids = gateway.processes()
            before = sum(map(computed, pids))
            try:
                done, rate = rate_of(gateway, window, seconds)
            except LinkLostError as error:
                fleet.drop(row, f"throughput at {window}", error)
                continue
            rates = found.setdefault(row.name, {}).setdefault(window, Rates({}, {}))
            rates.per_second[number] = rate
            rates.effort[number] = (sum(map(computed, pids)) - before) / done
            if rate < SLOW_PER_SECOND:
                slow.add(row.name)
    return found


def rate_of(gateway: Gateway, window: int, seconds: float) -> tuple[int, float]:
    """Keep the window full; gives the calls and the calls per second. Raises LinkLostError."""
    clock, link = time.perf_counter, gateway.link
    # All different: Switchboard runs the same call once that is sent again before its answer.
    every = [gateway.call_of("echo", {"message": f"{TEXT}{each:04}"}) for each in range(_DIFFERENT)]
    name: str = every[0]["name"]
    flying: set[int] = set()
    done = 0

    def launch() -> None:
        ident, body = gateway.write("tools/call", every[(done + len(flying)) % _DIFFERENT])
        flying.add(ident)
        link.send(body, method="tools/call", name=name)

    begin = last = clock()
    end = begin + seconds
    for _ in range(window):
        launch()
    while flying:
        answer = link.receive(ANSWER_SECONDS)
        last = clock()
        if not holds(answer, TEXT):
            raise LinkLostError(f"a wrong answer: {str(answer)[:200]}")
        flying.remove(answer["id"])
        done += 1
        if last < end:
            launch()
    link.settle()
    return done, done / (last - begin)
