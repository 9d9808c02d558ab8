"""Arguments of a tool that travel in headers too, in the modern era.

A tool's schema marks such a property with `x-mcp-header`, so that what stands in front of a server
can route a call without opening it. Marks count along `properties` only; elsewhere they mean
nothing.
"""

from collections.abc import Iterator
from typing import Any, Final, cast

from msgspec import Struct

from switchboard.wire.http_headers import header_value
from switchkit.patterns import pattern

MARK: Final = b'"x-mcp-header"'
PREFIX: Final = "mcp-param-"

_KEY = "x-mcp-header"
_TOKEN = pattern(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_KINDS = frozenset({"string", "integer", "boolean"})
_DECIMAL = pattern(r"(-?[0-9]+)(?:\.0+)?")


class Mark(Struct, frozen=True):
    """One property that a header repeats."""

    path: tuple[str, ...]
    token: str
    kind: Any

    @property
    def header(self) -> str:
        """The header's name, in lower case."""
        return PREFIX + self.token.lower()

    def value_in(self, arguments: Any) -> Any:
        """The marked value in a call's arguments; None when there is none."""
        value = arguments
        for name in self.path:
            if not isinstance(value, dict):
                return None
            value = cast("dict[str, Any]", value).get(name)
        return value


def marks(schema: Any, path: tuple[str, ...] = ()) -> Iterator[Mark]:
    """Every mark of an input schema that can be the name of a header."""
    for inner_path, inner in _properties(schema, path):
        token = inner.get(_KEY)
        if isinstance(token, str) and _TOKEN.fullmatch(token):
            yield Mark(inner_path, token, inner.get("type"))
        yield from marks(inner, inner_path)


def are_valid(schema: Any) -> bool:
    """Whether every mark is one that a client must heed. It passes over a tool with another."""
    found = list(marks(schema))
    named = {mark.header for mark in found}
    return (
        len(found) == _count(schema)
        and len(named) == len(found)
        and all(isinstance(mark.kind, str) and mark.kind in _KINDS for mark in found)
    )


def rendered(value: Any) -> str | None:
    """A value as its header carries it; None when no header does."""
    text = _text(value)
    return None if text is None else header_value(text)


def agree(mark: Mark, value: Any, text: str) -> bool:
    """Whether a header's text says what the body says. Whole numbers are compared as such."""
    if mark.kind == "integer" and isinstance(value, int | float) and not isinstance(value, bool):
        number = _DECIMAL.fullmatch(text)
        try:
            return number is not None and int(number[1]) == value
        except ValueError:
            # More digits than any number that we would read.
            return False
    return text == _text(value)


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _count(schema: Any) -> int:
    return sum((_KEY in inner) + _count(inner) for _, inner in _properties(schema, ()))


def _properties(
    schema: Any, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    if not isinstance(schema, dict):
        return
    properties: Any = cast("dict[str, Any]", schema).get("properties")
    if not isinstance(properties, dict):
        return
    for name, inner in cast("dict[str, Any]", properties).items():
        if isinstance(inner, dict):
            yield (*path, name), cast("dict[str, Any]", inner)
