"""Where a value comes from, and the whole configuration as it takes effect."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from switchboard.config.layers import Merged
from switchboard.config.spots import KeyPath, dotted
from switchboard.core.origins import Origin
from switchboard.providers.table import TABLE, source_of
from switchboard.settings.load import Loading
from switchboard.settings.redaction import redacted
from switchboard.settings.sections import Settings
from switchkit.suggest import did_you_mean

_ALIASES = {"mcpServers": "mcp_servers"}


class Step(Struct, frozen=True, kw_only=True):
    """One value and where it was set."""

    value: Any
    origin: Origin


class Explanation(Struct, frozen=True, kw_only=True):
    """A key: its value, where that came from, and what it replaced, newest first."""

    key: str
    value: Any
    origin: Origin
    replaced: tuple[Step, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)


class UnknownKey(Exception):  # noqa: N818 - says what the key is
    """No layer and no default knows the key."""

    def __init__(self, key: str, hint: str) -> None:
        super().__init__(f"no setting is named `{key}`")
        self.key = key
        self.hint = hint


class Shown(Struct, frozen=True, kw_only=True):
    """One leaf of the effective configuration."""

    key: str
    value: Any
    origin: Origin


def explain(loading: Loading, key: str) -> Explanation:
    """Tell where the value of a key comes from. Secret-looking values are redacted."""
    merged = loading.merged
    tree = _with_defaults(merged.tree)
    at = _path(tree, key)
    if at is None:
        meant = did_you_mean(key, [dotted(path) for path, _ in _leaves(tree, ())])
        raise UnknownKey(key, f"did you mean `{meant}`?" if meant else "")
    value: Any = tree
    for step in at:
        value = value[step]
    layer = _last_below(merged, at) if isinstance(value, dict) else merged.layer_of(at)
    replaced = [
        Step(value=redacted(old.value, at), origin=old.layer.origin(at))
        for old in reversed(_replaced(merged, at))
    ]
    default = _lookup(DEFAULTS, at)
    if layer is not None and default is not None and not isinstance(default, dict):
        replaced.append(Step(value=default, origin=Origin()))
    return Explanation(
        key=dotted(at),
        value=redacted(value, at),
        origin=Origin() if layer is None else layer.origin(at),
        replaced=tuple(replaced),
    )


def show(loading: Loading) -> list[Shown]:
    """Every setting in effect, defaults included, with its origin."""
    merged = loading.merged
    shown: list[Shown] = []
    for at, value in _leaves(_with_defaults(merged.tree), ()):
        layer = merged.layer_of(at)
        origin = Origin() if layer is None else layer.origin(at)
        shown.append(Shown(key=dotted(at), value=redacted(value, at), origin=origin))
    return shown


def _defaults() -> dict[str, Any]:
    blank = Settings(workspace="", home="")
    return {
        "discoverGlobs": [".switchboard/mcps/*/.mcp.json"],
        "timeouts": {
            "childSpawnMs": blank.timeouts.child_spawn_ms,
            "rpcMs": blank.timeouts.rpc_ms,
            "idleMs": blank.timeouts.idle_ms,
        },
        "introspection": {
            "mode": blank.introspection.mode,
            "summaryMaxChars": blank.introspection.summary_max_chars,
        },
        "server": msgspec.to_builtins(blank.listener),
        "logging": msgspec.to_builtins(blank.logging),
        **_defaults_of_sources(),
        "enable_mcp_server_surface": blank.enable_mcp_server_surface,
        "approval_channel": blank.approval_channel,
    }


def _defaults_of_sources() -> dict[str, Any]:
    sections = [source_of(key).section for key, row in TABLE.items() if row.section]
    found = {
        section.name: {
            field.name: default
            for field in section.fields
            if (default := section.default(field)) is not None
        }
        for section in sections
        if section is not None and not section.is_named
    }
    return {name: defaults for name, defaults in found.items() if defaults}


DEFAULTS = _defaults()


def _with_defaults(tree: Mapping[str, Any]) -> dict[str, Any]:
    whole = dict(tree)
    for key, value in DEFAULTS.items():
        if isinstance(value, dict):
            whole[key] = {**value, **cast("dict[str, Any]", tree.get(key, {}))}
        else:
            whole.setdefault(key, value)
    return whole


def _path(tree: Mapping[str, Any], key: str) -> KeyPath | None:
    """The path that a dotted key means; names of servers may hold dots themselves."""
    first, dot, rest = key.partition(".")
    key = _ALIASES.get(first, first) + dot + rest
    return _match(tree, key)


def _match(value: Any, key: str) -> KeyPath | None:
    if not isinstance(value, dict):
        return None
    for name, inner in cast("dict[str, Any]", value).items():
        if key == name:
            return (name,)
        if key.startswith(f"{name}."):
            rest = _match(inner, key[len(name) + 1 :])
            if rest is not None:
                return (name, *rest)
    return None


def _lookup(tree: Any, at: KeyPath) -> Any:
    for step in at:
        if not isinstance(tree, dict):
            return None
        tree = cast("dict[Any, Any]", tree).get(step)
    return tree


def _replaced(merged: Merged, at: KeyPath) -> list[Any]:
    """What the key covered, itself or as part of a whole object that was replaced."""
    found = list(merged.replaced.get(at, []))
    for length in range(len(at) - 1, 0, -1):
        for old in merged.replaced.get(at[:length], []):
            inner = _lookup(old.value, at[length:])
            if inner is not None:
                found.insert(0, type(old)(old.layer, inner))
    return found


def _last_below(merged: Merged, at: KeyPath) -> Any:
    below = [layer for path, layer in merged.layers.items() if path[: len(at)] == at]
    return max(below, key=merged.rank, default=None)


def _leaves(tree: Mapping[str, Any], at: KeyPath) -> list[tuple[KeyPath, Any]]:
    found: list[tuple[KeyPath, Any]] = []
    for name, value in tree.items():
        if isinstance(value, dict):
            found += _leaves(cast("dict[str, Any]", value), (*at, name))
        else:
            found.append(((*at, name), value))
    return found
