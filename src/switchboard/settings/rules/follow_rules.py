"""What must hold of a server that follows its callers into their worktrees."""

from collections.abc import Mapping
from typing import Any

from switchboard.settings.secret_rules import Say

_HINT = "remove it, or `follow`"


def judge_follow(fields: Mapping[str, Any], transport: str, say: Say) -> None:
    """Say what of a server that is to follow keeps it from standing in a worktree."""
    if transport != "stdio":
        message = f"`follow` means nothing when `transport` is `{transport}`"
        say(("follow",), message, "remove `follow`", "error")
    if fields.get("start_in") == "neutral":
        message = "`neutral` is not allowed beside `follow`: a server that follows starts there"
        say(("start_in",), message, _HINT, "error")
    if (why := standing_fault(fields.get("scope"), fields.get("sandbox_features"))) is not None:
        at, message = why
        say((at,), message, _HINT, "error")


def standing_fault(scope: object, features: object) -> tuple[str, str] | None:
    """The key, if any, by which a server stands in no worktree, and why."""
    if scope in {"user", "singleton"}:
        words = f"`scope` must not be `{scope}` beside `follow`: one process is in one worktree"
        return "scope", words
    if features:
        return (
            "sandbox_features",
            "`sandbox_features` are not allowed beside `follow`: such a sandbox shows no worktree",
        )
    return None
