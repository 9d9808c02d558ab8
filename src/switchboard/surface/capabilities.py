"""What we tell a client that we can do, before any child has been asked."""

from typing import Any

from switchboard.core.board import Board
from switchboard.core.catalog.offers import CONTENTS
from switchboard.wire.eras import TASKS_EXTENSION

_TOOLS: dict[str, Any] = {"tools": {"listChanged": True}}
_ALL: dict[str, Any] = {
    **_TOOLS,
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
}


def capabilities_of(board: Board, *, is_modern: bool) -> dict[str, Any]:
    """What this board can do for a client of the era."""
    if is_modern and board.tasks is not None:
        return {**_beside_tasks(board), "extensions": {TASKS_EXTENSION: {}}}
    return _beside_tasks(board)


def _beside_tasks(board: Board) -> dict[str, Any]:
    """All that a child may have, where there are children; they are not started to find out."""
    if board.listing & CONTENTS:
        return _ALL
    streams = any(spec.policy.streaming for spec in board.catalog.tools.values())
    return {**_TOOLS, "logging": {}} if streams else _TOOLS
