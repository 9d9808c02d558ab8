"""What a workspace does not get of a server of its user when it lays its own fields over it."""

from collections.abc import Mapping
from typing import Any, cast

from switchboard.config.key_positions import KeyPath
from switchboard.config.layers import MergedLayers
from switchboard.core.origins import Scope
from switchboard.core.privacy.secret_names import is_secret_name

# What decides who would be told the rest.
_WHAT_RUNS = ("transport", "command", "args", "url", "cwd")
# What is nobody else's, whatever runs.
_SECRET = ("secret_env", "headers", "inherit_env")
_OF_LOGIN = "client_secret_ref"


def disinherit(merged: MergedLayers, name: str, fields: Mapping[str, Any]) -> None:
    """Take the user's own values out of a server before a workspace lays `fields` over it.

    A repository would otherwise send a token that it cannot even name to a program of its own.
    Plain variables stay where the same program runs, but for those that are secrets by name.
    """
    server: dict[str, Any] = merged.tree.get("mcp_servers", {}).get(name, {})
    others = any(fields.get(key) and fields[key] != server.get(key) for key in _WHAT_RUNS)
    at: KeyPath = ("mcp_servers", name)
    for key in _SECRET:
        if key in server:
            _take(merged, server, (*at, key))
    for variable in list(server.get("env", {})):
        if others or is_secret_name(variable):
            _take(merged, server["env"], (*at, "env", variable))
    if _OF_LOGIN in server.get("auth", {}):
        _take(merged, server["auth"], (*at, "auth", _OF_LOGIN))


def _take(merged: MergedLayers, table: dict[str, Any], at: KeyPath) -> None:
    value = table[str(at[-1])]
    if isinstance(value, dict):
        inner = cast("dict[str, Any]", value)
        for key in list(inner):
            _take(merged, inner, (*at, key))
        if not inner:
            del table[str(at[-1])]
        return
    layer = merged.layer_of(at)
    if layer is None or layer.scope is not Scope.WORKSPACE:
        del table[str(at[-1])]
        merged.layers.pop(at, None)
