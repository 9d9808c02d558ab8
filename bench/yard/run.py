"""Measures the yard against its anchors, interleaved, and prints medians and ratios.

    python bench/yard/run.py [--rounds 5] [--anchors DIR] [--only starting,asking,forwarding,trees]

`DIR` holds the programs `switchyard` (switchyard-dev), `honcho` and `mprocs`, for instance the
`bin` of a virtual environment. `socat`, `wrk` and `git` come from the machine. Anchors that are
missing are named as missing.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import asking
import forwarding
import starting
import trees
from stage import Row

BASES = ("raw spawn", "raw critical path", "python -c pass", "direct", "git worktree add")


def option(name: str, usual: str) -> str:
    """The value of an option on the command line."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else usual


def table(rows: list[Row]) -> str:
    """The rows as Markdown, each held against the plainest contender of its measure."""
    bases = {row.measure: row.value for row in rows if row.contender in BASES}
    cold = next((row.value for row in rows if row.contender == "python -c pass"), None)
    lines = ["| measure | contender | median | ratio |", "|---|---|---|---|"]
    for row in rows:
        base = cold if row.measure.startswith("cold") else bases.get(row.measure)
        ratio = f"{row.value / base:.2f}" if base else ""
        shown = f"{row.value:.0f}" if row.value >= 100 else f"{row.value:.2f}"
        lines.append(f"| {row.measure} | {row.contender} | {shown} {row.unit} | {ratio} |")
    return "\n".join(lines)


def main() -> None:
    """Run what was asked for."""
    rounds = int(option("--rounds", "5"))
    anchors = Path(option("--anchors", "/nonexistent"))
    parts: dict[str, Callable[[], list[Row]]] = {
        "starting": lambda: starting.rows(rounds, anchors),
        "asking": lambda: asking.rows(rounds, anchors),
        "forwarding": lambda: forwarding.rows(rounds),
        "trees": lambda: trees.rows(rounds, anchors),
    }
    for name in ("switchyard", "honcho", "mprocs"):
        if not (anchors / name).exists():
            print(f"missing anchor: {name}", file=sys.stderr)
    rows: list[Row] = []
    for name in option("--only", ",".join(parts)).split(","):
        rows += parts[name]()
    print(table(rows))
    results = option("--save", "")
    if results:
        Path(results).write_text(json.dumps([row._asdict() for row in rows], indent=1))


main()
