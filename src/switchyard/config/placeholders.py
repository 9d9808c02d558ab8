"""Placeholders such as `{port}` and `{api_url}`: their names, and filling them in."""

import re
from collections.abc import Iterable, Mapping

from switchyard.core.slugs import variable

OWN = (
    "port",
    "host",
    "url",
    "service",
    "branch",
    "branch_slug",
    "branch_db",
    "project",
    "project_slug",
    "root",
    "worktree",
    "data_dir",
)
_TOKEN = re.compile(r"\{\{|\}\}|\{([a-z][a-z0-9_]*)\}")


def peer_names(services: Iterable[str]) -> set[str]:
    """The placeholders through which a service learns about the others."""
    return {f"{variable(name)}_{part}" for name in services for part in ("port", "host", "url")}


def used(text: str) -> list[str]:
    """The placeholders that stand in the text."""
    return [match[1] for match in _TOKEN.finditer(text) if match[1]]


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with every known placeholder replaced; `{{` and `}}` are literal braces."""

    def one(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        return values.get(match[1], match[0])

    return _TOKEN.sub(one, text)
