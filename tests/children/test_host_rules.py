"""Schemas that hosts refuse are mended where they say the same afterwards, and named otherwise."""

import copy
import json
import re
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.children.listings.host_rules import judged

TEXT = {"type": "string"}


def of(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"path": TEXT}, **members}


def one(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"one": members}}


def one_of(*values: Any, **members: Any) -> dict[str, Any]:
    return one(enum=list(values), **members)


@pytest.mark.parametrize(
    ("schema", "mended"),
    [
        ({"properties": {"path": TEXT}}, of()),
        ({}, {"type": "object"}),
        (of(type=["object", "null"]), of()),
        (of(properties=None), {"type": "object"}),
        (of(required=None), of()),
        (of(required=["path", "gone"]), of(required=["path"])),
        (of(properties={"path": {**TEXT, "required": True}}), of(required=["path"])),
        (
            of(properties={"all": {"type": "array"}}),
            of(properties={"all": {"type": "array", "items": {}}}),
        ),
        (
            of(properties={"pair": {"type": "array", "items": [TEXT], "additionalItems": False}}),
            of(properties={"pair": {"type": "array", "prefixItems": [TEXT], "items": False}}),
        ),
        (one_of("a", "b"), one(type="string", enum=["a", "b"])),
        (one_of(0, 1, 2, type="number"), one(type="integer", minimum=0, maximum=2)),
        (one_of(1, type="integer"), one(type="integer", minimum=1, maximum=1)),
        (
            one_of(1, 2, 4, type="integer", description="d"),
            one(
                description="d",
                anyOf=[
                    {"type": "integer", "minimum": 1, "maximum": 2},
                    {"type": "integer", "minimum": 4, "maximum": 4},
                ],
            ),
        ),
        (one_of(True, False, type="boolean"), one(type="boolean")),
        (
            one_of("a", None, type=["string", "null"]),
            one(anyOf=[{"type": "string", "enum": ["a"]}, {"type": "null"}]),
        ),
        (
            one_of("a", "", type="string"),
            one(anyOf=[{"type": "string", "enum": ["a"]}, {"type": "string", "maxLength": 0}]),
        ),
        ({"$schema": "http://json-schema.org/draft-07/schema#", **of()}, of()),
    ],
)
def test_what_means_the_same_is_mended(schema: Any, mended: Any) -> None:
    before = copy.deepcopy(schema)
    found = judged(schema)
    assert (found.schema, found.is_mended, found.rule) == (mended, True, "")
    assert schema == before


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        (of(anyOf=[{"required": ["path"]}]), "anyOf"),
        (of(oneOf=[]), "oneOf"),
        (of(allOf=[{}]), "allOf"),
        ({"type": "string"}, "type"),
        (of(properties={"count": {"type": "int"}}), "int"),
        (of(properties={"a b": TEXT}), "names of parameters"),
        (of(properties={"x" * 65: TEXT}), "names of parameters"),
        (of(properties=["path"]), "properties"),
        (of(required="path"), "required"),
        (of(properties={"path": "string"}), "object"),
        (of(properties={"one": {"enum": []}}), "enum"),
        (of(properties={"one": {"enum": [True]}}), "enum"),
        (of(properties={"one": {"enum": [[1], [2]]}}), "enum"),
        (of(properties={"one": {"type": "string", "enum": [1, 2]}}), "enum"),
        (of(properties={"one": {"enum": [1, 3], "anyOf": [TEXT]}}), "enum"),
        (of(properties={"one": {"enum": [*range(0, 402, 2)]}}), "enum"),
        ([], "object"),
        ("text", "object"),
    ],
)
def test_what_cannot_be_mended_is_named_with_its_rule(schema: Any, word: str) -> None:
    found = judged(schema)
    assert word in found.rule
    assert found.schema == schema


def test_a_schema_that_hosts_take_is_left_as_it_is() -> None:
    schema = of(
        properties={
            "path": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "deep": {"anyOf": [TEXT, {"type": "null"}], "required": ["any"]},
            "map": {"type": "object", "additionalProperties": TEXT},
            "type": TEXT,
            "required": TEXT,
        },
        required=["path"],
        additionalProperties=False,
    )
    found = judged(json.loads(json.dumps(schema)))
    assert (found.schema, found.is_mended, found.rule) == (schema, False, "")


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from([0.5, 1.0, -2.5, 1e300]),
    st.sampled_from(["", "a", "b", "1", "true"]),
    st.just([1]),
)
KINDS = st.sampled_from([None, "string", "integer", "number", "boolean", ["string", "null"]])


@given(values=st.lists(VALUES, min_size=1, max_size=6), kind=KINDS, tried=VALUES)
def test_a_mended_enum_takes_exactly_what_it_took(values: list[Any], kind: Any, tried: Any) -> None:
    schema = one_of(*values) if kind is None else one_of(*values, type=kind)
    found = judged(schema)
    if found.rule:
        return
    before, after = (
        jsonschema_rs.is_valid(each, {"one": tried}) for each in (schema, found.schema)
    )
    assert before == after
    texts = re.findall(r'"enum": \[(.*?)\]', json.dumps(found.schema))
    assert all(each.startswith('"') and '""' not in each for each in texts)


def test_a_schema_without_end_is_refused() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(500):
        deep = {"type": "array", "items": deep}
    assert "nested" in judged(of(properties={"deep": deep})).rule
