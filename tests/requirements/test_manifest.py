"""The manifests name every requirement and attack once, and marks refuse what is not in them."""

import re
from pathlib import Path

import pytest

from support.requirements import (
    ATTACKS,
    LAST_OF_SEED,
    RULES,
    SINGLE_ATTACKS,
    attack,
    attacks,
    manifest,
    requirement,
)
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


def test_the_manifest_names_every_attack() -> None:
    counted = [f"{kind}{n}" for kind, last in ATTACKS.items() for n in range(1, last + 1)]
    assert list(attacks()) == [*counted, *SINGLE_ATTACKS]
    assert {id_ for id_, each in attacks().items() if not 12 <= len(each.says) <= 100} == set()


def test_for_each_rule_an_attack_was_invented() -> None:
    invented = {id_: each.rules for id_, each in attacks().items() if id_.startswith("T")}
    assert {id_ for id_, rules in invented.items() if not rules} == set()
    assert set().union(*invented.values()) == set(range(1, RULES + 1))
    assert {id_ for id_, each in attacks().items() if each.rules} == set(invented)


@pytest.mark.parametrize("ids", [("B0",), ("B33",), ("B1", "S2.01"), ()])
def test_a_mark_with_an_unknown_attack_is_refused(ids: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="attack"):
        attack(*ids)


def test_every_attack_has_a_test() -> None:
    """That they pass is for the record of a whole run to say, which fails without."""
    tests = Path(__file__).parents[1]
    marks = (
        mark
        for path in tests.rglob("*.py")
        if "node" not in path.relative_to(tests).parts
        for mark in re.findall(r"^\s*@attack\(([^)]*)\)", path.read_text("utf-8"), re.MULTILINE)
    )
    marked = {id_ for mark in marks for id_ in re.findall(r'"(\w+)"', mark)}
    assert [id_ for id_ in attacks() if id_ not in marked] == []


def test_a_whole_run_names_the_attacks_that_no_test_has_shown_to_fail() -> None:
    record = Record()
    record.note("a", ["B1", "B2"], passed=True)
    record.note("b", ["B2"], passed=False)
    assert record.open_attacks()[:2] == ["B2", "B3"]
    assert f"attacks: 1 of {len(attacks())} have a passing test" in summary(record, missing=True)
