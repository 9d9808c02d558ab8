"""Laying layers over each other, by the rules of each section."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from switchboard.config.layers import Layer, Merged, merge_fields, replace_whole, set_value
from switchboard.config.placeholders import Unfilled, expand_tree
from switchboard.config.problems import Problem
from switchboard.config.spots import KeyPath
from switchboard.core.origins import Scope
from switchboard.providers.table import TABLE, source_of
from switchboard.settings.narrowing import narrow, narrowed_suites, opens_the_gate

_SOURCES = {row.section: key for key, row in TABLE.items() if row.section}


def lay_all(
    merged: Merged, layers: Sequence[Layer], environ: Mapping[str, str], problems: list[Problem]
) -> None:
    """Lay every layer, lowest first.

    Servers go first: what a workspace may say of a suite depends on whose server it shows.
    """
    for layer in layers:
        merged.note(layer)
        lay_servers(merged, layer, cast("dict[str, Any]", layer.tree.get("mcp_servers", {})))
    for layer in layers:
        _lay_sections(merged, layer, environ, problems)


def _lay_sections(
    merged: Merged, layer: Layer, environ: Mapping[str, str], problems: list[Problem]
) -> None:
    for section, value in layer.tree.items():
        if section == "mcp_servers":
            continue
        if not isinstance(value, dict):
            if layer.scope is Scope.WORKSPACE and opens_the_gate(merged, section, value):
                message = (
                    f"`{section}` is ignored in a workspace: it may ask for more, never for less"
                )
                hint = "set it in the `config.toml` of your home"
                problems.append(layer.problem((section,), message, hint, "warning"))
            else:
                set_value(merged, layer, (section,), value)
            continue
        fields = cast("dict[str, Any]", value)
        own = source_of(_SOURCES[section]).section if section in _SOURCES else None
        # Some placeholders wait until it is known whether the thing is trusted.
        if layer.expands and not (own and own.fills_late):
            fields = _expanded(layer, section, fields, environ, problems)
        if layer.scope is Scope.WORKSPACE and section == "tools":
            fields = narrow(merged.tree.get("tools", {}), fields)
        elif layer.scope is Scope.WORKSPACE and section == "suites":
            fields = narrowed_suites(merged, layer, fields, problems)
        elif own is not None and own.admit is not None:
            fields = own.admit(merged, layer, fields, problems)
        merge_fields(merged, layer, (section,), fields)


def lay_servers(merged: Merged, layer: Layer, servers: Mapping[str, Any]) -> None:
    """JSON replaces a server of the same name; TOML and YAML fill it field by field."""
    for name, fields in servers.items():
        if layer.replaces:
            replace_whole(merged, layer, ("mcp_servers", name), fields)
        else:
            merge_fields(merged, layer, ("mcp_servers", name), fields, skip_empty=True)


def _expanded(
    layer: Layer,
    section: str,
    fields: dict[str, Any],
    environ: Mapping[str, str],
    problems: list[Problem],
) -> dict[str, Any]:
    refused: list[tuple[KeyPath, Unfilled]] = []
    filled = expand_tree(fields, environ, (section,), refused)
    problems += [layer.problem(at, why.message, why.hint) for at, why in refused]
    return filled
