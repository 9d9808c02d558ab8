"""JSON Schemas of the files, made from the tables that check them."""

from typing import Any

from switchboard.config.strict import Either, Items, Members, Table, Text, Truth, Whole
from switchboard.settings.files.file_shapes import CHILD, SIDECAR, SUITES, TOML, SourceShape

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> dict[str, dict[str, Any]]:
    """Each file in `schemas/` and its contents."""
    return {
        "mcp.schema.json": _root(SIDECAR, "mcp.json"),
        "config.schema.json": _root(TOML, "config.toml"),
        "switchboard.config.schema.json": _root(SUITES, "switchboard.config.json"),
        "child.mcp.schema.json": _root(CHILD, ".mcp.json of a suite child"),
    }


def _root(table: Table, title: str) -> dict[str, Any]:
    return {"$schema": _DIALECT, "title": title, **schema_of(table)}


def schema_of(kind: Any) -> dict[str, Any]:
    """The schema of one kind."""
    if isinstance(kind, SourceShape):
        kind = kind.kind
    schema = _bare(kind)
    about = getattr(kind, "about", "")
    return {"description": about, **schema} if about else schema


def _bare(kind: Any) -> dict[str, Any]:  # noqa: PLR0911 - one return a kind
    match kind:
        case Text():
            return _text(kind)
        case Whole():
            # `8000.0` is a whole number to the checker, and to JSON Schema.
            return {"type": "integer", "minimum": kind.minimum, "maximum": kind.maximum}
        case Truth():
            return {"type": "boolean"}
        case Items():
            return {"type": "array", "items": schema_of(kind.item)}
        case Members():
            return _members(kind)
        case Either():
            return {"anyOf": [schema_of(kind.first), schema_of(kind.other)]}
        case Table():
            return _table(kind)
        case _:
            return {}


def _text(kind: Text) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    rules: dict[str, Any] = {}
    if kind.choices:
        rules["enum"] = list(kind.choices)
    if kind.pattern:
        rules["pattern"] = f"^(?:{kind.pattern})$"
    if not kind.empty:
        rules["pattern"] = r"\S"
    if kind.later and rules:
        return {**schema, "anyOf": [rules, {"pattern": r"^\s*$|\$\{"}]}
    return {**schema, **rules}


def _members(kind: Members) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": schema_of(kind.value),
    }
    if kind.key.pattern:
        schema["propertyNames"] = {"pattern": f"^(?:{kind.key.pattern})$"}
    return schema


def _table(kind: Table) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: schema_of(field) for name, field in kind.fields.items()},
    }
    if kind.required:
        schema["required"] = list(kind.required)
    if kind.unknown == "error":
        schema["additionalProperties"] = False
    return {**schema, **kind.conditions}
