"""The layout of a wrapper: a child file that points to a script, and the child behind it.

.switchboard/mcps/NAME/.mcp.json                  runs the script
.switchboard/mcps/NAME/NAME-claude-wrapper.mjs    the script
.switchboard/mcps/NAME/CLAUDE.md                  what a model is told of the child
.switchboard/mcps/NAME/original/.mcp.json         the child as it was
"""

import os
from collections.abc import Mapping
from typing import Any, cast

from switchboard.config.documents import Document, read_json_document
from switchboard.config.problems import Problem

CHILD_FILE = ".mcp.json"
INSTRUCTIONS = "CLAUDE.md"
ORIGINAL = "original"
# What the file in front says of the child. Everything else is as the original has it.
_WORDS = ("name", "description", "switchboardDescription")


def script_name(name: str) -> str:
    """The script of the wrapper of a child."""
    return f"{name}-claude-wrapper.mjs"


def is_wrapper(document: Document) -> bool:
    """Whether a child file runs the script of a wrapper."""
    name, command = document.tree.get("name"), document.tree.get("command")
    if not isinstance(name, str) or not isinstance(command, dict):
        return False
    args = cast("Mapping[str, Any]", command).get("args")
    if not isinstance(args, list) or len(cast("list[Any]", args)) != 1:
        return False
    script = cast("list[Any]", args)[0]
    if not isinstance(script, str) or "\0" in script:
        return False
    folder = os.path.dirname(document.path)
    wanted = os.path.join(folder, script_name(name.strip()))
    return os.path.normpath(os.path.join(folder, script)) == os.path.normpath(wanted)


def original_of(document: Document, workspace: str, problems: list[Problem]) -> Document | None:
    """The file of the child behind a wrapper. Says why there is none."""
    path = os.path.join(os.path.dirname(document.path), ORIGINAL, CHILD_FILE)
    found = len(problems)
    original = read_json_document(path, document.scope, problems, within=workspace)
    if original is None:
        if len(problems) == found:
            problems.append(
                Problem(
                    path=document.path,
                    message=f"this runs a wrapper, and `{ORIGINAL}/{CHILD_FILE}` is not there",
                    hint="put the file of the child itself there, or run it without a wrapper",
                )
            )
        return None
    if is_wrapper(original) or _is_wrapped_again(original):
        problems.append(
            Problem(path=path, message="a wrapper stands behind a wrapper; one is enough")
        )
        return None
    return original


def _is_wrapped_again(original: Document) -> bool:
    command = original.tree.get("command")
    args = cast("Mapping[str, Any]", command).get("args") if isinstance(command, dict) else None
    words = cast("list[Any]", args) if isinstance(args, list) else []
    return any(isinstance(word, str) and word.endswith(script_name("")) for word in words)


def wrapper_words(document: Document) -> dict[str, Any]:
    """What the file in front of a child says of it."""
    return {key: document.tree[key] for key in _WORDS if isinstance(document.tree.get(key), str)}


def is_original(path: str) -> bool:
    """Whether a child file is one that stands behind a wrapper."""
    return path.endswith(os.path.join(os.sep, ORIGINAL, CHILD_FILE))


def wrapper_above(path: str) -> str:
    """The file in front of such a child."""
    return os.path.join(os.path.dirname(os.path.dirname(path)), CHILD_FILE)
