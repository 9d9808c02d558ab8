"""Who is measured when: every row once a round, so that noise of the machine hits all alike."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .row import Row


class Pace(NamedTuple):
    """How often and how long. Peers may take part in fewer rounds: they are slow to start."""

    rounds: int
    peer_rounds: int
    seconds: float


def turns(rows: Sequence[Row], pace: Pace, say: Callable[[str], None]) -> Iterator[tuple[int, Row]]:
    """Give rounds and rows in turn; each round begins with another row."""
    end = time.perf_counter() + pace.seconds
    step = max(1, pace.rounds // max(1, pace.peer_rounds))
    for number in range(pace.rounds):
        with_peers = number % step == 0 and number // step < pace.peer_rounds
        taking_part = [row for row in rows if with_peers or row.kind != "peer"]
        first = number % max(1, len(taking_part))
        for row in (*taking_part[first:], *taking_part[:first]):
            if time.perf_counter() > end:
                say(f"time is up in round {number + 1} of {pace.rounds}")
                return
            yield number, row
