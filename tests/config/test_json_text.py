"""The strict JSON reader: what it takes, what it refuses, and where it points."""

import json
import math
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.requirements import requirement
from switchboard.config.json_text import MAX_DEPTH, JsonInvalid, read_json
from switchboard.config.key_positions import spot_at

_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=12), inner, max_size=6
        )
    ),
    max_leaves=40,
)


@given(value=_values, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
def test_it_reads_every_value_as_the_standard_reader_does(
    value: object, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert read_json(text).value == json.loads(text)


@given(
    text=st.text(st.sampled_from(list('{}[]",:\\u0123ntf -.eE+truefalsn\n\t\ud83d')), max_size=40)
)
def test_it_takes_nothing_that_the_standard_reader_refuses(text: str) -> None:
    refused, got = None, None
    try:
        got = read_json(text).value
    except JsonInvalid as invalid:
        refused = invalid
    if refused is None:
        assert json.loads(text) == got
    else:
        assert 0 <= refused.offset <= len(text)


@given(value=_values)
def test_every_key_is_where_it_says_it_is(value: object) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    read = read_json(text)

    def walk(node: Any, path: tuple[str | int, ...]) -> None:
        if isinstance(node, dict):
            for key, inner in cast("dict[str, Any]", node).items():
                spot = read.spots.find((*path, key))
                line = text.split("\n")[spot.line - 1]
                assert line[spot.column - 1 :].startswith(json.dumps(key, ensure_ascii=False))
                walk(inner, (*path, key))
        elif isinstance(node, list):
            for index, inner in enumerate(cast("list[Any]", node)):
                walk(inner, (*path, index))

    walk(read.value, ())


def _refusal(text: str) -> tuple[str, int, int]:
    with pytest.raises(JsonInvalid) as caught:
        read_json(text)
    spot = spot_at(text, caught.value.offset)
    return caught.value.message, spot.line, spot.column


@requirement("S4.06")
@requirement("S4.73")
@pytest.mark.parametrize("rest", ["{}", "1", "]", "x", "\n\n{}", ","])
def test_text_after_the_first_value_is_refused(rest: str) -> None:
    message, _, _ = _refusal("{}" + rest)
    assert "after the end" in message


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("{", 1, 2),
        ('{"a": 1,}', 1, 9),
        ('{"a" 1}', 1, 6),
        ("[1 2]", 1, 4),
        ("[1,]", 1, 4),
        ('{"a": tru}', 1, 7),
        ('{"a": True}', 1, 7),
        ('{\n  "a": NaN\n}', 2, 8),
        ('{\n  "a": -Infinity\n}', 2, 8),
        ('{"a": 01}', 1, 7),
        ('{"a": 1.}', 1, 7),
        ('{"a": +1}', 1, 7),
        ('{"a": 1e999}', 1, 7),
        ('{"a": "b\nc"}', 1, 9),
        ('{"a": "b\x00c"}', 1, 9),
        ('{"a": "\\x"}', 1, 8),
        ('{"a": "\\u12"}', 1, 8),
        ('{"a": "open', 1, 7),
        ('{"a": "\\ud800"}', 1, 7),
        ('{"\\udfff": 1}', 1, 2),
        ("{'a': 1}", 1, 2),
        ("['a']", 1, 2),
        ('{"a": 1} // why', 1, 10),
        ('{ // why\n"a": 1}', 1, 3),
        ("\ufeff{}", 1, 1),
        ("1" * 5_000, 1, 1),
    ],
)
def test_what_is_not_strict_json_is_refused_where_it_shows(
    text: str, line: int, column: int
) -> None:
    message, got_line, got_column = _refusal(text)
    assert message
    assert (got_line, got_column) == (line, column)


def test_nesting_has_a_limit() -> None:
    assert read_json("[" * MAX_DEPTH + "]" * MAX_DEPTH).value
    message, _, column = _refusal("[" * 100_000)
    assert "nested" in message
    assert column == MAX_DEPTH + 1


def test_a_repeated_key_is_reported_at_every_level_and_reading_goes_on() -> None:
    read = read_json('{"a": {"b": 1, "b": 2}, "c": [{"d": 1, "\\u0064": 2}], "a": 0}')
    assert [(twice.key, twice.path) for twice in read.repeated] == [
        ("b", ("a", "b")),
        ("d", ("c", 0, "d")),
        ("a", ("a",)),
    ]


def test_surrogate_pairs_join_into_one_character() -> None:
    assert read_json('"\\ud83d\\ude00"').value == "\N{GRINNING FACE}"


def test_negative_zero_and_exponents_keep_their_type() -> None:
    assert math.copysign(1, read_json("-0.0").value) == -1
    assert isinstance(read_json("1e2").value, float)
    assert isinstance(read_json("-0").value, int)
