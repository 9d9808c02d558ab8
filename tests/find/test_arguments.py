"""Arguments as models write them, and what a tool gets of them."""

from typing import Any

import pytest
from msgspec import Raw
from msgspec.json import encode

from switchboard.core.faults import Fault
from switchboard.providers.find.arguments import fitted, object_of, read_calls, read_find

NULLABLE: dict[str, Any] = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
DEEP = "[" * 100_000


def schema(member: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"it": member}}


@pytest.mark.parametrize(
    ("member", "written", "meant"),
    [
        ({"type": "integer"}, "5", 5),
        ({"type": "number"}, "5.5", 5.5),
        ({"type": "boolean"}, "True", True),
        ({"type": "string"}, 5, "5"),
        ({"type": "string"}, 5.5, "5.5"),
        ({"type": "array"}, "one", ["one"]),
        ({"type": "array"}, 5, [5]),
        ({"type": "array"}, '["one"]', ["one"]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        # What may be left out is often declared so.
        (NULLABLE, "5", 5),
        (NULLABLE, "null", None),
        ({"oneOf": [{"type": "null"}, {"type": "boolean"}]}, "false", False),
        ({"type": ["integer", "null"]}, "5", 5),
        ({"type": ["string", "null"]}, 5, "5"),
        ({"type": ["array", "null"]}, "one", ["one"]),
    ],
)
def test_what_plainly_means_a_value_becomes_it(
    member: dict[str, Any], written: Any, meant: Any
) -> None:
    found = fitted({"it": written}, schema(member))["it"]
    assert (type(found), found) == (type(meant), meant)


@pytest.mark.parametrize(
    ("member", "written"),
    [
        ({"type": "integer"}, "five"),
        ({"type": "integer"}, "5.5"),
        ({"type": "string"}, True),
        ({"type": "object"}, "[1]"),
        ({"type": "object"}, '{"a":' * 100_000),
        ({"type": ["integer", "string"]}, "5"),
        ({"type": ["string", "number"]}, 5),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "5"),
        ({"anyOf": "nonsense"}, "5"),
        ({"type": 3}, "5"),
        ({}, "5"),
        (NULLABLE, None),
    ],
)
def test_what_may_be_as_it_is_or_means_nothing_else_stays(
    member: dict[str, Any], written: Any
) -> None:
    assert fitted({"it": written}, schema(member))["it"] is written


def test_what_is_nested_too_deeply_is_said_to_be() -> None:
    calls = Raw(b'{"tool": "a.b", "args": ' + DEEP.encode())
    for read in (
        lambda: object_of(DEEP),
        lambda: read_calls(calls),
        lambda: read_find(Raw(b'{"query": ' + DEEP.encode())),
    ):
        with pytest.raises(Fault) as caught:
            read()
        assert caught.value.reason == "arguments-invalid"


def test_calls_by_either_word_are_the_same() -> None:
    one, other = (
        read_calls(Raw(encode({"tool": "a.b", word: {"x": 1}}))) for word in ("args", "arguments")
    )
    assert one == other
