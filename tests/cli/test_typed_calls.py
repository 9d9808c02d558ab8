"""`call suite tool key=value`: arguments are read as the tool's schema says."""

import json
from typing import Any

import pytest

from cli.commands import switchboard
from support.workspace import Workspace, child_command
from switchboard.control.typed_arguments import typed_arguments
from switchboard.core.faults import Fault

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "loud": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"$ref": "#/$defs/size"}},
        "where": {"type": "object"},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"type": ["string", "integer"]},
        "level": {"enum": [1, 2, "all"]},
        "size": {"$ref": "#/$defs/size"},
        "any": {},
    },
    "additionalProperties": False,
    "$defs": {"size": {"type": "integer"}},
}


@pytest.mark.parametrize(
    ("pairs", "read"),
    [
        (["text=7", "count=7", "ratio=7"], {"text": "7", "count": 7, "ratio": 7}),
        (["text=a=b", "ratio=-1.5e3"], {"text": "a=b", "ratio": -1500.0}),
        (["loud=true"], {"loud": True}),
        (["text=", "either=5", "any=true"], {"text": "", "either": "5", "any": "true"}),
        (["tags=a", "tags=b"], {"tags": ["a", "b"]}),
        (['tags=["a", "b"]'], {"tags": ["a", "b"]}),
        (["sizes=1", "sizes=2", "size=3"], {"sizes": [1, 2], "size": 3}),
        (['where={"x": 1}'], {"where": {"x": 1}}),
        (["maybe=null"], {"maybe": None}),
        (["maybe=3", "level=2"], {"maybe": 3, "level": 2}),
        (["level=all"], {"level": "all"}),
        (['any:={"deep": [1, null]}', "text:=5"], {"any": {"deep": [1, None]}, "text": 5}),
    ],
)
def test_a_value_is_read_as_the_schema_says(pairs: list[str], read: dict[str, Any]) -> None:
    assert typed_arguments(pairs, SCHEMA, "tool") == read


@pytest.mark.parametrize(
    ("pairs", "message", "hint"),
    [
        (["count=many"], "`count` must be a whole number, not `many`", ""),
        (["count=1.5"], "`count` must be a whole number, not `1.5`", ""),
        (["ratio=nan"], "`ratio` must be a number, not `nan`", ""),
        (["loud=yes"], "`loud` must be `true` or `false`, not `yes`", ""),
        (["maybe=x"], "`maybe` must be a whole number or `null`, not `x`", ""),
        (["sizes=x"], "`sizes` must be a whole number, not `x`", ""),
        (["cuont=1"], "`tool` has no argument `cuont`", "did you mean `count`?"),
        (["text=a", "text=b"], "`text` is given twice", ""),
        (["=b"], "an argument has no name", "key=value"),
    ],
)
def test_what_fits_nothing_is_an_error_that_says_what_would(
    pairs: list[str], message: str, hint: str
) -> None:
    with pytest.raises(Fault) as refused:
        typed_arguments(pairs, SCHEMA, "tool")
    assert (refused.value.message, refused.value.hint) == (message, hint)


def test_what_the_tool_needs_is_asked_for_before_anybody_else_is_asked() -> None:
    schema = {**SCHEMA, "required": ["text", "count"]}
    with pytest.raises(Fault, match="`wipe` needs the argument `count`") as caught:
        typed_arguments(["text=a"], schema, "wipe")
    assert caught.value.hint == "count=VALUE"
    assert typed_arguments(["text=a"], schema, "wipe", {"count": 1}) == {"text": "a", "count": 1}


def test_a_schema_that_says_nothing_takes_text() -> None:
    assert typed_arguments(["a=1", "b:=1"], {}, "tool") == {"a": "1", "b": 1}


def test_a_server_gets_the_typed_arguments(either_workspace: Workspace) -> None:
    workspace = either_workspace
    workspace.child("slow", child_command("slow_child"))
    assert switchboard(workspace, "call", "slow", "echo", "text=42") == (0, "echo: 42\n", "")
    done = switchboard(workspace, "call", "slow_suite", "wait", "seconds=0.01", "--json")
    assert json.loads(done.out)["result"]["content"][0]["text"] == "waited 0.01 s"
    # What is typed is laid over `--args`.
    both = switchboard(workspace, "call", "slow", "wait", "--args", '{"seconds": 60}', "seconds:=0")
    assert both.out == "waited 0 s\n"
    wrong = switchboard(workspace, "call", "slow", "wait", "seconds=long", "--json")
    assert (wrong.code, wrong.report["code"]) == (2, "usage")
    assert wrong.report["message"] == "`seconds` must be a number, not `long`"
    word = switchboard(workspace, "call", "slow", "wait", "seconds=1", "more")
    assert (word.code, word.err) == (
        2,
        "error: `more` is not an argument\n\nhint: write it as `key=value`\n",
    )


def test_a_tool_of_no_suite_takes_them_too(workspace: Workspace) -> None:
    workspace.config_toml(
        "enable_mcp_server_surface = true\n"
        '[mcp.copies]\ncommand = "cat"\nrequires_approval = false\n'
        '[mcp.copies.input_schema]\ntype = "object"\n'
        'properties.count = { type = "integer" }\nproperties.text = { type = "string" }\n',
        scope="home",
    )
    done = switchboard(workspace, "call", "copies", "count=3", "text=3")
    assert json.loads(done.out) == {"count": 3, "text": "3"}
