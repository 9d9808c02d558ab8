"""What was lost on the way, and the tables that show it."""

from collections.abc import Sequence
from typing import NamedTuple

from conformance.suite import Outcome


class Row(NamedTuple):
    """One scenario in one version, by the ways that it was run."""

    scenario: str
    version: str
    outcomes: dict[str, Outcome]


def is_lost(before: Outcome, after: Outcome) -> bool:
    """Tell whether a scenario that passed now fails, or one that failed now fails worse."""
    if before.passes:
        # A scenario without a single success had nothing to look at.
        return not after.passes or bool(before.succeeded() and not after.succeeded())
    return bool(after.problem and not before.problem) or bool(after.failed() - before.failed())


def weaker(before: Outcome, after: Outcome) -> list[str]:
    """Name the checks that succeeded before and do no longer, though the scenario passes."""
    return sorted(before.succeeded() - after.succeeded()) if after.passes else []


def cell(outcome: Outcome) -> str:
    good, bad, warned = (outcome.counted(s) for s in ("SUCCESS", "FAILURE", "WARNING"))
    text = f"{good}/{good + bad}"
    if warned:
        text += f" {warned} warned"
    if not outcome.passes:
        text += " FAILS"
    return text + " *" * outcome.again


def table(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Lay the rows out in columns; what a way was not run in stays empty."""
    lines = [["scenario", "version", *columns]]
    lines += [
        [
            row.scenario,
            row.version,
            *(cell(row.outcomes[c]) if c in row.outcomes else "" for c in columns),
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = [
        "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True))
        for line in lines
    ]
    if any(outcome.again for row in rows for outcome in row.outcomes.values()):
        shown.append("* on its second run, alone")
    return "\n".join(line.rstrip() for line in shown)


def why(row: Row, column: str) -> str:
    """Say what a scenario did not like."""
    outcome = row.outcomes[column]
    bad = [check for check in outcome.checks if check.status in ("FAILURE", "WARNING")]
    said = [outcome.problem] if outcome.problem else []
    said += [f"{check.id}: {check.message or check.status}" for check in bad]
    head = f"{row.scenario} {row.version} ({column})"
    return "\n".join([head, *(f"    {line}" for line in said)])
