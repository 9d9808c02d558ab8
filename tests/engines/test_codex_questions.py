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
