"""Where a value comes from, and the whole configuration as it takes effect."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from switchboard.config.key_positions import KeyPath, dotted
from switchboard.config.layers import MergedLayers
from switchboard.core.origins import Origin
from switchboard.core.privacy.redaction import redacted_text, redacted_words
from switchboard.core.privacy.secret_names import is_secret_name
from switchboard.core.privacy.secrets import REDACTED
from switchboard.settings.fields import OTHER_SPELLINGS, all_sections, path_of
from switchboard.settings.load import Loading
from switchboard.settings.server_fields import SERVER
from switchkit.suggest import did_you_mean

_ALIASES = {"mcpServers": "mcp_servers"}
_ADDRESSES: KeyPath = ("approvals", "notify")
_OTHER_NAMES = {".".join(filter(None, here)): there for here, there in OTHER_SPELLINGS.items()}


class ExplainStep(Struct, frozen=True, kw_only=True):
    """One value and where it was set."""

    value: Any
    origin: Origin


class Explanation(Struct, frozen=True, kw_only=True):
    """A key: its value, where that came from, and what it replaced, newest first."""

    key: str
    value: Any
    origin: Origin
    replaced: tuple[ExplainStep, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)


class UnknownKey(Exception):
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
        known = _unset(tree)
        if key in known:
            return Explanation(key=key, value=known[key], origin=Origin())
        meant = did_you_mean(key, [*known, *(dotted(path) for path, _ in _leaves(tree, ()))])
        raise UnknownKey(key, f"did you mean `{meant}`?" if meant else "")
    value: Any = tree
    for step in at:
        value = value[step]
    layer = _last_below(merged, at) if isinstance(value, dict) else None
    if layer is None and _lookup(merged.tree, at) is not None:
        layer = merged.layer_of(at)
    replaced = [
        ExplainStep(value=redacted(old.value, at), origin=old.layer.origin(at))
        for old in reversed(_replaced(merged, at))
    ]
    default = _lookup(DEFAULTS, at)
    if layer is not None and default is not None and not isinstance(default, dict):
        replaced.append(ExplainStep(value=default, origin=Origin()))
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
        # A default is from no file, though its section may be in one.
        layer = merged.layer_of(at) if _lookup(merged.tree, at) is not None else None
        origin = Origin() if layer is None else layer.origin(at)
        shown.append(Shown(key=dotted(at), value=redacted(value, at), origin=origin))
    return shown


def redacted(value: Any, at: KeyPath) -> Any:
    """The value of a key without what its name or its shape tells to be a secret."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: redacted(inner, (*at, name)) for name, inner in members.items()}
    if at == _ADDRESSES:
        # A topic, or the address of a webhook, is all that it takes to write there.
        return [f"{kind}:{REDACTED}" if rest else kind for kind, _, rest in _halves(value)]
    if isinstance(value, list):
        return redacted_words(cast("list[Any]", value))
    if not isinstance(value, str) or not value:
        return value
    holder, name = ("", *map(str, at))[-2:]
    # The names of headers tell nothing of their values.
    if holder == "headers" or (holder == "env" and is_secret_name(name)):
        return REDACTED
    return redacted_text(value)


def _halves(value: Any) -> list[tuple[str, str, str]]:
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [str(item).partition(":") for item in items]


def _defaults() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for section in all_sections():
        table = found.setdefault(section.name, {}) if section.name else found
        for field in section.fields if not section.is_named else ():
            default: Any = msgspec.json.decode(msgspec.json.encode(section.default(field)))
            if default not in (None, []):
                table[field.spelled(section.file)] = default
    return {name: default for name, default in found.items() if default != {}}


DEFAULTS = _defaults()


def _unset(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of the table that nobody sets and that have no default to show."""
    found = {
        dotted(path_of(section, field)): section.default(field)
        for section in all_sections()
        for field in section.fields
        if not section.is_named
    }
    for name in tree.get(SERVER.name, {}):
        at = f"{SERVER.name}.{name}"
        found |= {f"{at}.{field.name}": SERVER.default(field) for field in SERVER.fields}
    return found


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
    key = _OTHER_NAMES.get(key, key)
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


def _replaced(merged: MergedLayers, at: KeyPath) -> list[Any]:
    """What the key covered, itself or as part of a whole object that was replaced."""
    found = list(merged.replaced.get(at, []))
    for length in range(len(at) - 1, 0, -1):
        for old in merged.replaced.get(at[:length], []):
            inner = _lookup(old.value, at[length:])
            if inner is not None:
                found.insert(0, type(old)(old.layer, inner))
    return found


def _last_below(merged: MergedLayers, at: KeyPath) -> Any:
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
