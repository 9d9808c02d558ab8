"""Typed values out of JSON: one strict decoder for named tuples and typed dictionaries."""

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, NotRequired, TypeVar, cast, get_args, get_origin

T = TypeVar("T")
_NAMES = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}


def decode(kind: type[T], value: object) -> T:
    """The JSON value as this type, every field checked.

    Unknown fields are ignored: a peer of another version may send more.
    Raises `ValueError` with the place of the first mistake.
    """
    return _decoded(kind, value, "")


def _decoded(kind: Any, value: Any, at: str) -> Any:  # noqa: PLR0911 - one for each kind
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin is UnionType:
        other = next(one for one in inside if one is not NoneType)
        return None if value is None and NoneType in inside else _decoded(other, value, at)
    if origin is Literal:
        return value if value in inside else _refuse(at, " or ".join(map(repr, inside)))
    if origin in (list, tuple):
        if not isinstance(value, list):
            _refuse(at, "a list")
        items = enumerate(cast("list[Any]", value))
        made = [_decoded(inside[0], one, f"{at}[{number}]") for number, one in items]
        return made if origin is list else tuple(made)
    if origin is Mapping:
        return {key: _decoded(inside[1], one, f"{at}.{key}") for key, one in _pairs(value, at)}
    if hasattr(kind, "_field_defaults"):
        required = set(kind._fields) - set(kind._field_defaults)
        # The types of a named tuple are those of its constructor, which its subclasses share.
        return kind(**_fields(kind.__new__.__annotations__, required, value, at))
    if hasattr(kind, "__required_keys__"):
        _fields(kind.__annotations__, kind.__required_keys__, value, at)
        return value
    if kind is float and type(value) is int:
        return float(value)
    # `type` instead of `isinstance`, because true counts as a whole number in Python.
    return value if type(value) is kind else _refuse(at, _NAMES[kind])


def _fields(types: Mapping[str, Any], required: set[str], value: Any, at: str) -> dict[str, Any]:
    """The known fields of an object, each decoded."""
    given = dict(_pairs(value, at))
    missing = sorted(required - set(given))
    if missing:
        raise ValueError(f"`{at}.{missing[0]}`".replace("`.", "`") + " is missing")
    made: dict[str, Any] = {}
    for name, wanted in types.items():
        if name in given:
            inner = get_args(wanted)[0] if get_origin(wanted) is NotRequired else wanted
            made[name] = _decoded(inner, given[name], f"{at}.{name}")
    return made


def _pairs(value: Any, at: str) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        _refuse(at, "an object")
    return list(cast("dict[str, Any]", value).items())


def _refuse(at: str, wanted: str) -> NoReturn:
    raise ValueError(f"`{at.lstrip('.') or 'it'}` must be {wanted}")
