"""Adding a server to a `config.toml`, behind everything that stands there."""

import os
from collections.abc import Mapping
from typing import Any

from switchboard.config.documents import read_text, read_toml_document
from switchboard.config.problems import ConfigInvalid, Problem
from switchboard.config.writing import refuse_link, write_whole
from switchboard.core.origins import Scope
from switchboard.settings.files.file_layers import toml_layer
from switchkit.toml.values import toml_key, toml_value

_MODE = 0o644


def add_toml_server(path: str, name: str, fields: Mapping[str, Any], *, scope: Scope) -> None:
    """Write a server at the end of a file. Raises `ConfigInvalid` where it has no place there."""
    # Refused before it is read: what a link points to is not ours to look at.
    refuse_link(path)
    problems: list[Problem] = []
    before = read_text(path, problems) or ""
    table = "\n".join(
        (
            f"[mcp_servers.{toml_key(name)}]",
            *(f"{toml_key(key)} = {toml_value(each)}" for key, each in fields.items()),
        )
    )
    text = f"{before.rstrip()}\n\n{table}\n" if before.strip() else f"{table}\n"
    document = read_toml_document(path, scope, problems, text=text)
    if document is not None:
        toml_layer(document, problems, foreign=False)
    if errors := [each for each in problems if each.severity == "error"]:
        raise ConfigInvalid(errors)
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else _MODE
    write_whole(path, text, mode=mode)
