"""Every fuzzer runs, over its seeds and over what hypothesis makes of them."""

import importlib
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

FUZZ = Path(__file__).parents[2] / "fuzz"
NAMES = (
    "envelopes",
    "events",
    "frames",
    "front_matter",
    "http_heads",
    "json_files",
    "proxy_heads",
    "toml_files",
)
EXAMPLES = 40


def part(name: str) -> ModuleType:
    if str(FUZZ) not in sys.path:
        sys.path.append(str(FUZZ))
    return importlib.import_module(name)


def target(name: str) -> ModuleType:
    return part(f"targets.{name}")


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


def test_a_run_takes_every_target() -> None:
    found = sorted(path.stem for path in (FUZZ / "targets").glob("[a-z]*.py"))
    assert tuple(found) == NAMES


@pytest.mark.parametrize(("began", "ended", "is_slow"), [(3.0, 7.9, False), (3.0, 8.1, True)])
def test_only_the_time_of_the_processor_makes_a_reader_slow(
    began: float, ended: float, is_slow: bool
) -> None:
    seen: list[bytes] = []
    clock = iter((began, ended)).__next__
    check = part("slowness").bounded(seen.append, clock)
    raised = pytest.raises(AssertionError, match=r"5.1 s of the processor")
    with raised if is_slow else nullcontext():
        check(b"x")
    assert seen == [b"x"]


def test_the_page_names_every_target() -> None:
    page = (FUZZ / "README.md").read_text("utf-8")
    assert [name for name in NAMES if f"| `{name}` |" not in page] == []
