"""A schema in fewer words, for an answer that has no room for all of them."""

from typing import Any, cast

import msgspec
from msgspec import Raw
from msgspec.json import encode

# What explains a value, and does not say what it may be.
_WORDS = frozenset({"description", "title", "examples", "$comment", "markdownDescription"})
# Members whose own names are names of the user's, and no words of the language.
_NAMED = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_LITERAL = frozenset({"enum", "const", "default", "required"})


def without_words(schema: Raw) -> Raw:
    """The schema without descriptions and examples."""
    return Raw(encode(_plain(msgspec.json.decode(schema))))


def outlined(schema: Raw) -> Raw:
    """The names and types of the arguments, and which are required."""
    read: Any = msgspec.json.decode(schema)
    if not isinstance(read, dict):
        return Raw(b"{}")
    members = cast("dict[str, Any]", read)
    found: Any = members.get("properties")
    arguments = cast("dict[str, Any]", found if isinstance(found, dict) else {})
    outline = {name: _type_of(value) for name, value in arguments.items()}
    kept = {key: members[key] for key in ("type", "required") if key in members}
    return Raw(encode({**kept, "properties": outline}))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    plain: dict[str, Any] = {}
    for key, inner in cast("dict[str, Any]", value).items():
        if key in _NAMED and isinstance(inner, dict):
            named = cast("dict[str, Any]", inner)
            plain[key] = {name: _plain(each) for name, each in named.items()}
        elif key in _LITERAL:
            plain[key] = inner
        elif key not in _WORDS:
            plain[key] = _plain(inner)
    return plain


def _type_of(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, dict):
        return {}
    members = cast("dict[str, Any]", schema)
    return {"type": members["type"]} if "type" in members else {}
