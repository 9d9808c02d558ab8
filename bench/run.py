"""Measure Switchboard against the child alone, the floors and the peers; see README.md.

make bench
.venv/bin/python bench/run.py --quick
.venv/bin/python bench/run.py --peers DIR --json FILE --readme
"""

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gauge.cold import measure_cold
from gauge.fleet import Fleet
from gauge.latency import measure_latency
from gauge.memory import measure_memory
from gauge.our_rows import BASE, BEFORE, FLOOR, OUR_ROWS, switchboard_rows
from gauge.peer_rows import Missing, peer_rows
from gauge.processes import Programs
from gauge.readme import README, write_between
from gauge.results import Results
from gauge.row import Row
from gauge.session import Session
from gauge.tables import tables
from gauge.targets import verdicts
from gauge.throughput import measure_throughput
from gauge.tokens import measure_tokens
from gauge.turns import Pace

PHASES = ("cold", "latency", "throughput", "memory", "tokens")


class Plan(NamedTuple):
    """How much of everything: the whole is bounded by the seconds of the phases."""

    counts: tuple[int, ...]
    cold: Pace
    latency: Pace
    throughput: Pace
    throughput_seconds: float


FULL = Plan(
    counts=(1, 5, 10),
    cold=Pace(rounds=12, peer_rounds=3, seconds=170),
    latency=Pace(rounds=40, peer_rounds=40, seconds=90),
    throughput=Pace(rounds=12, peer_rounds=4, seconds=90),
    throughput_seconds=0.3,
)
QUICK = Plan(
    counts=(1, 10),
    cold=Pace(rounds=5, peer_rounds=1, seconds=18),
    latency=Pace(rounds=12, peer_rounds=4, seconds=9),
    throughput=Pace(rounds=3, peer_rounds=1, seconds=9),
    throughput_seconds=0.2,
)


def main() -> int:
    options = _options()
    rows = _rows(options)
    plan = QUICK if options.quick else FULL
    # A polite request to end is an exception like Ctrl-C, so that everything is ended on the way.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, Programs() as programs:
        session = Session(Path(folder), programs)
        try:
            results = _measured(session, rows, plan, options.phases, Path(folder))
        except KeyboardInterrupt:
            session.say("stopped; nothing is left running")
            return 130
    report = "\n\n".join(
        (
            _machine(),
            *tables(results),
            *(f"Failed: {who}: {why}" for who, why in session.failures.items()),
            "\n".join(("```", *(verdict.line() for verdict in verdicts(results)), "```")),
        )
    )
    print(f"\n{report}")
    if options.readme:
        write_between(README, report)
    if options.json:
        options.json.write_text(json.dumps(results.as_json(), indent=1) + "\n", "utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="less of everything, under a minute")
    parser.add_argument("--rows", metavar="PART,…", help="only rows whose name holds a part")
    parser.add_argument(
        "--phases",
        metavar="NAME,…",
        default=",".join(PHASES),
        help=f"only these: {', '.join(PHASES)}",
    )
    parser.add_argument("--peers", type=Path, metavar="DIR", help="where peers.py installed them")
    parser.add_argument(
        "--before",
        type=Path,
        metavar="VENV",
        help="measure the Switchboard of another environment in the same rounds, and compare",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--readme", action="store_true", help="put the tables into README.md")
    options = parser.parse_args()
    options.phases = options.phases.split(",")
    if unknown := set(options.phases) - set(PHASES):
        parser.error(f"no such phase: {', '.join(sorted(unknown))}")
    return options


def _rows(options: argparse.Namespace) -> list[Row]:
    """The rows to measure. The base and the floor are always there: ratios need them."""
    rows = list(OUR_ROWS)
    if options.before is not None:
        rows += switchboard_rows(options.before.absolute() / "bin", BEFORE)
    if options.peers is None:
        print("left out: the peers; install them with bench/peers.py and pass --peers DIR")
    elif options.quick and not options.rows:
        print("left out: the peers, which are slow; a quick run measures those that --rows names")
    else:
        for found in peer_rows(options.peers.resolve()):
            if isinstance(found, Missing):
                package = found.package
                print(f"left out: {package.name} ({package.source}) is not installed")
            else:
                rows.append(found)
    wanted = options.rows.split(",") if options.rows else [""]
    always = {BASE, FLOOR}
    return [row for row in rows if row.name in always or any(part in row.name for part in wanted)]


def _measured(
    session: Session, rows: Sequence[Row], plan: Plan, phases: Sequence[str], folder: Path
) -> Results:
    results = Results(rows, plan.counts)
    if "cold" in phases:
        session.say("cold")
        results.cold = measure_cold(session, rows, plan.counts, plan.cold)
    if {"latency", "throughput", "memory"} & set(phases):
        session.say("starting every row side by side")
        fleet = Fleet(session, rows)
        if "latency" in phases:
            session.say("latency")
            results.latency = measure_latency(fleet, plan.latency)
        if "throughput" in phases:
            session.say("throughput")
            results.throughput = measure_throughput(fleet, plan.throughput, plan.throughput_seconds)
        if "memory" in phases:
            session.say("memory")
            results.memory = measure_memory(fleet)
        fleet.end()
    if "tokens" in phases:
        session.say("tokens")
        results.tokens = measure_tokens(session, rows, folder / "files")
    session.say("done")
    return results


def _machine() -> str:
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    return (
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}. "
        f"Load at the end, the bench itself included: {load}."
    )


if __name__ == "__main__":
    sys.exit(main())
