"""JSON that can be read in one way only, and its canonical form.

What a person is shown must be what the server will read. Two parsers that disagree on a document,
because a key stands in it twice or a number is none, would make two documents of it. So such a
document is refused, and numbers keep the digits that they were written with.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from switchboard.core.faults import Fault, FaultCode

MAX_DEPTH = 64


class Number(str):
    """A number as it is written: `1.0` and `1` are not the same to every reader."""

    __slots__ = ()


class _Refused(ValueError):
    pass


def read_strictly(raw: bytes) -> dict[str, Any]:
    """The object in these bytes, or an `invalid_argument` fault."""
    import json  # noqa: PLC0415 - only where somebody judges calls

    try:
        value: Any = json.loads(
            raw.decode(),
            object_pairs_hook=_members,
            parse_constant=_constant,
            parse_int=Number,
            parse_float=Number,
        )
        if not isinstance(value, dict):
            raise _Refused("they must be an object")
        members = cast("dict[str, Any]", value)
        _check(members, 1)
    except _Refused as refused:
        raise _fault(str(refused)) from None
    except RecursionError:
        raise _fault(_too_deep()) from None
    except UnicodeError:
        raise _fault("they are not UTF-8 text") from None
    except ValueError:
        raise _fault("they are not JSON") from None
    return members


def canonical(value: Any) -> bytes:
    """The one form of a value that was read strictly: keys in order, no blanks, digits kept."""
    import json  # noqa: PLC0415 - as above

    parts: list[str] = []
    _write(value, parts, partial(json.dumps, ensure_ascii=False))
    return "".join(parts).encode()


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Refused("a key appears twice in one object")
    return members


def _constant(word: str) -> Any:
    raise _Refused(f"`{word}` is not JSON")


def _check(value: Any, depth: int) -> None:
    if isinstance(value, dict | list):
        if depth > MAX_DEPTH:
            raise _Refused(_too_deep())
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            for key, inner in members.items():
                _check(key, depth)
                _check(inner, depth + 1)
        else:
            for inner in cast("list[Any]", value):
                _check(inner, depth + 1)
    elif isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _Refused("a text holds half of a character") from None


def _write(value: Any, parts: list[str], text_of: Callable[[Any], str]) -> None:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        parts.append("{")
        for place, key in enumerate(sorted(members)):
            parts.append("," if place else "")
            parts.append(text_of(key))
            parts.append(":")
            _write(members[key], parts, text_of)
        parts.append("}")
    elif isinstance(value, list):
        parts.append("[")
        for place, inner in enumerate(cast("list[Any]", value)):
            parts.append("," if place else "")
            _write(inner, parts, text_of)
        parts.append("]")
    elif isinstance(value, Number):
        parts.append(value)
    else:
        parts.append(text_of(value))


def _too_deep() -> str:
    return f"they are nested more than {MAX_DEPTH} levels deep"


def _fault(why: str) -> Fault:
    return Fault(
        FaultCode.INVALID_ARGUMENT,
        "arguments-ambiguous",
        f"the arguments cannot be shown for approval: {why}",
        hint="send plain JSON that has one reading",
    )
