"""Layers of the configuration, laid over each other with the origin of every value kept."""

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from switchboard.config.documents import Document
from switchboard.config.key_positions import KeyPath, dotted
from switchboard.config.problems import Problem, Severity
from switchboard.core.origins import Origin, Scope


class Layer(Struct, frozen=True, kw_only=True):
    """One source in the one tree of keys that all sources share."""

    scope: Scope
    tree: dict[str, Any]
    document: Document | None = None
    # Keys of the tree that the source writes otherwise: another path in the file, or the name of
    # an environment variable or a flag.
    written: dict[KeyPath, KeyPath] = {}
    # JSON replaces a whole server, TOML and YAML lay field over field.
    replaces: bool = False
    # Only TOML expands `${VAR}`.
    expands: bool = False

    def place(self, at: KeyPath) -> KeyPath:
        """The path of a key as the source writes it."""
        for length in range(len(at), 0, -1):
            written = self.written.get(at[:length])
            if written is not None:
                return (*written, *at[length:])
        return at

    def origin(self, at: KeyPath) -> Origin:
        """Where the source sets a key."""
        if self.document is not None:
            return self.document.origin(self.place(at))
        return Origin(scope=self.scope, path=dotted(self.place(at)) if self.written else "")

    def problem(
        self, at: KeyPath, message: str, hint: str = "", severity: Severity = "error"
    ) -> Problem:
        """A problem at a key, at the place where the source writes it."""
        if self.document is not None:
            return self.document.problem(self.place(at), message, hint, severity)
        return Problem(
            path=str(self.scope),
            key=dotted(self.place(at)),
            message=message,
            hint=hint,
            severity=severity,
        )


class Replaced(Struct, frozen=True):
    """A value that a later layer took the place of."""

    layer: Layer
    value: Any


class MergedLayers:
    """The layers laid so far: one tree, the layer of each leaf, and what was covered."""

    def __init__(self) -> None:
        self.tree: dict[str, Any] = {}
        self.layers: dict[KeyPath, Layer] = {}
        self.replaced: dict[KeyPath, list[Replaced]] = {}
        self._ranks: dict[int, int] = {}

    def note(self, layer: Layer) -> None:
        """Remember the order in which layers are laid."""
        self._ranks.setdefault(id(layer), len(self._ranks))

    def rank(self, layer: Layer) -> int:
        """The place of a layer in that order; a higher one outranks the others."""
        return self._ranks[id(layer)]

    def origin_of(self, at: KeyPath) -> Origin | None:
        """Where a key is set; nothing if nobody has set it."""
        layer = self.layer_of(at)
        return None if layer is None else layer.origin(at)

    def layer_of(self, at: KeyPath) -> Layer | None:
        """The layer that set a key, or the thing around it."""
        for length in range(len(at), 0, -1):
            layer = self.layers.get(at[:length])
            if layer is not None:
                return layer
        return None

    def layer_near(self, at: KeyPath) -> Layer | None:
        """The layer that set a key, or the thing around it, or the first thing in it."""
        below = (layer for path, layer in self.layers.items() if path[: len(at)] == at)
        return self.layer_of(at) or next(below, None)

    def layers_by_name(self, section: str) -> dict[str, list[Layer]]:
        """For each name in a section, the layers that set something of it, lowest first."""
        found: dict[str, list[Layer]] = {}
        for path, layer in self.layers.items():
            if path[0] == section and len(path) > 1:
                layers = found.setdefault(str(path[1]), [])
                if not any(layer is known for known in layers):
                    layers.append(layer)
        for layers in found.values():
            layers.sort(key=self.rank)
        return found


def merge_fields(
    merged: MergedLayers,
    layer: Layer,
    at: KeyPath,
    fields: Mapping[str, Any],
    *,
    skip_empty: bool = False,
) -> None:
    """Lay fields over those that are there. With `skip_empty`, an empty value covers nothing."""
    merged.note(layer)
    # An object without fields has been declared all the same.
    merged.layers.setdefault(at, layer)
    _merge(merged, layer, at, _table(merged, at), fields, skip_empty=skip_empty)


def replace_whole(
    merged: MergedLayers, layer: Layer, at: KeyPath, value: Mapping[str, Any]
) -> None:
    """Put an object in the place of whatever was there; nothing of the old one is kept."""
    merged.note(layer)
    table = _table(merged, at[:-1])
    if at[-1] in table:
        _cover(merged, at, table[at[-1]])
        _forget(merged, at, table[at[-1]])
    table[at[-1]] = {}
    merged.layers[at] = layer
    _merge(merged, layer, at, table[at[-1]], value, skip_empty=False)


def set_value(merged: MergedLayers, layer: Layer, at: KeyPath, value: Any) -> None:
    """Set one leaf."""
    merged.note(layer)
    table = _table(merged, at[:-1])
    if at[-1] in table:
        _cover(merged, at, table[at[-1]])
    table[at[-1]] = value
    merged.layers[at] = layer


def _merge(
    merged: MergedLayers,
    layer: Layer,
    at: KeyPath,
    table: dict[Any, Any],
    fields: Mapping[str, Any],
    *,
    skip_empty: bool,
) -> None:
    for name, value in fields.items():
        here = (*at, name)
        if isinstance(value, dict):
            inner = table.get(name)
            if not isinstance(inner, dict):
                if name in table:
                    _cover(merged, here, inner)
                inner = table[name] = {}
            _merge(
                merged,
                layer,
                here,
                cast("dict[Any, Any]", inner),
                cast("dict[str, Any]", value),
                skip_empty=skip_empty,
            )
        elif skip_empty and value in ("", []):
            continue
        else:
            if name in table:
                _cover(merged, here, table[name])
            table[name] = value
            merged.layers[here] = layer


def _cover(merged: MergedLayers, at: KeyPath, value: Any) -> None:
    layer = merged.layer_of(at)
    if layer is not None:
        merged.replaced.setdefault(at, []).append(Replaced(layer, value))


def _forget(merged: MergedLayers, at: KeyPath, value: Any) -> None:
    merged.layers.pop(at, None)
    if isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            _forget(merged, (*at, name), inner)


def _table(merged: MergedLayers, at: KeyPath) -> dict[Any, Any]:
    table: dict[Any, Any] = merged.tree
    for step in at:
        table = table.setdefault(step, {})
    return table
