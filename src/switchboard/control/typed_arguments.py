"""Arguments of a tool as they are typed, `key=value`, read by what the tool's schema asks for."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from switchboard.control.requests import USAGE
from switchboard.core.faults import Fault, FaultCode
from switchkit.suggest import did_you_mean

_WHOLE = re.compile(r"[+-]?\d+")
_NOTHING = object()
_TRUTHS = {"true": True, "false": False}
# References to references end somewhere.
_MOST_STEPS = 8
_DEFINED = ("#/$defs/", "#/definitions/")

Schema = Mapping[str, Any]


def typed_arguments(
    pairs: Sequence[str], schema: Schema, tool: str, given: Mapping[str, Any] = {}
) -> dict[str, Any]:
    """The arguments of a call, over those that are `given`. Raises a fault for what fits nothing.

    `key:=JSON` is taken as JSON. A list may be typed item by item: `key=a key=b`.
    """
    properties = _mapping(schema.get("properties"))
    typed: dict[str, Any] = {}
    for pair in pairs:
        key, _, text = pair.partition("=")
        if key.endswith(":") and key not in properties:
            value, is_item = _json(key[:-1], text, "JSON"), False
            key = key[:-1]
        else:
            _check_known(key, properties, schema, tool)
            value, is_item = _read(key, text, _resolved(properties.get(key), schema), schema)
        if is_item and isinstance(typed.get(key), list):
            typed[key] += value
        elif key in typed:
            raise _mistake(f"`{key}` is given twice")
        else:
            typed[key] = value
    whole = {**given, **typed}
    required = schema.get("required")
    for name in cast("list[Any]", required) if isinstance(required, list) else ():
        if isinstance(name, str) and name not in whole:
            raise _mistake(f"`{tool}` needs the argument `{name}`", f"{name}=VALUE")
    return whole


def _read(key: str, text: str, wanted: Schema, root: Schema) -> tuple[Any, bool]:
    """The value, and whether it is a list that another of the same key adds to."""
    kinds = _kinds(wanted, root)
    if "string" in kinds or not kinds:
        return _chosen(text, wanted), False
    value = _plain(text, kinds)
    if value is not _NOTHING:
        return value, False
    if "array" in kinds and not text.startswith("["):
        item, _ = _read(key, text, _resolved(wanted.get("items"), root), root)
        return [item], True
    if "array" in kinds or "object" in kinds:
        return _json(key, text, "JSON"), False
    raise _mistake(f"`{key}` must be {_in_words(kinds)}, not `{text}`")


def _plain(text: str, kinds: set[str]) -> Any:
    """A number, a truth or nothing at all, where the schema wants one and the text is one."""
    if text == "null" and "null" in kinds:
        return None
    if "boolean" in kinds and text in _TRUTHS:
        return _TRUTHS[text]
    if "integer" in kinds and _WHOLE.fullmatch(text):
        return int(text)
    return _number(text) if "number" in kinds else _NOTHING


def _kinds(wanted: Schema, root: Schema) -> set[str]:
    """The types that a schema allows; nothing where it does not say."""
    kind = wanted.get("type")
    found: set[str] = {kind} if isinstance(kind, str) else set(cast("list[str]", kind or ()))
    for word in ("anyOf", "oneOf"):
        for each in cast("list[Any]", wanted.get(word) or ()):
            found |= _kinds(_resolved(each, root), root)
    return found


def _resolved(schema: Any, root: Schema) -> Schema:
    """The schema that a local reference stands for."""
    found = _mapping(schema)
    for _ in range(_MOST_STEPS):
        place = found.get("$ref")
        if not isinstance(place, str) or not place.startswith(_DEFINED):
            break
        _, collection, name = place.split("/", 2)
        found = _mapping(_mapping(root.get(collection)).get(name))
    return found


def _chosen(text: str, wanted: Schema) -> Any:
    """One of the values that a schema without a type lists, else the text itself."""
    for value in cast("list[Any]", wanted.get("enum") or ()):
        if not isinstance(value, str) and msgspec.json.encode(value).decode() == text:
            return value
    return text


def _check_known(key: str, properties: Schema, schema: Schema, tool: str) -> None:
    if not key:
        raise _mistake("an argument has no name", "key=value")
    if key in properties or not properties:
        return
    meant = did_you_mean(key, properties)
    if meant or schema.get("additionalProperties") is False:
        hint = f"did you mean `{meant}`?" if meant else f"it takes {', '.join(properties)}"
        raise _mistake(f"`{tool}` has no argument `{key}`", hint)


def _number(text: str) -> Any:
    try:
        value: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return _NOTHING
    return value if isinstance(value, int | float) and not isinstance(value, bool) else _NOTHING


def _json(key: str, text: str, what: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise _mistake(f"`{key}` must be {what}: {error}", f"'{key}:={{\"a\": [1, 2]}}'") from None


_WORDS = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "`true` or `false`",
    "null": "`null`",
}


def _in_words(kinds: set[str]) -> str:
    return " or ".join(words for kind, words in _WORDS.items() if kind in kinds)


def _mapping(value: Any) -> Schema:
    return cast("Schema", value) if isinstance(value, dict) else {}


def _mistake(message: str, hint: str = "") -> Fault:
    return Fault(FaultCode.INVALID_ARGUMENT, USAGE, message, hint=hint)
