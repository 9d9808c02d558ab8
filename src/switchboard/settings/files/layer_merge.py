"""Laying layers over each other, by the rules of each section."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from switchboard.config.key_positions import KeyPath
from switchboard.config.layers import Layer, MergedLayers, merge_fields, replace_whole, set_value
from switchboard.config.placeholders import Unfilled, expand_tree
from switchboard.config.problems import Problem
from switchboard.core.origins import Scope
from switchboard.settings.fields import ROOT, section_of
from switchboard.settings.server_fields import SERVER
from switchboard.settings.workspace_limits import admitted, with_users_limits


def lay_all(
    merged: MergedLayers,
    layers: Sequence[Layer],
    environ: Mapping[str, str],
    problems: list[Problem],
) -> None:
    """Lay every layer, lowest first.

    Servers go first: what a workspace may say of a suite depends on whose server it shows.
    """
    for layer in layers:
        merged.note(layer)
        servers = cast("dict[str, Any]", layer.tree.get("mcp_servers", {}))
        lay_servers(merged, layer, servers, foreign=layer.scope is Scope.WORKSPACE)
    for layer in layers:
        _lay_sections(merged, layer, environ, problems)


def _lay_sections(
    merged: MergedLayers, layer: Layer, environ: Mapping[str, str], problems: list[Problem]
) -> None:
    for name, value in admitted(merged, layer, ROOT, layer.tree, problems).items():
        if name == SERVER.name:
            continue
        if not isinstance(value, dict):
            set_value(merged, layer, (name,), value)
            continue
        fields = cast("dict[str, Any]", value)
        section = section_of(name)
        if section is not None:
            fields = admitted(merged, layer, section, fields, problems)
        if layer.expands and not (section and section.fills_late):
            fields = _expanded(layer, name, fields, environ, problems)
        if section is not None and section.admit is not None:
            fields = section.admit(merged, layer, fields, problems)
        merge_fields(merged, layer, (name,), fields)


def lay_servers(
    merged: MergedLayers, layer: Layer, servers: Mapping[str, Any], *, foreign: bool
) -> None:
    """JSON replaces a server of the same name; TOML and YAML fill it field by field.

    A `foreign` layer is of a workspace, and gets none of its user's secrets with the fields.
    """
    for name, fields in servers.items():
        if layer.replaces:
            replace_whole(merged, layer, ("mcp_servers", name), fields)
        else:
            if foreign:
                # Few workspaces write servers field by field.
                from switchboard.settings.files.inheriting import disinherit  # noqa: PLC0415

                disinherit(merged, name, fields)
                below = merged.tree.get("mcp_servers", {}).get(name, {})
                fields = with_users_limits(below, fields)  # noqa: PLW2901 - those that count
            merge_fields(merged, layer, ("mcp_servers", name), fields, skip_empty=True)
            if "accounts" in fields:
                # An account without fields is one all the same, and somebody has to answer for it.
                merged.layers["mcp_servers", name, "accounts"] = layer


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
