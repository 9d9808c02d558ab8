"""A tool in one line: its name and what it takes, as a signature.

A model reads a JSON Schema for three times the tokens and learns little more from it. What does not
fit a line is named as what it is (`object`, `any`), never left out.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

_TYPES = {
    "string": "string",
    "integer": "int",
    "number": "number",
    "boolean": "bool",
    "null": "null",
    "object": "object",
}
# Schemas are input: of a hostile one only this much is written.
_DEEPEST = 3
_MOST_PARAMETERS = 40
_MOST_CHOICES = 8
_LONGEST_VALUE = 40
_LONGEST_DOC = 160

_PLAIN_NAME = re.compile(r"[\w./:-]+")

Schema = Mapping[str, Any]


def signature(name: str, schema: object) -> str:
    """`name(path: string, depth?: int = 1)`; what may be left out has a question mark."""
    root = _mapping(schema)
    return f"{written_name(name)}({_members(root, root, _DEEPEST)})"


def written_name(name: str) -> str:
    """A tool's name within a line. Servers choose it: one that has a line of its own is quoted."""
    return name if _PLAIN_NAME.fullmatch(name) else json.dumps(name)


def returned(schema: object) -> str:
    """What a tool gives back: `{temperature: number, unit?: string}`."""
    root = _mapping(schema)
    return _type(root, root, _DEEPEST)


def parameter_docs(schema: object) -> list[str]:
    """A line for each parameter that says something about itself."""
    lines: list[str] = []
    for name, member in _properties(_mapping(schema))[:_MOST_PARAMETERS]:
        said = _mapping(member).get("description")
        if isinstance(said, str) and (text := " ".join(said.split())):
            cut = text if len(text) <= _LONGEST_DOC else text[: _LONGEST_DOC - 1].rstrip() + "…"
            lines.append(f"{_shown(name)}: {cut}")
    return lines


def _members(schema: Schema, root: Schema, depth: int) -> str:
    required = schema.get("required")
    needed = set[object](cast("list[object]", required)) if _is_names(required) else set[object]()
    found = _properties(schema)
    # What must be said comes first, as in any signature.
    found.sort(key=lambda member: member[0] not in needed)
    written = [_member(*each, each[0] in needed, root, depth) for each in found[:_MOST_PARAMETERS]]
    if len(found) > len(written):
        written.append(f"… {len(found) - len(written)} more")
    elif _is_open(schema) and not found and depth < _DEEPEST:
        return "[key]: any"
    return ", ".join(written)


def _member(name: str, member: object, is_needed: bool, root: Schema, depth: int) -> str:
    schema = _mapping(member)
    written = f"{_shown(name)}{'' if is_needed else '?'}: {_type(schema, root, depth)}"
    if "default" in schema and (value := _value(schema["default"])):
        written += f" = {value}"
    return written


def _type(schema: Schema, root: Schema, depth: int) -> str:
    if depth <= 0:
        return "any"
    if (reference := schema.get("$ref")) is not None:
        return _type(_referenced(reference, root), root, depth - 1)
    if (choices := _choices(schema, root, depth - 1)) is not None:
        return _union(choices)
    kind = schema.get("type", "object" if "properties" in schema else "")
    kinds = cast("list[object]", kind) if isinstance(kind, list) else [kind]
    return _union([_plain(each, schema, root, depth) for each in kinds[: _MOST_CHOICES + 1]])


def _choices(schema: Schema, root: Schema, depth: int) -> list[str] | None:
    """What a value is one of, where the schema says it so."""
    if "const" in schema:
        return [_value(schema["const"]) or "any"]
    if isinstance(values := schema.get("enum"), list):
        return [_value(each) or "any" for each in cast("list[object]", values)]
    for word in ("anyOf", "oneOf", "allOf"):
        kinds = schema.get(word)
        # One part of several that must all hold is no choice.
        if isinstance(kinds, list) and (word != "allOf" or len(cast("list[object]", kinds)) == 1):
            parts = cast("list[object]", kinds)[: _MOST_CHOICES + 1]
            return [_type(_mapping(each), root, depth) for each in parts]
    return None


def _plain(kind: object, schema: Schema, root: Schema, depth: int) -> str:
    if kind == "array":
        item = _type(_mapping(schema.get("items")), root, depth - 1) if "items" in schema else "any"
        return f"({item})[]" if "|" in item and not item.startswith("{") else f"{item}[]"
    if kind == "object" and depth > 1 and (inner := _members(schema, root, depth - 1)):
        return f"{{{inner}}}"
    return _TYPES.get(kind, "any") if isinstance(kind, str) else "any"


def _union(parts: list[str]) -> str:
    several = list(dict.fromkeys(parts))
    if len(several) > _MOST_CHOICES:
        several = [*several[:_MOST_CHOICES], "…"]
    return "|".join(several) or "any"


def _referenced(reference: object, root: Schema) -> Schema:
    """What a reference within the schema leads to; one that leads elsewhere is never followed."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return {}
    found: object = root
    for step in reference.removeprefix("#").split("/")[1:]:
        found = _mapping(found).get(step.replace("~1", "/").replace("~0", "~"))
    return _mapping(found)


def _value(value: object) -> str:
    """A value as JSON, or nothing if it is too long to be read in a line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""
    return text if len(text) <= _LONGEST_VALUE else ""


def _shown(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name, ensure_ascii=False)


def _properties(schema: Schema) -> list[tuple[str, object]]:
    return list(_mapping(schema.get("properties")).items())


def _is_open(schema: Schema) -> bool:
    return bool(schema.get("additionalProperties", False))


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, str) for each in cast("list[object]", value)
    )


def _mapping(value: object) -> Schema:
    return cast("Schema", value) if isinstance(value, Mapping) else {}
