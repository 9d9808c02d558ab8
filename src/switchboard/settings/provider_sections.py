"""The sections of providers that are not plugs yet."""

from typing import Any

from switchboard.config.keys import Field, Section
from switchboard.config.layers import Layer, Merged
from switchboard.config.problems import Problem
from switchboard.config.strict import Truth
from switchboard.core.origins import Scope
from switchboard.settings.commands import undoubled


def _only_no(
    merged: Merged, layer: Layer, fields: dict[str, Any], problems: list[Problem]
) -> dict[str, Any]:
    """A workspace may switch things off, and nothing on."""
    del merged, problems
    if layer.scope is not Scope.WORKSPACE:
        return fields
    return {name: value for name, value in fields.items() if value is False}


COMMANDS = Section(name="mcp", fields=(), is_named=True, fills_late=True, admit=undoubled)

YARD = Section(
    name="yard",
    about="The tools of Switchyard, where the workspace has a `switchyard.toml`.",
    admit=_only_no,
    fields=(
        Field(
            name="enabled",
            kind=Truth(about="Show them. A workspace can only say no."),
            default=True,
        ),
        Field(
            name="inherit_env",
            kind=Truth(about="Start services with the whole environment of the client."),
            default=False,
            workspace="never",
        ),
    ),
)
