"""Every fuzzer runs, over its seeds and over what hypothesis makes of them."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

FUZZ = Path(__file__).parents[2] / "fuzz"
NAMES = sorted(path.stem for path in (FUZZ / "targets").glob("[a-z]*.py"))
EXAMPLES = 40


def target(name: str) -> ModuleType:
    if str(FUZZ) not in sys.path:
        sys.path.append(str(FUZZ))
    return importlib.import_module(f"targets.{name}")


@pytest.mark.parametrize("name", NAMES)
def test_what_was_found_before_stays_mended(name: str) -> None:
    for seed in target(name).SEEDS:
        target(name).check(seed)


@pytest.mark.parametrize("name", NAMES)
def test_seeds_that_are_cut_and_joined_are_read_too(name: str) -> None:
    seeds = st.sampled_from(target(name).SEEDS)

    @settings(max_examples=EXAMPLES)
    @given(seeds, st.integers(0, 200), st.binary(max_size=8), seeds)
    def check(first: bytes, at: int, between: bytes, second: bytes) -> None:
        target(name).check(first[:at] + between + second)

    check()


def test_the_page_names_every_target() -> None:
    page = (FUZZ / "README.md").read_text("utf-8")
    assert [name for name in NAMES if f"| `{name}` |" not in page] == []
