"""Adding and removing a server in a `mcp.json`, without touching the rest of the file."""

import json
import os
from collections.abc import Mapping
from typing import Any, cast

from switchboard.config.documents import Document, read_json_document
from switchboard.config.json_text import read_json
from switchboard.config.problems import ConfigInvalid, Problem
from switchboard.config.writing import refuse_link, write_whole
from switchboard.core.origins import Scope
from switchboard.settings.files.file_layers import sidecar_layer

_KEYS = ("mcpServers", "mcp_servers")
_MODE = 0o644


def add_server(
    path: str, name: str, fields: Mapping[str, Any], *, scope: Scope, replace: bool = False
) -> None:
    """Write a server into a `mcp.json`; the merged file is judged before anything is saved."""
    before = _read(path, scope)
    tree = _copied(before)
    collection = _collection_of(tree, name)
    if collection is not None and not replace:
        raise ConfigInvalid(
            [
                Problem(
                    path=path,
                    key=f"{collection}.{name}",
                    message=f"the server `{name}` is already there",
                    hint="say `--replace` to put the new one in its place",
                )
            ]
        )
    key = collection or (
        "mcp_servers" if "mcp_servers" in tree and "mcpServers" not in tree else "mcpServers"
    )
    servers = cast("dict[str, Any]", tree.setdefault(key, {}))
    servers[_spelling(servers, name)] = dict(fields)
    _save(path, tree, before, scope)


def remove_server(path: str, name: str, *, scope: Scope) -> bool:
    """Take a server out of a `mcp.json`; whether it was there."""
    before = _read(path, scope)
    tree = _copied(before)
    removed = False
    for key in _KEYS:
        servers = tree.get(key)
        if isinstance(servers, dict):
            table = cast("dict[str, Any]", servers)
            removed = table.pop(_spelling(table, name), None) is not None or removed
    if removed:
        _save(path, tree, before, scope)
    return removed


def _read(path: str, scope: Scope) -> Document | None:
    # Refused before it is read: what a link points to is not ours to look at.
    refuse_link(path)
    problems: list[Problem] = []
    document = read_json_document(path, scope, problems)
    if problems:
        raise ConfigInvalid(problems)
    return document


def _copied(document: Document | None) -> dict[str, Any]:
    if document is None:
        return {}
    tree = dict(document.tree)
    for key in _KEYS:
        if isinstance(tree.get(key), dict):
            tree[key] = dict(tree[key])
    return tree


def _errors(document: Document | None) -> list[Problem]:
    problems: list[Problem] = []
    if document is not None:
        sidecar_layer(document, problems)
    return [problem for problem in problems if problem.severity == "error"]


def _save(path: str, tree: Mapping[str, Any], before: Document | None, scope: Scope) -> None:
    text = json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
    parsed = read_json(text)
    document = Document(path=path, scope=scope, tree=parsed.value, spots=parsed.spots)
    # What was already wrong elsewhere in the file is not this edit's business.
    known = {(problem.key, problem.message) for problem in _errors(before)}
    errors = [each for each in _errors(document) if (each.key, each.message) not in known]
    if errors:
        raise ConfigInvalid(errors)
    write_whole(path, text, mode=_mode(path))


def _mode(path: str) -> int:
    """An existing file keeps its permissions."""
    try:
        return os.stat(path).st_mode & 0o777
    except FileNotFoundError:
        return _MODE


def _collection_of(tree: Mapping[str, Any], name: str) -> str | None:
    """The collection that holds a server. The later one wins when both do."""
    for key in reversed(_KEYS):
        servers = tree.get(key)
        if isinstance(servers, dict):
            table = cast("dict[str, Any]", servers)
            if _spelling(table, name) in table:
                return key
    return None


def _spelling(servers: Mapping[str, Any], name: str) -> str:
    """The name as the file writes it, blanks included."""
    return next((raw for raw in servers if raw.strip() == name.strip()), name.strip())
