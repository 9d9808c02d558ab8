"""The digest binds everything that decides what runs, and strict reading leaves one meaning."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.ground import a_launch, a_tool
from switchboard.approvals.digest import call_digest, trust_digest
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.definition import definition_hash
from switchboard.core.catalog.tools import Policy
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.text.strict import MAX_DEPTH, canonical, read_strictly

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


def digest(launch: Launch | None = None, **more: Any) -> str:
    bound: dict[str, Any] = {
        "session": "s",
        "principal": "p",
        "cwd": "/w",
        "arguments": b"{}",
        "links": {},
        **more,
    }
    return call_digest(launch or a_launch(), **bound)


@pytest.mark.parametrize(
    "change",
    [
        {"session": "t"},
        {"principal": "q"},
        {"cwd": "/v"},
        {"arguments": b'{"a":1}'},
        {"links": {"docs/x": "/etc/passwd"}},
    ],
)
def test_whose_call_where_and_with_what_is_bound(change: dict[str, Any]) -> None:
    assert digest(**change) != digest()


@pytest.mark.parametrize(
    "change",
    [
        {"server": "other"},
        {"fingerprint": "f2"},
        {"runs": "node other.js"},
        {"sandbox": "default"},
        {"network": False},
        {"writable_roots": ("/w",)},
        {"env": {"A": "1"}},
        {"secrets": ("TOKEN",)},
        {"env_hash": "h"},
    ],
)
def test_what_is_launched_is_bound_also_for_a_session(change: dict[str, Any]) -> None:
    changed = a_launch(**change)
    assert digest(changed) != digest()
    same: dict[str, str] = {"session": "s", "principal": "p", "cwd": "/w"}
    assert trust_digest(changed, **same) != trust_digest(a_launch(), **same)


def test_the_definition_and_the_limit_are_bound() -> None:
    assert digest(a_launch(a_tool(description="x"))) != digest()
    slow = msgspec.structs.replace(a_tool(), policy=Policy(timeout_s=9))
    assert digest(a_launch(slow)) != digest()


def test_the_order_of_keys_in_a_schema_is_not_part_of_a_definition() -> None:
    one = a_tool(schema={"type": "object", "properties": {"a": {}, "b": {}}})
    two = a_tool(schema={"properties": {"b": {}, "a": {}}, "type": "object"})
    assert definition_hash(one) == definition_hash(two)


def test_a_schema_with_a_shadowed_key_is_not_the_one_without() -> None:
    plain, shadowed = a_tool(), a_tool()
    two_keys = msgspec.Raw(b'{"type":"array","type":"object"}')
    shadowed = msgspec.structs.replace(shadowed, input_schema=two_keys)
    assert definition_hash(plain) != definition_hash(shadowed)


# Reading


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":2}',
        b'{"a":{"b":1,"b":1}}',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-Infinity}',
        b'{"a":"\\ud800"}',
        b'{"\\udfff":1}',
        b'{"a":"\xff"}',
        b'\xef\xbb\xbf{"a":1}',
        b"[1]",
        b"1",
        b"",
        b'{"a":1} {"b":2}',
        b'{"a":1,}',
        b'{"a":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}",
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_two_readers_could_read_differently_is_refused(text: bytes) -> None:
    with pytest.raises(Fault) as caught:
        read_strictly(text)
    assert caught.value.code is FaultCode.INVALID_ARGUMENT
    assert caught.value.reason == "arguments-ambiguous"


def test_as_deep_as_allowed_is_read() -> None:
    text = b'{"a":' + b"[" * (MAX_DEPTH - 1) + b"]" * (MAX_DEPTH - 1) + b"}"
    assert canonical(read_strictly(text)) == text


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (b'{"a":1}', b'{"a":1.0}'),
        (b'{"a":1e2}', b'{"a":100}'),
        (b'{"a":0.1}', b'{"a":0.10000000000000000001}'),
        (b'{"a":1}', b'{"a":"1"}'),
        (b'{"a":12345678901234567890123}', b'{"a":12345678901234567890124}'),
        (b'{"a":1e999}', b'{"a":2e999}'),
    ],
)
def test_numbers_that_some_reader_tells_apart_differ(one: bytes, two: bytes) -> None:
    assert canonical(read_strictly(one)) != canonical(read_strictly(two))


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=6), VALUES))
def test_blanks_order_and_escapes_make_no_difference(value: dict[str, Any]) -> None:
    compact = json.dumps(value, ensure_ascii=False).encode()
    wide = json.dumps(dict(reversed(value.items())), indent=3).encode()
    one = canonical(read_strictly(compact))
    assert one == canonical(read_strictly(wide))
    assert json.loads(one) == value
