"""What may be declared today and is used by nothing yet, so that nobody relies on it."""

from collections.abc import Iterator
from typing import Any, cast

from switchboard.config.key_positions import KeyPath
from switchboard.config.layers import MergedLayers
from switchboard.config.problems import Problem
from switchboard.settings.server_fields import SERVER


def without_effect(merged: MergedLayers) -> Iterator[Problem]:
    """A warning for each thing that is declared in vain."""
    tree = merged.tree
    for name, fields in cast("dict[str, dict[str, Any]]", tree.get("mcp_servers", {})).items():
        for field in SERVER.fields:
            if field.unused and fields.get(field.name):
                yield _warning(
                    merged,
                    (SERVER.name, name, field.name),
                    f"`{field.name}` has no effect yet: {field.unused}",
                    field.instead,
                )
        for variable, reference in cast("dict[str, str]", fields.get("secret_env", {})).items():
            if reference.startswith("vault:"):
                yield _warning(
                    merged,
                    ("mcp_servers", name, "secret_env", variable),
                    f"there is no vault yet: `{name}` cannot start with this",
                    f"write `env:{variable}`, and set `{variable}`",
                )


def _warning(merged: MergedLayers, at: KeyPath, message: str, hint: str = "") -> Problem:
    layer = merged.layer_near(at)
    assert layer is not None, "what is in the tree was set by a layer"
    return layer.problem(at, message, hint, "warning")
