"""Which schemas hosts refuse, and with them every request of a session: one bad tool ends all.

The rules are those that the APIs of Anthropic, OpenAI and Gemini document for tools. A schema is
mended where it says the same afterwards, and otherwise named with the rule that it breaks.
"""

from typing import Any, NamedTuple, cast

import msgspec

from switchboard.children.listings.host_enums import with_texts_alone
from switchboard.children.listings.listing import ToolListing
from switchkit.patterns import pattern

Members = dict[str, Any]

_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_KEY = pattern(r"[a-zA-Z0-9_.-]{1,64}")
# At the top they say of an object that it is something else, which no API takes.
_CHOICES = ("anyOf", "oneOf", "allOf", "enum", "not")
_INNER = ("items", "additionalProperties", "not", "contains", "propertyNames")
_INNER_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_INNER_TABLES = ("properties", "$defs", "definitions", "patternProperties")
# Schemas are input. Deeper than this no API takes them.
_DEEPEST = 64


# Clients that send their tools to one of these APIs, by how their name begins. Whoever else is
# served, a program or a test of the protocol, is given every schema as its server wrote it.
_HOSTS = (
    *("claude", "codex", "gemini", "qwen", "visual studio code", "copilot", "github-copilot"),
    *("cursor", "windsurf", "devin", "antigravity", "opencode", "cline", "roo", "crush", "kiro"),
    *("zed", "goose", "amp", "droid", "factory", "jetbrains", "junie", "warp", "continue"),
)


def shows_to_model(client: str) -> bool:
    """Whether a client of this name sends what it lists to a model of a vendor."""
    return client.lower().startswith(_HOSTS)


class HostJudgement(NamedTuple):
    """A schema as hosts can be shown it, or the rule that it breaks."""

    schema: Any
    is_mended: bool = False
    rule: str = ""


class _BrokenRule(Exception):
    """The schema cannot be mended; the message is the rule."""


def refused_tools(listing: ToolListing) -> dict[str, str]:
    """The tools that hosts would refuse, with the rule that each breaks."""
    found = (
        (name, judged(msgspec.json.decode(tool.input_schema)).rule)
        for name, tool in listing.tools.items()
    )
    return {name: rule for name, rule in found if rule}


def judged(schema: Any) -> HostJudgement:
    """Whether hosts take a schema for the arguments of a tool."""
    if not isinstance(schema, dict):
        return HostJudgement(schema, rule="the schema must be an object")
    before = cast("Members", schema)
    try:
        mended = _mended_root(before)
    except _BrokenRule as broken:
        return HostJudgement(before, rule=str(broken))
    return HostJudgement(mended, is_mended=mended != before)


def _mended_root(schema: Members) -> Members:
    for word in _CHOICES:
        if word in schema:
            raise _BrokenRule(f"`{word}` is not allowed at the top")
    kind = schema.get("type", "object")
    if isinstance(kind, list) and "object" in kind:
        # Arguments are always an object.
        kind = "object"
    if kind != "object":
        raise _BrokenRule('`type` must be "object" at the top')
    schema = {**schema, "type": "object"}
    # Which draft it was written for; what is left means the same in all of them.
    schema.pop("$schema", None)
    schema = _mended(schema, 0)
    for name in _table(schema.get("properties")):
        if not _KEY.fullmatch(name):
            raise _BrokenRule("names of parameters have 1 to 64 of a-z, A-Z, 0-9, `_`, `.` and `-`")
    return schema


def _mended(schema: Any, depth: int) -> Any:
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):
        raise _BrokenRule("a schema must be an object, or true or false")
    if depth > _DEEPEST:
        raise _BrokenRule(f"schemas are nested at most {_DEEPEST} deep")
    found = dict(cast("Members", schema))
    _check_type(found.get("type"))
    for word in ("properties", "required", "items", "enum"):
        if found.get(word, ...) is None:
            del found[word]
    _mend_required(found, is_root=depth == 0)
    _mend_items(found)
    _mend_inner(found, depth + 1)
    if "enum" in found:
        _mend_enum(found)
    return found


def _mend_enum(found: Members) -> None:
    values = _strict_list("enum", found)
    if not values:
        raise _BrokenRule("`enum` must have a value")
    said = with_texts_alone(values, found.get("type"))
    if said is None or (said.keys() & found.keys()) - {"type", "enum"}:
        raise _BrokenRule("`enum` must have texts, numbers or null, all of its `type`")
    found.pop("type", None)
    del found["enum"]
    found |= said


def _mend_items(found: Members) -> None:
    if isinstance(found.get("items"), list):
        # As older drafts wrote it.
        found["prefixItems"] = found.pop("items")
        if "additionalItems" in found:
            found["items"] = found.pop("additionalItems")
    elif found.get("type") == "array" and "prefixItems" not in found:
        # Any items, as before; OpenAI wants it said.
        found.setdefault("items", {})


def _mend_inner(found: Members, depth: int) -> None:
    for word in found.keys() & set(_INNER_TABLES):
        table = _strict_table(word, found)
        found[word] = {name: _mended(each, depth) for name, each in table.items()}
    for word in found.keys() & set(_INNER):
        found[word] = _mended(found[word], depth)
    for word in found.keys() & set(_INNER_LISTS):
        found[word] = [_mended(each, depth) for each in _strict_list(word, found)]


def _check_type(kind: Any) -> None:
    for each in cast("list[Any]", kind) if isinstance(kind, list) else [kind]:
        if each is not None and each not in _TYPES:
            raise _BrokenRule(f"`{str(each)[:40]}` is no type of JSON Schema")


def _mend_required(found: Members, *, is_root: bool) -> None:
    """Say on the object what parameters say of themselves; of the root no more than there is."""
    table = _table(found.get("properties"))
    said = found.get("required")
    # On a parameter itself it says that the parameter is needed; its owner has seen to that.
    if isinstance(said, bool):
        del found["required"]
        said = None
    own = [name for name, each in table.items() if _table(each).get("required") is True]
    if said is None and not own:
        return
    names = _strict_list("required", found) if said is not None else []
    if not all(isinstance(each, str) for each in names):
        raise _BrokenRule("`required` must be a list of names")
    kept = [each for each in names if each in table or not is_root]
    found["required"] = list(dict.fromkeys([*kept, *own]))


def _table(value: Any) -> Members:
    return cast("Members", value) if isinstance(value, dict) else {}


def _strict_table(word: str, schema: Members) -> Members:
    if not isinstance(schema[word], dict):
        raise _BrokenRule(f"`{word}` must be an object")
    return schema[word]


def _strict_list(word: str, schema: Members) -> list[Any]:
    if not isinstance(schema[word], list):
        raise _BrokenRule(f"`{word}` must be a list")
    return schema[word]
