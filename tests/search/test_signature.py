"""A tool in one line."""

from typing import Any

import pytest

from switchboard.search.signature import parameter_docs, signature


def of(properties: dict[str, Any], *required: str, **more: Any) -> str:
    schema = {"type": "object", "properties": properties, "required": list(required), **more}
    return signature("t", schema)


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "string"}, "string"),
        ({"type": "integer", "default": 5}, "int = 5"),
        ({"type": ["string", "null"]}, "string|null"),
        ({"enum": ["a", "b"]}, '"a"|"b"'),
        ({"const": 3}, "3"),
        ({"type": "array", "items": {"type": "number"}}, "number[]"),
        ({"type": "array", "items": {"enum": [1, 2]}}, "(1|2)[]"),
        ({"type": "array"}, "any[]"),
        ({"anyOf": [{"type": "string"}, {"type": "boolean"}]}, "string|bool"),
        ({"allOf": [{"type": "string"}]}, "string"),
        ({"allOf": [{"type": "string"}, {"maxLength": 3}]}, "any"),
        ({"type": "object", "properties": {"b": {"type": "string"}}}, "{b?: string}"),
        ({"type": "object", "additionalProperties": True}, "{[key]: any}"),
        ({"$ref": "#/$defs/kind"}, '"x"|"y"'),
        ({"$ref": "#/$defs/self"}, "any"),
        ({"$ref": "http://127.0.0.1/schema"}, "any"),
        ({}, "any"),
        ("no schema", "any"),
        ({"type": "string", "default": "x" * 100}, "string"),
        ({"enum": list(range(20))}, "0|1|2|3|4|5|6|7|…"),
    ],
)
def test_a_parameter_is_written_as_its_type(schema: Any, written: str) -> None:
    defs = {"kind": {"enum": ["x", "y"]}, "self": {"$ref": "#/$defs/self"}}
    assert of({"a": schema}, **{"$defs": defs}) == f"t(a?: {written})"


def test_what_must_be_given_comes_first_and_has_no_question_mark() -> None:
    string = {"type": "string"}
    assert of({"a": string, "b": string}, "b") == "t(b: string, a?: string)"


def test_a_name_that_is_no_word_is_quoted() -> None:
    assert of({"a-b": {"type": "string"}}) == 't("a-b"?: string)'


@pytest.mark.parametrize(
    "schema", [None, 3, [], {"properties": 3}, {"properties": {"a": None}, "required": 3}]
)
def test_no_shape_of_a_schema_is_too_odd(schema: object) -> None:
    assert signature("t", schema).startswith("t(")


def test_a_schema_of_any_size_has_a_line_of_bounded_length() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(500):
        deep = {"type": "object", "properties": {"a": deep}}
    wide = {f"p{k}": {"type": "string"} for k in range(5_000)}
    assert len(signature("t", deep)) < 100
    assert of(wide).endswith("… 4960 more)")


def test_parameters_say_what_they_are_for() -> None:
    schema = {
        "properties": {"a": {"description": "  where\n to  "}, "b": {}, "c": {"description": 3}}
    }
    assert parameter_docs(schema) == ["a: where to"]
