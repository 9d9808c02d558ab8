"""The manifest names every requirement once, and the mark refuses what is not in it."""

from pathlib import Path

import pytest

from support.requirements import LAST_OF_SEED, manifest, requirement
from support.requirements_record import Record, summary


def test_the_manifest_names_every_id_of_every_seed() -> None:
    expected = [
        f"S{seed}.{n:02}" for seed, last in LAST_OF_SEED.items() for n in range(1, last + 1)
    ]
    assert list(manifest()) == expected


def test_every_requirement_says_something_in_one_short_sentence() -> None:
    wordy = {req.id: req.says for req in manifest().values() if not 12 <= len(req.says) <= 160}
    assert wordy == {}


@pytest.mark.parametrize("ids", [("S2.00",), ("S2.109",), ("S2.01", "S9.01"), ("S2.1",), ()])
def test_a_mark_with_an_unknown_id_is_refused(ids: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="requirement"):
        requirement(*ids)


def test_an_id_is_proven_only_when_none_of_its_tests_fails() -> None:
    record = Record()
    record.note("a", ["S2.01", "S2.02"], passed=True)
    record.note("b", ["S2.02"], passed=False)
    assert record.proven() == ["S2.01"]


def test_a_test_fails_when_any_of_its_phases_fails() -> None:
    record = Record()
    for passed in (True, False, True):
        record.note("a", ["S2.01"], passed=passed)
    assert record.proven() == []


def test_a_partial_run_renews_only_the_tests_that_it_ran(tmp_path: Path) -> None:
    path = tmp_path / "run" / "requirements.json"
    first, second = Record(), Record()
    first.note("a", ["S2.01"], passed=True)
    first.note("b", ["S2.02"], passed=True)
    second.note("b", ["S2.02"], passed=False)
    first.save(path, afresh=True)
    second.save(path, afresh=False)
    assert Record.load(path).proven() == ["S2.01"]


def test_the_summary_counts_each_seed_and_names_what_has_no_passing_test() -> None:
    record = Record()
    record.note("a", ["S2.01"], passed=True)
    text = summary(record, missing=True)
    assert "seed 2:   1 of 108" in text
    assert "\n  S2.02 " in text
    assert "\n  S2.01 " not in text
