"""What a model asks of these tools, read with patience: models write JSON as text, or `"5"` for 5.

What cannot be read is answered with what would be right, so that the next call succeeds.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw, Struct

from switchboard.core.faults import Fault, FaultCode

T = TypeVar("T", bound=Struct)

MOST_CALLS = 32
_LONGEST_NAME = 512
_MOST_FOUND = 50


class FindArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What is looked for."""

    query: str
    server: str | None = None
    limit: int | None = None
    detail: Literal["schema"] | None = None


class WantedCall(Struct, frozen=True):
    """One call that is wanted."""

    tool: str
    args: Any = None


# What is not known is refused: a call without what it was meant to have does something else.
class _OneCall(Struct, frozen=True, forbid_unknown_fields=True):
    tool: str | None = None
    args: Any = UNSET
    # Models say either, for MCP itself says this.
    arguments: Any = UNSET


class _Calls(_OneCall, frozen=True, forbid_unknown_fields=True):
    calls: list[_OneCall] | None = None


_HINT = 'send {"tool": "server.tool", "args": {…}}, or {"calls": [{"tool": …, "args": …}, …]}'


def checked_when_read(raw: Raw) -> None:
    """Nothing: whoever runs the call reads its arguments, and says what is wrong with them."""
    del raw


def read_find(raw: Raw) -> FindArguments:
    """What is looked for, or a fault."""
    wanted = _read(raw, FindArguments, 'send {"query": "what the tool should do"}')
    if wanted.limit is not None and not 1 <= wanted.limit <= _MOST_FOUND:
        raise _invalid(f"`limit` must be from 1 to {_MOST_FOUND}", "leave it out")
    return wanted


def read_calls(raw: Raw) -> WantedCall | list[WantedCall]:
    """One call, or several that are wanted at once; or a fault."""
    wanted = _read(raw, _Calls, _HINT)
    if wanted.calls is None:
        return _one(wanted)
    for name in ("tool", "args", "arguments"):
        if getattr(wanted, name) not in (None, UNSET):
            raise _invalid(f"`{name}` and `calls` exclude each other", _HINT)
    if not 1 <= len(wanted.calls) <= MOST_CALLS:
        raise _invalid(f"`calls` must have 1 to {MOST_CALLS} items", _HINT)
    return [_one(each) for each in wanted.calls]


def _one(wanted: _OneCall) -> WantedCall:
    if not wanted.tool:
        raise _invalid("`tool` is missing", _HINT)
    if len(wanted.tool) > _LONGEST_NAME:
        raise _invalid(f"`tool` is longer than {_LONGEST_NAME} letters", _HINT)
    if wanted.arguments is UNSET:
        return WantedCall(wanted.tool, None if wanted.args is UNSET else wanted.args)
    if wanted.args is not UNSET:
        raise _invalid("`args` and `arguments` are two names of the same", _HINT)
    return WantedCall(wanted.tool, wanted.arguments)


def object_of(args: Any) -> dict[str, Any]:
    """The arguments of a tool as an object, also where a model wrote them as text; or a fault."""
    if args is None or args == "":
        return {}
    if isinstance(args, str):
        try:
            args = msgspec.json.decode(args)
        except msgspec.MsgspecError as error:
            raise _invalid(f"`args` is text that is no JSON: {error}", "send an object") from None
        except RecursionError:
            raise too_deep() from None
    if not isinstance(args, dict):
        raise _invalid("`args` must be an object", "send the arguments by their names")
    return cast("dict[str, Any]", args)


def fitted(args: dict[str, Any], schema: object) -> dict[str, Any]:
    """The arguments with what plainly means a value of the wanted type turned into it."""
    properties = _mapping(_mapping(schema).get("properties"))
    return {name: _fitted(value, _kinds(properties.get(name))) for name, value in args.items()}


def _kinds(schema: object) -> list[str]:
    """The types that a value may have: one, or several where it may also be nothing."""
    declared = _mapping(schema)
    choices = [schema]
    for word in ("anyOf", "oneOf"):
        if isinstance(declared.get(word), list):
            choices = cast("list[object]", declared[word])
    kinds: list[str] = []
    for choice in choices:
        kind: object = _mapping(choice).get("type")
        kinds += map(str, cast("list[object]", kind) if isinstance(kind, list) else [kind])
    return kinds


def _fitted(value: Any, kinds: list[str]) -> Any:
    if any(isinstance(value, _PYTHON.get(kind, object)) for kind in kinds):
        return value
    turned = (_turned(value, kind) for kind in kinds)
    return next((each for each in turned if each is not value), value)


def _turned(value: Any, kind: str) -> Any:
    match kind:
        case "integer" | "number" | "boolean" | "null" if isinstance(value, str):
            return _meant(value, kind)
        case "string" if isinstance(value, int | float) and not isinstance(value, bool):
            return msgspec.json.encode(value).decode()
        case "array" if isinstance(value, str) and value.lstrip().startswith("["):
            return _meant(value, kind)
        case "array" if isinstance(value, str | int | float):
            return [value]
        case "object" if isinstance(value, str):
            return _meant(value, kind)
        case _:
            return value


_PYTHON: dict[str, type | tuple[type, ...]] = {
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "string": str,
    "array": list,
    "object": dict,
    "null": type(None),
}
_KINDS: dict[str, Any] = {
    "null": None,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
}


def _meant(text: str, kind: str) -> Any:
    """What the text says as JSON, if it is of the kind; else the text, which the check refuses."""
    try:
        return msgspec.json.decode(text.lower() if kind == "boolean" else text, type=_KINDS[kind])
    except (msgspec.MsgspecError, RecursionError):
        return text


def _read(raw: Raw, shape: type[T], hint: str) -> T:
    try:
        return msgspec.json.decode(raw, type=shape)
    except RecursionError:
        raise too_deep() from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        message = str(error).replace(" - at `$.", " at `").replace(" - at `$`", "")
        raise _invalid(message, hint) from None


def in_text() -> Fault:
    """A reference to a result where only its letters would arrive."""
    return _invalid("`$result` stands in a text", "send the object itself, not as text")


def too_deep() -> Fault:
    """Arguments of more levels than anybody reads."""
    return _invalid("the arguments are nested too deeply", "send fewer levels")


def _invalid(message: str, hint: str) -> Fault:
    return Fault(FaultCode.INVALID_ARGUMENT, "arguments-invalid", message, hint=hint)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
