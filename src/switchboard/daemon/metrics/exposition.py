"""Figures in the text format of Prometheus, version 0.0.4."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[tuple[str, str], ...]


class MetricFamily(Struct, frozen=True):
    """One figure and its values, by their labels."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    about: str
    values: Mapping[Labels, "float | Histogram"]


class Histogram:
    """How many values were at most so large, for some sizes."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        # The last is for those beyond all bounds.
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str, labels: Labels) -> Iterator[str]:
        below = 0
        for bound, count in zip((*self.bounds, None), self.counts, strict=True):
            below += count
            limit = "+Inf" if bound is None else f"{bound:g}"
            yield f"{name}_bucket{_shown((*labels, ('le', limit)))} {below}"
        yield f"{name}_sum{_shown(labels)} {self.total:.6f}"
        yield f"{name}_count{_shown(labels)} {below}"


def written(families: Iterable[MetricFamily]) -> str:
    """Everything as one text."""
    return "".join(f"{line}\n" for family in families for line in _lines(family))


def single(value: float) -> dict[Labels, float]:
    """A value without labels."""
    return {(): value}


def _lines(family: MetricFamily) -> Iterator[str]:
    yield f"# HELP {family.name} {family.about}"
    yield f"# TYPE {family.name} {family.kind}"
    for labels, value in sorted(family.values.items(), key=lambda item: item[0]):
        if isinstance(value, Histogram):
            yield from value.lines(family.name, labels)
        else:
            yield f"{family.name}{_shown(labels)} {value:.15g}"


def _shown(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
