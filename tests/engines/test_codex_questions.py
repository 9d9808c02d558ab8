"""What a person is shown of a question of Codex, where Codex itself says too little."""

from typing import Any

from switchboard.engines.codex.questions import question_of
from switchboard.engines.events import Permission


def _call(tool: str) -> dict[str, Any]:
    return {"type": "mcpToolCall", "status": "inProgress", "server": "files", "tool": tool}


_ASKS = {
    "id": 1,
    "method": "mcpServer/elicitation/request",
    "params": {"serverName": "files", "_meta": {"codex_approval_kind": "mcp_tool_call"}},
}


def test_of_two_calls_that_look_alike_both_are_named() -> None:
    items = {"a": _call("wipe"), "b": _call("read")}
    question = question_of(_ASKS, items)
    assert question is not None
    assert isinstance(question.event, Permission)
    assert question.event.subject == "files/read or wipe"


def test_a_patch_that_was_not_announced_is_not_asked_about() -> None:
    asks = {"id": 1, "method": "item/fileChange/requestApproval", "params": {"itemId": "gone"}}
    assert question_of(asks, {}) is None
    change = {"path": "a", "diff": "+b"}
    known = question_of(asks, {"gone": {"type": "fileChange", "changes": [change]}})
    assert known is not None


def test_a_patch_is_told_with_what_becomes_of_each_file() -> None:
    asks = {
        "id": 1,
        "method": "item/fileChange/requestApproval",
        "params": {"itemId": "i", "grantRoot": "/w"},
    }
    changes = [
        {"path": "new.py", "kind": {"type": "add"}, "diff": "x = 1\n"},
        {"path": "a.py", "kind": {"type": "update", "move_path": "b.py"}, "diff": "-x\n+y\n"},
        {"path": "old.py", "kind": {"type": "delete"}, "diff": ""},
    ]
    question = question_of(asks, {"i": {"type": "fileChange", "changes": changes}})
    assert question is not None
    event = question.event
    assert isinstance(event, Permission)
    assert event.text == "add new.py\nx = 1\nupdate a.py -> b.py\n-x\n+y\ndelete old.py"
    assert event.wants == "change files, and then anything below /w"


def test_what_a_command_wants_beside_running_is_said_in_the_first_line() -> None:
    params = {"command": "curl a.example", "cwd": "/w"}
    network = {"networkApprovalContext": {"protocol": "https", "host": "a.example"}}
    for more, wants in (
        ({}, ""),
        (network, "reach https://a.example from a command"),
        ({"kind": "writeStdin"}, "type into a command that runs"),
    ):
        asks = {
            "id": 1,
            "method": "item/commandExecution/requestApproval",
            "params": {**params, **more},
        }
        question = question_of(asks, {})
        assert question is not None
        assert isinstance(question.event, Permission)
        assert (question.event.wants, question.event.text) == (wants, "curl a.example")
