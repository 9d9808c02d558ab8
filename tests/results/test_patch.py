"""JSON Patch as RFC 6902 has it: every operation, and everything that must not apply."""

import json
from typing import Any

import pytest

from switchboard.results.patch import MOST_OPERATIONS, PatchRefused, apply, equal, read_patch

ROOM = 100_000


def patched(document: Any, *operations: dict[str, Any], room: int = ROOM) -> Any:
    alone = json.loads(json.dumps(document))
    return apply(alone, read_patch(list(operations)), most_bytes=room)


def op(name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **more}


@pytest.mark.parametrize(
    ("document", "operations", "result"),
    [
        ({"a": 1}, [op("add", "/b", value=2)], {"a": 1, "b": 2}),
        ({"a": 1}, [op("add", "/a", value=2)], {"a": 2}),
        ({"a": [1, 3]}, [op("add", "/a/1", value=2)], {"a": [1, 2, 3]}),
        ({"a": [1]}, [op("add", "/a/1", value=2)], {"a": [1, 2]}),
        ({"a": [1]}, [op("add", "/a/-", value=[2])], {"a": [1, [2]]}),
        ({"a": {}}, [op("add", "/a/-", value=1)], {"a": {"-": 1}}),
        ({"a": 1}, [op("add", "", value="whole")], "whole"),
        ({"a": 1}, [op("add", "/b", value=None)], {"a": 1, "b": None}),
        ({"a": 1, "b": 2}, [op("remove", "/a")], {"b": 2}),
        ([1, 2, 3], [op("remove", "/1")], [1, 3]),
        ({"a": [1, 2]}, [op("replace", "/a/0", value={"x": 1})], {"a": [{"x": 1}, 2]}),
        ({"a": 1}, [op("replace", "", value=[1])], [1]),
        (
            {"a": {"b": 1}, "c": {}},
            [op("move", "/c/b", **{"from": "/a/b"})],
            {"a": {}, "c": {"b": 1}},
        ),
        ([1, 2, 3], [op("move", "/2", **{"from": "/0"})], [2, 3, 1]),
        ({"a": 1}, [op("move", "/a", **{"from": "/a"})], {"a": 1}),
        (
            {"a": [1]},
            [op("copy", "/b", **{"from": "/a"}), op("add", "/b/-", value=2)],
            {"a": [1], "b": [1, 2]},
        ),
        (
            {"a": {"b": [1, "x", None]}},
            [op("test", "/a", value={"b": [1.0, "x", None]})],
            {"a": {"b": [1, "x", None]}},
        ),
        (
            {"a/b": 1, "m~n": 2},
            [op("remove", "/a~1b"), op("replace", "/m~0n", value=3)],
            {"m~n": 3},
        ),
        ({"a": 1}, [], {"a": 1}),
        ({"a": 1}, [op("remove", "/a", unknown="is ignored")], {}),
        ({"body": "x"}, [op("replace", "$.body", value="y")], {"body": "y"}),
    ],
)
def test_a_patch_changes_what_it_names(document: Any, operations: Any, result: Any) -> None:
    assert patched(document, *operations) == result


@pytest.mark.parametrize(
    "operations",
    [
        [op("remove", "/nowhere")],
        [op("replace", "/nowhere", value=1)],
        [op("add", "/nowhere/deep", value=1)],
        [op("add", "/list/9", value=1)],
        [op("add", "/list/01", value=1)],
        [op("add", "/text/0", value=1)],
        [op("remove", "/list/-")],
        [op("remove", "")],
        [op("test", "/text", value="another")],
        [op("test", "/one", value=True)],
        [op("test", "/list", value=[])],
        [op("move", "/list/0", **{"from": "/nowhere"})],
        [op("move", "/object/inner", **{"from": "/object"})],
        [op("copy", "/x", **{"from": "/nowhere"})],
        [op("add", "no pointer", value=1)],
        [op("add", "/x")],
        [op("replace", "/text")],
        [op("test", "/text")],
        [op("copy", "/x")],
        [op("move", "/x")],
        [op("merge", "/x", value=1)],
        [{"op": "add", "value": 1}],
        [{"path": "/x"}],
        ["remove /x"],
        [op("remove", "/text"), op("test", "/text", value="t")],
    ],
)
def test_a_patch_that_does_not_apply_is_refused(operations: Any) -> None:
    document = {"text": "t", "one": 1, "list": [1], "object": {"inner": 1}}
    with pytest.raises(PatchRefused, match="patch"):
        patched(document, *operations)


@pytest.mark.parametrize("patch", ["remove", {"op": "remove", "path": "/a"}, 7, None])
def test_a_patch_is_a_list(patch: Any) -> None:
    with pytest.raises(PatchRefused):
        read_patch(patch)


def test_which_operation_does_not_apply_is_named() -> None:
    with pytest.raises(PatchRefused, match=r"`patch\[1\]` \(remove /b\): nothing is at `/b`"):
        patched({"a": 1}, op("test", "/a", value=1), op("remove", "/b"))


def test_copies_of_copies_do_not_fill_the_memory() -> None:
    doubling = [op("copy", f"/{number}", **{"from": ""}) for number in range(100)]
    with pytest.raises(PatchRefused, match="too long"):
        patched({"a": "x" * 100}, *doubling)


def test_a_patch_of_very_many_operations_is_refused() -> None:
    with pytest.raises(PatchRefused, match=str(MOST_OPERATIONS)):
        read_patch([op("remove", "/a")] * (MOST_OPERATIONS + 1))


def test_a_patch_that_is_changed_by_a_later_operation_stays_as_it_was_written() -> None:
    value: dict[str, list[str]] = {"tags": []}
    changed = patched(
        {"a": 1}, op("replace", "/a", value=value), op("add", "/a/tags/-", value="new")
    )
    assert changed == {"a": {"tags": ["new"]}}
    assert value == {"tags": []}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, False, False),
        ("1", 1, False),
        ([1, [True]], [1, [True]], True),
        ([1, [True]], [1, [1]], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
    ],
)
def test_values_are_compared_as_json(one: Any, other: Any, same: bool) -> None:
    assert equal(one, other) is same
