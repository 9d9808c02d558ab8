"""What is written as TOML is read as the same."""

import tomllib
from datetime import date, datetime, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchkit.toml.values import toml_key, toml_value

# TOML has no lone surrogates.
TEXTS = st.text(st.characters(exclude_categories=("Cs",)))
VALUES = st.recursive(
    st.one_of(
        TEXTS,
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),
        st.dates(),
        st.times(),
        st.datetimes(),
    ),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(TEXTS, inner)),
    max_leaves=20,
)


@given(key=TEXTS, value=VALUES)
def test_a_reader_gets_what_was_written(key: str, value: object) -> None:
    assert tomllib.loads(f"{toml_key(key)} = {toml_value(value)}\n") == {key: value}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}"),
        ({"a-b": 1, "c d": ["e"]}, '{ a-b = 1, "c d" = ["e"] }'),
        ("del \x7f", '"del \\u007f"'),
        (float("inf"), "inf"),
        (date(2026, 11, 18), "2026-11-18"),
        (time(5, 30), "05:30:00"),
        (datetime(2026, 11, 18, 5, 30), "2026-11-18T05:30:00"),  # noqa: DTZ001  TOML has local times
    ],
)
def test_values_stand_on_one_line(value: object, text: str) -> None:
    assert toml_value(value) == text


def test_what_toml_cannot_say_is_refused() -> None:
    with pytest.raises(ValueError, match="null"):
        toml_value({"a": [None]})
