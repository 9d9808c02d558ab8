"""Status is computed, never remembered: every answer agrees with the process table."""

import pytest
from matrix import CASES, play
from yardlab import Lab

from support.requirements import requirement


@requirement("S1.46", "S1.72")
@pytest.mark.parametrize("name", CASES)
def test_every_answer_is_true_whatever_happened(lab: Lab, name: str) -> None:
    play(lab, name, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(300))
def test_every_answer_is_true_over_many_seeds(lab: Lab, seed: int) -> None:
    names = list(CASES)
    play(lab, names[seed % len(names)], seed)
