"""Numbers made from samples that were taken round by round."""

import math
import statistics
from collections.abc import Mapping, Sequence

Rounds = dict[int, float]


def middle(samples: Mapping[int, float]) -> float | None:
    """The median over the rounds."""
    return statistics.median(samples.values()) if samples else None


def percentile(samples: Sequence[float], percent: float) -> float | None:
    """The smallest sample that so many percent of all do not exceed."""
    if not samples:
        return None
    return sorted(samples)[max(0, math.ceil(len(samples) * percent / 100) - 1)]


def ratio(own: Mapping[int, float], base: Mapping[int, float]) -> float | None:
    """The median of the ratios of each round: noise that hits both in a round cancels out."""
    ratios = [own[number] / base[number] for number in own if base.get(number)]
    return statistics.median(ratios) if ratios else None
