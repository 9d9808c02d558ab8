"""Files that were meant as children and lie where no child file is looked for."""

import os
from collections.abc import Iterator

from switchboard.config.problems import Problem

_FOLDER = os.path.join(".switchboard", "mcps")
_NAME = ".mcp.json"
_SIDECAR = os.path.join(".switchboard", "mcp.json")
# A folder of thousands of files is nobody's folder of servers.
_MOST = 200


def misplaced_children(workspace: str) -> Iterator[Problem]:
    """A warning for each, with the place where it would be read."""
    top = os.path.join(workspace, _FOLDER)
    for name in _names(top):
        path = os.path.join(top, name)
        if os.path.isdir(path):
            yield from _inside(path, name)
        elif name.endswith(".json"):
            stem = name.removesuffix(".json").removesuffix(".mcp").strip(".") or "NAME"
            yield _misplaced(os.path.join(_FOLDER, name), path, stem)


def _inside(folder: str, child: str) -> Iterator[Problem]:
    """What lies in the folder of a child that has no child file itself."""
    names = _names(folder)
    if _NAME in names:
        return
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith("mcp.json") and os.path.isfile(path):
            yield _misplaced(os.path.join(_FOLDER, child, name), path, child)
        elif os.path.isfile(deeper := os.path.join(path, _NAME)):
            yield _misplaced(os.path.join(_FOLDER, child, name, _NAME), deeper, name)


def _misplaced(shown: str, path: str, child: str) -> Problem:
    wanted = os.path.join(_FOLDER, child, _NAME)
    return Problem(
        path=path,
        message=f"no child file is read here, only `{wanted}`, so this one is left out",
        hint=f"move {shown} to {wanted}; servers under `mcpServers` belong into {_SIDECAR}",
        severity="warning",
    )


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:_MOST]
    except OSError:
        return []
