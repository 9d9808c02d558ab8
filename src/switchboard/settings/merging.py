"""Laying one layer over the settings so far, by the rules of each section."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, cast

from switchboard.config.layers import Layer, Merged, merge_fields, replace_whole, set_value
from switchboard.config.placeholders import Unfilled, expand_tree
from switchboard.config.problems import Problem
from switchboard.config.spots import KeyPath
from switchboard.core.origins import Scope

# Their placeholders wait until it is known whether the thing is trusted.
_LATE = frozenset({"mcp_servers", "mcp"})


def lay(merged: Merged, layer: Layer, environ: Mapping[str, str], problems: list[Problem]) -> None:
    """Lay a layer over what is there."""
    for section, value in layer.tree.items():
        if section == "mcp_servers":
            lay_servers(merged, layer, cast("dict[str, Any]", value))
        elif not isinstance(value, dict):
            set_value(merged, layer, (section,), value)
        else:
            fields = cast("dict[str, Any]", value)
            if layer.expands and section not in _LATE:
                fields = _expanded(layer, section, fields, environ, problems)
            if layer.scope is Scope.WORKSPACE:
                fields = _narrowed(merged, section, fields)
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


def _narrowed(merged: Merged, section: str, fields: dict[str, Any]) -> dict[str, Any]:
    """A workspace may hide more than its user does, but never show what its user hid."""
    if section == "tools":
        return narrow(merged.tree.get("tools", {}), fields)
    if section != "suites":
        return fields
    below = merged.tree.get("suites", {})
    return {
        name: {**suite, "expose": narrow(below.get(name, {}).get("expose", {}), suite["expose"])}
        if "expose" in suite
        else suite
        for name, suite in fields.items()
    }


def narrow(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Allow and deny lists of two scopes: denials add up, allowances only shrink."""
    joined = dict(above)
    if "deny" in below and "deny" in above:
        joined["deny"] = [
            *below["deny"],
            *(name for name in above["deny"] if name not in below["deny"]),
        ]
    if "allow" in below and "allow" in above:
        joined["allow"] = [
            name
            for name in above["allow"]
            if any(name == known or fnmatchcase(name, known) for known in below["allow"])
        ]
    return joined
