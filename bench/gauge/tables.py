"""The results as Markdown tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from .figures import Rounds, middle
from .our_rows import BASE, BEFORE
from .results import Results
from .throughput import WINDOWS

NONE = "–"  # noqa: RUF001 - a dash is what a table shows for nothing
MEGABYTE = 1_000_000

Found = TypeVar("Found")


def tables(results: Results) -> Iterable[str]:
    """One table per phase that was run."""
    makers = (
        (results.cold, cold_table),
        (results.latency, latency_table),
        (results.throughput, throughput_table),
        (results.memory, memory_table),
        (results.tokens, tokens_table),
    )
    for found, table in makers:
        if found:
            yield table(results)
    if any(row.name.endswith(BEFORE) for row in results.rows):
        yield before_table(results)


def cold_table(results: Results) -> str:
    heads = [
        "cold start, ms",
        *(f"{what} {count}" for count in results.counts for what in ("greet", "list", "call")),
        "list ÷ floor",
        "call 1 ÷ direct",
        "rounds",
    ]
    lines: list[list[str]] = []
    for name, by_count in _measured(results, results.cold):
        cells = [name]
        for count in results.counts:
            times: Iterable[Rounds] = by_count.get(count) or ({}, {}, {})
            cells += [_milliseconds(middle(rounds), 0) for rounds in times]
        cells.append(_number(results.listing_over_floor(name), 2))
        cells.append(_number(results.first_call_over_direct(name), 1))
        cells.append(str(max((len(times.listing) for times in by_count.values()), default=0)))
        lines.append(cells)
    return table_of(heads, lines)


def latency_table(results: Results) -> str:
    heads = ["one call at a time", "p50 ms", "p99 ms", "p50 ÷ direct", "p99 ÷ direct", "calls"]
    base = results.latency_percentile(BASE, 99)
    lines: list[list[str]] = []
    for name, rounds in _measured(results, results.latency):
        p99 = results.latency_percentile(name, 99)
        lines.append(
            [
                name,
                _milliseconds(results.latency_percentile(name, 50), 2),
                _milliseconds(p99, 2),
                _number(results.p50_over_direct(name), 1),
                _number(p99 / base if p99 and base else None, 1),
                str(sum(map(len, rounds.values()))),
            ]
        )
    return table_of(heads, lines)


def throughput_table(results: Results) -> str:
    heads = ["calls in flight"]
    for window in WINDOWS:
        heads += [f"{window}: per s", f"{window} ÷ direct", f"{window}: CPU µs"]
    lines: list[list[str]] = []
    for name, _ in _measured(results, results.throughput):
        cells = [name]
        for window in WINDOWS:
            cells.append(_number(results.rate(name, window), 0))
            cells.append(_number(results.rate_over_direct(name, window), 3))
            effort = results.effort(name, window)
            cells.append(_number(None if effort is None else effort * 1e6, 0))
        lines.append(cells)
    return table_of([*heads, "rounds"], [[*line, _rounds(results, line[0])] for line in lines])


def _rounds(results: Results, name: str) -> str:
    return str(max(len(each.per_second) for each in results.throughput[name].values()))


def memory_table(results: Results) -> str:
    heads = ["memory after a load", "process MB", "with helpers MB", "copies of a 10 MB result"]
    lines = [
        [
            name,
            _number(use.alone / MEGABYTE, 1),
            _number(use.with_helpers / MEGABYTE, 1),
            _number(use.copies, 1),
        ]
        for name, use in _measured(results, results.memory)
    ]
    return table_of(heads, lines)


def tokens_table(results: Results) -> str:
    heads = ["listing of six servers", "tools", "tokens", "÷ direct", "wire tokens", "wire bytes"]
    lines = [
        [
            name,
            str(cost.tools),
            str(cost.tokens),
            _number(results.tokens_over_direct(name), 3),
            str(cost.wire_tokens),
            str(cost.wire_bytes),
        ]
        for name, cost in _measured(results, results.tokens)
    ]
    return table_of(heads, lines)


def before_table(results: Results) -> str:
    pairs = [
        (row.name.removesuffix(BEFORE), row.name)
        for row in results.rows
        if row.name.endswith(BEFORE)
    ]
    found = {now: results.over(now, before) for now, before in pairs}
    heads = ["now ÷ before", *next(iter(found.values()))]
    return table_of(
        heads, [[now, *(_number(each, 3) for each in row.values())] for now, row in found.items()]
    )


def table_of(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns line up; all but the first are numbers."""
    cells = [heads, *lines]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    rule = [f"{'-' * (width + 1)}:" for width in widths]
    rule[0] = "-" * (widths[0] + 2)
    shown = [
        "| "
        + " | ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        + " |"
        for line in cells
    ]
    return "\n".join([shown[0], f"|{'|'.join(rule)}|", *shown[1:]])


def _measured(results: Results, found: Mapping[str, Found]) -> list[tuple[str, Found]]:
    return [(row.name, found[row.name]) for row in results.rows if row.name in found]


def _milliseconds(seconds: float | None, digits: int) -> str:
    return _number(None if seconds is None else seconds * 1000, digits)


def _number(value: float | None, digits: int) -> str:
    return NONE if value is None else f"{value:.{digits}f}"
