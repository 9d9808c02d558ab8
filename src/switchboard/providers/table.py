"""Every provider in one line: where its plug is, and what is known of it before it is loaded.

A provider is loaded when its section of `config.toml`, or its file in the workspace, is there; one
that has neither is always loaded. To add a provider, write its folder with a `source.py` and add a
line here. No other file names a provider.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from msgspec import Struct

from switchboard.core.names import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from switchboard.providers.source import AnySource
    from switchboard.settings.sections import Settings


class Row(Struct, frozen=True, kw_only=True):
    """One provider."""

    # The module whose `SOURCE` is the plug.
    module: str
    # The section of `config.toml` and the file of a workspace that call for it.
    section: str = ""
    file: str = ""
    # Names of tools that no other provider may use. `x_*` means all that begin with `x_`.
    reserved: tuple[str, ...] = ()
    # Variables that hold a path, which may be relative to the folder of the client.
    path_variables: tuple[str, ...] = ()


# In the order in which their tools are listed.
TABLE: dict[str, Row] = {
    "suites": Row(module="switchboard.providers.suites.source"),
    "direct": Row(module="switchboard.providers.direct.source"),
    "commands": Row(module="switchboard.providers.commands.source", section="mcp"),
    "yard": Row(
        module="switchboard.providers.yard.source",
        section="yard",
        file="switchyard.toml",
        reserved=("switchyard_*",),
        path_variables=("SWITCHYARD_HOME",),
    ),
}

# Names of Switchboard itself, and of the agents that it is to have.
_OWN_NAMES = ("switchboard_*", "codex", "codex-reply")


def source_of(key: str) -> AnySource:
    """The plug of a provider, loaded by whoever first needs it."""
    return import_module(TABLE[key].module).SOURCE


def configured(settings: Settings) -> Iterator[AnySource]:
    """The plugs of the providers that these settings call for."""
    for key, row in TABLE.items():
        if key in settings.sources or not (row.section or row.file):
            yield source_of(key)


def is_reserved(name: str, provider: str = "") -> bool:
    """Whether a tool of this provider may not have the name."""
    folded = fold(name)
    if _matches(folded, _OWN_NAMES):
        return True
    return any(_matches(folded, row.reserved) for key, row in TABLE.items() if key != provider)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(
        name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
        for pattern in patterns
    )
