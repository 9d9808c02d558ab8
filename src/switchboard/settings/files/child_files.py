"""Suite children: one `.mcp.json` each, found by patterns in the workspace.

A child that cannot be used is left out with a warning; it never keeps its siblings away.
"""

import os
from collections.abc import Mapping
from typing import Any, cast

from msgspec.structs import replace

from switchboard.config.documents import MAX_FOREIGN_BYTES, Document, is_inside, read_json_document
from switchboard.config.globs import find_files
from switchboard.config.key_positions import KeyPath
from switchboard.config.layers import Layer
from switchboard.config.problems import Problem, Severity
from switchboard.config.strict import ProblemReport
from switchboard.core.origins import Scope
from switchboard.settings.files.file_shapes import CHILD
from switchboard.settings.files.wrapped_child import (
    INSTRUCTIONS,
    is_wrapper,
    original_of,
    wrapper_words,
)
from switchboard.settings.server_fields import SERVER
from switchboard.settings.server_rules import RENAME_IT, Habits, judge, name_fault
from switchkit.platform.paths import true_path

# What a child is when its file does not say.
# They are read whenever a window opens the folder, which others must not notice.
_MOST_CHILDREN = 200
_MOST_BYTES = 1 << 20
_DEFAULT_COMMAND: dict[str, Any] = {"cmd": "node", "args": ["dist/index.js"]}
_FIELDS = SERVER.fields_of(".mcp.json")
_WRITTEN: dict[str, KeyPath] = {
    **{field.name: (key,) for key, field in _FIELDS.items()},
    "command": ("command", "cmd"),
    "args": ("command", "args"),
    "env": ("command", "env"),
}


def child_layers(
    workspace: str, home: str, patterns: tuple[str, ...], warnings: list[Problem]
) -> list[Layer]:
    """The children of a workspace, in the order of their paths. The first of a name wins."""
    layers: list[Layer] = []
    home = true_path(home)
    home_inside = is_inside(home, workspace)
    taken: dict[str, str] = {}
    left = _MOST_BYTES
    for number, path in enumerate(find_files(workspace, patterns)):
        if number >= _MOST_CHILDREN or left <= 0:
            message = f"a workspace has at most {_MOST_CHILDREN} children of 1 MiB together"
            warnings.append(Problem(path=path, message=message, severity="warning"))
            break
        left -= _size(path)
        found: list[Problem] = []
        # Started in `$HOME`, the home is inside the workspace, and its children are the user's own.
        own = home_inside and is_inside(true_path(path), home)
        scope = Scope.HOME if own else Scope.WORKSPACE
        document = read_json_document(path, scope, found, within=workspace)
        layer = None if document is None else found_child(document, workspace, found)
        if layer is not None:
            (name,) = layer.tree["mcp_servers"]
            if name in taken:
                message = f"the child `{name}` is already declared in `{taken[name]}`"
                found.append(layer.problem(("mcp_servers", name), message, severity="warning"))
            else:
                taken[name] = os.path.relpath(path, workspace)
                layers.append(layer)
        elif found:
            found = [_left_out(problem) for problem in found]
        warnings += found
    return layers


def _size(path: str) -> int:
    try:
        # What is larger is refused without being read.
        return min(os.stat(path).st_size, MAX_FOREIGN_BYTES)
    except OSError:
        return 0


def found_child(document: Document, workspace: str, problems: list[Problem]) -> Layer | None:
    """A child, or the one that a wrapper stands in front of: we start that one ourselves.

    The call that a sentence becomes then passes our gates once, as what it really is.
    """
    if not is_wrapper(document):
        return child_layer(document, problems)
    original = original_of(document, workspace, problems)
    if original is None:
        return None
    folder = os.path.dirname(document.path)
    return child_layer(original, problems, folder=folder, wrapper=wrapper_words(document))


def child_layer(
    document: Document,
    problems: list[Problem],
    *,
    folder: str = "",
    wrapper: Mapping[str, Any] | None = None,
) -> Layer | None:
    """One child file as a layer, or `None` when it cannot be used.

    It runs in `folder`, where that is not the folder of its file. `wrapper` are the words of the
    file that stands in front of it.
    """
    report = ProblemReport(document, problems)
    if not CHILD.check(document.tree, (), report):
        return None
    folder = folder or os.path.dirname(document.path)
    tree = {**document.tree, **(wrapper or {})}
    name = cast("str", tree["name"]).strip()
    fault = name_fault(name)
    if fault:
        report.say(("name",), fault, RENAME_IT)
        return None
    command = cast("dict[str, Any]", tree.get("command", _DEFAULT_COMMAND))
    fields: dict[str, Any] = {
        **{field.name: tree[key] for key, field in _FIELDS.items() if key in tree},
        "transport": "stdio",
        "command": command["cmd"],
        "args": command.get("args", []),
        "env": {**tree.get("env", {}), **command.get("env", {})},
        "cwd": folder,
        "instructions": os.path.join(folder, INSTRUCTIONS),
        **({} if wrapper is None else {"natural_language": True, "natural_only": True}),
    }

    def say(field: KeyPath, message: str, hint: str, severity: Severity) -> None:
        report.say((*_WRITTEN.get(str(field[0]), field[:1]), *field[1:]), message, hint, severity)

    if not judge(name, fields, Habits(repository=document.scope is not Scope.HOME), say):
        return None
    at: KeyPath = ("mcp_servers", name)
    written: dict[KeyPath, KeyPath] = {(*at, ours): path for ours, path in _WRITTEN.items()}
    written[at] = ("name",)
    return Layer(
        scope=document.scope,
        tree={"mcp_servers": {name: fields}},
        document=document,
        written=written,
        replaces=True,
    )


def _left_out(problem: Problem) -> Problem:
    if problem.severity == "warning":
        return problem
    return replace(
        problem, severity="warning", message=f"{problem.message}; this child is left out"
    )
