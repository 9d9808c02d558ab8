"""Reckon how many gateways, and what database, so many people need; see docs/scale.md.

    .venv/bin/python bench/fleet.py [--people 10000]

What one call costs was measured (`bench/team.py`, `bench/http_road.py --sessions`). How people
work is assumed, and stands below. The busiest second of a quarter of an hour is found by having
each of them work; the same people give the same figures each time.
"""

import argparse
import math
import random
import sys
from collections import Counter
from typing import NamedTuple


class Measured(NamedTuple):
    """What was measured of one gateway and one PostgreSQL on two cores."""

    gateway_s: float = 184e-6
    database_s: float = 22e-6
    log_bytes: int = 1_470
    kept_bytes: int = 1_478
    session_bytes: int = 17 * 1_024
    connections: int = 8


class Assumed(NamedTuple):
    """How people work, and how much room is left."""

    # Of all people in the busiest hour; each has one client with a session.
    at_work: float = 0.4
    # An agent makes so many calls one after the other, then its user thinks.
    calls: int = 12
    between_s: float = 2.5
    thinks_s: float = 90.0
    # A call that asks costs as much as so many others, and one in so many does.
    asks_every: int = 20
    asking_costs: float = 4.0
    # Of clients that have a session: their requests go over another gateway, but for one in N.
    with_session: float = 0.7
    # What a request that is passed on costs whoever passes it on, in calls.
    passing_costs: float = 1.0
    # How much of a core may be in use in the busiest second, one gateway being away.
    full: float = 0.5
    runs_an_hour: float = 1.0
    run_s: float = 240.0
    runs_a_worker: int = 8
    hours_a_day: float = 8.0
    days_kept: int = 90


MEASURED, ASSUMED = Measured(), Assumed()
SECONDS = 900
WORKER_CONNECTIONS = 10


class Needs(NamedTuple):
    """What so many people need."""

    people: int
    average: float
    busiest: int
    gateways: int
    used: float
    sessions_mb: float
    workers: int
    connections: int
    database_cores: float
    log_mb_s: float
    kept_gb: float


def calls_by_second(people: int, how: Assumed, seconds: int = SECONDS) -> Counter[int]:
    """Have everybody work; gives how many calls begin in which second."""
    chance = random.Random(people)
    found: Counter[int] = Counter()
    for _ in range(round(people * how.at_work)):
        # Somewhere in what they do.
        now = -chance.random() * (how.thinks_s + how.calls * how.between_s)
        while now < seconds:
            for _ in range(how.calls):
                if 0 <= now < seconds:
                    found[int(now)] += 1
                now += chance.expovariate(1 / how.between_s)
            now += chance.expovariate(1 / how.thinks_s)
    return found


def needs(people: int, cost: Measured = MEASURED, how: Assumed = ASSUMED) -> Needs:
    """Find the fewest gateways that leave the room which is wanted when one of them is away."""
    found = calls_by_second(people, how)
    busiest, average = max(found.values()), found.total() / SECONDS
    asking = 1 + (how.asking_costs - 1) / how.asks_every

    def used(serving: int) -> float:
        passed_on = how.with_session * (serving - 1) / serving * how.passing_costs
        return busiest / serving * cost.gateway_s * (asking + passed_on)

    gateways = next(n for n in range(2, 10_000) if used(n - 1) <= how.full)
    at_work = people * how.at_work
    workers = math.ceil(at_work * how.runs_an_hour * how.run_s / 3600 / how.runs_a_worker)
    a_day = average * asking * how.hours_a_day * 3600
    return Needs(
        people=people,
        average=average,
        busiest=busiest,
        gateways=gateways,
        used=used(gateways),
        sessions_mb=at_work * cost.session_bytes / gateways / 1e6,
        workers=workers,
        connections=gateways * cost.connections + workers * WORKER_CONNECTIONS,
        database_cores=busiest * asking * cost.database_s,
        log_mb_s=busiest * asking * cost.log_bytes / 1e6,
        kept_gb=a_day * cost.kept_bytes * how.days_kept / 1e9,
    )


def table(*counts: int) -> str:
    """The rows of the page."""
    head = "| people | calls a second: on average, in the busiest | gateways (one may be away)"
    head += " | of a core each uses, all there | sessions, MB each | workers | connections"
    head += " | cores of the database | its log, MB/s | kept in 90 days, GB |"
    lines = [head, "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    return "\n".join((*lines, *(_row(needs(count)) for count in counts)))


def _row(each: Needs) -> str:
    return (
        f"| {each.people:,} | {each.average:.0f}, {each.busiest} | {each.gateways}"
        f" | {each.used:.2f} | {each.sessions_mb:.0f} | {each.workers} | {each.connections}"
        f" | {each.database_cores:.3f} | {each.log_mb_s:.2f} | {each.kept_gb:.0f} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--people", type=int, action="append")
    print(table(*(parser.parse_args().people or (100, 1_000, 10_000))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
