"""Phase `latency`: one call at a time through warm gateways."""

import time

from .fleet import Fleet
from .gateway import ANSWER_SECONDS, Gateway, holds
from .link import LinkLostError
from .turns import Pace, turns

CALLS = 100
TURN_SECONDS = 0.25
TEXT = "one at a time"

LatencyResult = dict[str, dict[int, list[float]]]


def measure_latency(fleet: Fleet, pace: Pace) -> LatencyResult:
    """Seconds of each call, by row and round."""
    found: LatencyResult = {}
    for number, row in turns(fleet.rows, pace, fleet.session.say):
        gateway = fleet.get(row)
        if gateway is None:
            continue
        try:
            found.setdefault(row.name, {})[number] = _turn(gateway)
        except LinkLostError as error:
            fleet.drop(row, "latency", error)
    return found


def _turn(gateway: Gateway) -> list[float]:
    clock, link = time.perf_counter, gateway.link
    params = gateway.call_of("echo", {"message": TEXT})
    name: str = params["name"]
    samples: list[float] = []
    end = clock() + TURN_SECONDS
    while len(samples) < CALLS:
        _, body = gateway.write("tools/call", params)
        begin = clock()
        link.send(body, method="tools/call", name=name)
        answer = link.receive(ANSWER_SECONDS)
        after = clock()
        if not holds(answer, TEXT):
            raise LinkLostError(f"a wrong answer: {str(answer)[:200]}")
        samples.append(after - begin)
        link.settle()
        if after > end:
            break
    return samples
