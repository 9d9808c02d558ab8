"""The closing check: what the project has promised, against what the run has found."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from .memory import RESULT_BYTES
from .our_rows import OURS
from .results import Results

MEGABYTE = 1_000_000


class Verdict(NamedTuple):
    """One promise. `value` is None where the run has nothing to judge it by."""

    promise: str
    limit: str
    value: str | None
    kept: bool

    def line(self) -> str:
        if self.value is None:
            return f"----  {self.promise}: not measured"
        word = "PASS" if self.kept else "MISS"
        return f"{word}  {self.promise}: {self.value} (wanted {self.limit})"


def verdicts(results: Results) -> Iterator[Verdict]:
    """Judge the row `switchboard stdio`."""
    most = results.counts[-1]
    yield _at_most(
        f"cold list with {most} children over the asyncio floor",
        results.listing_over_floor(OURS),
        1.6,
        "{:.2f}",
    )
    yield _ahead(
        f"cold list with {most} children, ms, ahead of every peer",
        results,
        lambda row: _median_listing(results, row, most),
    )
    yield _at_most("p50 of a call over direct", results.p50_over_direct(OURS), 4.5, "{:.2f}")
    yield _ahead(
        "p99 of a call, ms, no worse than the best peer's",
        results,
        lambda row: results.latency_percentile(row, 99),
    )
    yield _at_least(
        "calls per second with 64 in flight over direct",
        results.rate_over_direct(OURS, 64),
        0.35,
        "{:.3f}",
    )
    memory = results.memory.get(OURS)
    yield _at_most(
        "memory without children but with the reaper, MB",
        memory.with_helpers / MEGABYTE if memory else None,
        40,
        "{:.1f}",
    )
    yield _at_most(
        f"copies of a result of {RESULT_BYTES // MEGABYTE} MB",
        # Whole copies: the rest is what any call needs.
        round(memory.copies, 1) if memory and memory.copies else None,
        3,
        "{:.1f}",
    )
    share = results.tokens_over_direct(OURS)
    yield _at_least(
        "tokens that the listing saves, percent",
        None if share is None else 100 * (1 - share),
        90,
        "{:.1f}",
    )


def _median_listing(results: Results, row: str, count: int) -> float | None:
    times = sorted(results.listing(row, count).values())
    return times[len(times) // 2] if times else None


def _at_most(promise: str, value: float | None, limit: float, form: str) -> Verdict:
    shown = None if value is None else form.format(value)
    return Verdict(promise, f"at most {limit}", shown, value is not None and value <= limit)


def _at_least(promise: str, value: float | None, limit: float, form: str) -> Verdict:
    shown = None if value is None else form.format(value)
    return Verdict(promise, f"at least {limit}", shown, value is not None and value >= limit)


def _ahead(promise: str, results: Results, figure: Callable[[str], float | None]) -> Verdict:
    own = figure(OURS)
    peers = {
        row.name: seconds
        for row in results.rows
        if row.kind == "peer" and (seconds := figure(row.name)) is not None
    }
    if own is None or not peers:
        return Verdict(promise, "", None, kept=False)
    best = min(peers, key=lambda name: peers[name])
    limit = f"at most {1000 * peers[best]:.2f} of {best}"
    return Verdict(promise, limit, f"{1000 * own:.2f}", own <= peers[best])
