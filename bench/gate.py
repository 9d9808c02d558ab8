"""Measure what the gate adds to a call that needs no question, as a client on stdio sees it.

.venv/bin/python bench/gate.py [--quick] [--readme]

A call of a tool that only reads, through its suite, to a warm child: `switchboard mcp --in-process`
with approvals and the audit log against the same without, in turns. It fails no build.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from shim import HELLO, Client, Place

BENCH = Path(__file__).parent
README = BENCH / "README.md"
BEGIN = "<!-- gate: written by gate.py --readme -->\n"
END = "<!-- end of gate -->\n"
BLOCK = 40
WARM = 400
PROMISE = 1.15


def placed(folder: Path, *, on: bool) -> Place:
    """A workspace whose child only reads, with the flag as it is wanted."""
    place = Place(folder, "child.py")
    place.env["ENABLE_MCP_SERVER_SURFACE"] = "1" if on else "0"
    return place


def greeted(place: Place, *words: str) -> Client:
    client = place.client(*words)
    client.ask("initialize", HELLO)
    client.ask("tools/list", {})
    for _ in range(WARM):
        client.call()
    return client


def measure(rounds: int, *words: str) -> dict[bool, list[float]]:
    """The median of each block of calls, in turns, each round beginning with the other."""
    found: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        places = {on: placed(Path(folder) / str(on), on=on) for on in (False, True)}
        clients = {on: greeted(place, *words) for on, place in places.items()}
        try:
            for turn in range(rounds):
                for on in (False, True) if turn % 2 else (True, False):
                    block = [clients[on].call() for _ in range(BLOCK)]
                    found[on].append(statistics.median(block))
        finally:
            for client in clients.values():
                client.__exit__()
            if not words:
                for place in places.values():
                    place.stop()
    return found


def row(what: str, found: dict[bool, list[float]]) -> str:
    off, on = (statistics.median(found[each]) * 1e6 for each in (False, True))
    ratio = statistics.median(a / b for a, b in zip(found[True], found[False], strict=True))
    kept = "yes" if ratio <= PROMISE else "NO"
    return f"| {what} | {off:.0f} | {on:.0f} | {ratio:.3f} | ≤ {PROMISE:g} | {kept} |"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--readme", action="store_true")
    given = options.parse_args()
    rounds = 60 if given.quick else 300
    rows = [
        row("in process", measure(rounds, "--in-process")),
        row("through a warm daemon", measure(rounds)),
    ]
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    about = (
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, load at the end {load}, "
        f"{rounds} rounds of {BLOCK} calls."
    )
    head = "| read-only call, p50 | off, µs | on, µs | on ÷ off | promise | kept |"
    report = "\n".join((about, "", head, "|---|--:|--:|--:|--:|---|", *rows))
    print(report)
    if given.readme:
        before, begin, rest = README.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        README.write_text(f"{before}{begin}\n{report}\n\n{END}{after}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
