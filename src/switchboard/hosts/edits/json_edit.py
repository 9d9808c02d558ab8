"""Members and items of a JSON text, put in and taken out where they stand.

Comments and commas after the last item are blanked for reading, which moves nothing: a place in the
plain text is the same place in the text of the file.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn, cast

from msgspec import Struct

from switchboard.config.json_comments import without_comments
from switchboard.config.json_text import JsonInvalid, read_json
from switchboard.config.key_positions import spot_at
from switchboard.hosts.edits.spots import json_spots
from switchboard.hosts.edits.unfit import UnfitFile

_BLANKS = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"[ \t]*")
_STEP = re.compile(r"\n([ \t]++)\S")
# What stands between two members.
_BETWEEN = re.compile(r"[ \t]++|\r?\n|\r|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?|,")
_DECODER = json.JSONDecoder()
_DEFAULT_STEP = "  "


class _Part(Struct, frozen=True):
    """A member of an object, or an item of a list: where it starts, its value, and its end."""

    key: str
    start: int
    value: int
    end: int


class _Holder(Struct, frozen=True):
    """An object or a list: from its bracket to behind the closing one."""

    start: int
    end: int
    parts: tuple[_Part, ...]

    def member(self, key: str) -> _Part | None:
        """The last one of that name, which is the one that counts."""
        return next((each for each in reversed(self.parts) if each.key == key), None)


def read_tree(text: str, *, with_comments: bool) -> dict[str, Any]:
    """What the text says. A file without a value says nothing. Raises `UnfitFile`."""
    read = without_comments(text) if with_comments else text
    if not read.strip():
        return {}
    try:
        value = json.loads(read, parse_constant=_refuse)
    except RecursionError:
        raise UnfitFile("the value is nested too deep") from None
    except ValueError:
        value = _read_slowly(read, text)
    if not isinstance(value, dict):
        raise UnfitFile("the file does not hold an object")
    return cast("dict[str, Any]", value)


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _read_slowly(read: str, text: str) -> Any:
    """The same by the reader that says what is wrong, and where."""
    try:
        return read_json(read).value
    except JsonInvalid as wrong:
        spot = spot_at(text, wrong.offset)
        raise UnfitFile(wrong.message, line=spot.line, column=spot.column) from None


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """The text with this value at the path; objects on the way are made where they are missing."""
    plain = without_comments(text)
    if not plain.strip():
        above = f"{text.rstrip()}{_newline(text)}" if text.strip() else ""
        whole = _nested(path, value)
        return f"{above}{_lines(whole, '', _newline(text), _DEFAULT_STEP)}{_newline(text)}"
    here = _holder_at(plain, _skip(plain, 0))
    for position, key in enumerate(path):
        member = here.member(key)
        rest = path[position + 1 :]
        if member is None:
            return _inserted(text, plain, here, _named(key), _nested(rest, value))
        if not rest:
            return _replaced(text, plain, member, value)
        if plain.startswith("null", member.value):
            return _replaced(text, plain, member, _nested(rest, value))
        here = _holder_at(plain, member.value)
    raise ValueError("a path has at least one key")


def with_member_of(text: str, path: Sequence[str], value: Any, source: str) -> str:
    """The same as `with_member`, with the value as another text has it, comments included."""
    text = with_member(text, path, value)
    there = _led(without_comments(source), path[:-1])
    here = _led(without_comments(text), path[:-1])
    old = there.member(path[-1]) if there is not None else None
    new = here.member(path[-1]) if here is not None else None
    if old is None or new is None:
        return text
    written = source[old.value : old.end]
    if not any(each.is_comment for each in json_spots(written)):
        # Without a comment it is written as its neighbours are.
        return text
    indents = (f"\n{_indent_of(source, old.start)}", f"\n{_indent_of(text, new.start)}")
    return f"{text[: new.value]}{written.replace(*indents)}{text[new.end :]}"


def without_member(text: str, path: Sequence[str]) -> str:
    """The text without what stands at the path."""
    plain = without_comments(text)
    here = _led(plain, path[:-1])
    # From behind, so that the places of the others stay true.
    while here is not None and (member := here.member(path[-1])) is not None:
        text = _removed(text, here, member)
        plain = without_comments(text)
        here = _led(plain, path[:-1])
    return text


def with_item(text: str, path: Sequence[str], count: int, item: Any) -> str:
    """The text with one more item in the list of so many at the path."""
    plain = without_comments(text)
    here = _led(plain, path)
    if here is None or len(here.parts) != count:
        raise UnfitFile(f"`{'.'.join(path)}` is not a list")
    return _inserted(text, plain, here, "", item)


def without_item(text: str, path: Sequence[str], at: int) -> str:
    """The text without one item of the list at the path."""
    here = _led(without_comments(text), path)
    if here is None or at >= len(here.parts):
        raise UnfitFile(f"`{'.'.join(path)}` is not a list")
    return _removed(text, here, here.parts[at])


def _led(plain: str, path: Sequence[str]) -> _Holder | None:
    """The object or list at the path."""
    here = _holder_at(plain, _skip(plain, 0))
    for key in path:
        member = here.member(key)
        if member is None or plain[member.value] not in "{[":
            return None
        here = _holder_at(plain, member.value)
    return here


def _holder_at(plain: str, at: int) -> _Holder:
    is_list = plain.startswith("[", at)
    closing = "]" if is_list else "}"
    parts: list[_Part] = []
    place = _skip(plain, at + 1)
    try:
        while plain[place] != closing:
            key, value = "", place
            if not is_list:
                key, after = _DECODER.raw_decode(plain, place)
                value = _skip(plain, _skip(plain, after) + 1)
            _, end = _DECODER.raw_decode(plain, value)
            parts.append(_Part(key, place, value, end))
            place = _skip(plain, end)
            if plain[place] == ",":
                place = _skip(plain, place + 1)
    except (IndexError, ValueError, RecursionError):
        raise UnfitFile("the file cannot be followed") from None
    return _Holder(at, place + 1, tuple(parts))


def _skip(plain: str, at: int) -> int:
    found = _BLANKS.match(plain, at)
    assert found is not None
    return found.end()


def _between(text: str, start: int, end: int) -> list[tuple[int, str]]:
    """Blanks, line ends, comments and commas between two places that hold nothing else."""
    return [(each.start(), each[0]) for each in _BETWEEN.finditer(text, start, end)]


def _comma(text: str, start: int, end: int) -> int:
    """Where the comma stands; -1 if there is none."""
    return next((at for at, word in _between(text, start, end) if word == ","), -1)


def _inserted(text: str, plain: str, here: _Holder, name: str, value: Any) -> str:
    """The text with one more part behind the last."""
    newline, step = _newline(text), _step(plain)
    closing = here.end - 1
    if not here.parts and "\n" not in text.strip():
        return f"{text[:closing].rstrip()}{name}{_dumped(value)}{text[closing:]}"
    if not here.parts:
        indent = _indent_of(text, here.start)
        body = name + _lines(value, indent + step, newline, step)
        before = text[:closing].rstrip(" \t\r\n")
        return f"{before}{newline}{indent}{step}{body}{newline}{indent}{text[closing:]}"
    last = here.parts[-1]
    comma = _comma(text, last.end, closing)
    if "\n" not in text[here.start : last.start]:
        head = text[: last.end]
        return f"{head}, {name}{_dumped(value)}{text[last.end :]}"
    indent = _indent_of(text, last.start)
    body = name + _lines(value, indent, newline, step)
    start = last.end if comma < 0 else comma + 1
    at = _line_end(text, start, closing)
    head = f"{text[: last.end]},{text[last.end : at]}" if comma < 0 else text[:at]
    # Whoever writes a comma behind the last one goes on doing so.
    return f"{head}{newline}{indent}{body}{',' if comma >= 0 else ''}{text[at:]}"


def _line_end(text: str, start: int, end: int) -> int:
    """Behind what stands on the line: a comment behind the last member stays behind it."""
    last = start
    for at, word in _between(text, start, end):
        if "\n" in word or word == "\r":
            break
        if not word.isspace():
            last = at + len(word)
    # A comment up to the line end may hold the first half of that.
    return last - text[:last].endswith("\r") if last > start else last


def _replaced(text: str, plain: str, part: _Part, value: Any) -> str:
    written = _lines(value, _indent_of(text, part.start), _newline(text), _step(plain))
    return text[: part.value] + written + text[part.end :]


def _removed(text: str, here: _Holder, part: _Part) -> str:
    """The text without one part, its comma, and the line that is empty then."""
    position = here.parts.index(part)
    is_last = position == len(here.parts) - 1
    following = here.end - 1 if is_last else here.parts[position + 1].start
    start, end = part.start, part.end
    cuts: list[tuple[int, int]] = []
    comma = _comma(text, end, following)
    if comma >= 0 and text[end:comma].strip(" \t") == "":
        end = comma + 1
    elif comma >= 0:
        cuts.append((comma, comma + 1))
    elif position:
        # The one before it is the last now; a comma behind it would be one too many.
        before = _comma(text, here.parts[position - 1].end, start)
        cuts.append((before, before + 1))
    cuts.append(_with_blanks(text, start, end, may_go_left=is_last))
    for first, last in sorted(cuts, reverse=True):
        text = text[:first] + text[last:]
    return text


def _with_blanks(text: str, start: int, end: int, *, may_go_left: bool) -> tuple[int, int]:
    """The place with its whole line if nothing else is on it, else with the blanks on one side."""
    line = text.rfind("\n", 0, start) + 1
    right = end
    while text[right : right + 1] in {" ", "\t"}:
        right += 1
    rest = text[right : right + 2]
    is_first = not text[line:start].strip(" \t")
    if is_first and rest.startswith(("\n", "\r\n")):
        return line, right + (2 if rest == "\r\n" else 1)
    if is_first or not may_go_left:
        return start, right
    left = start
    while text[left - 1] in " \t":
        left -= 1
    return left, end


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _named(key: str) -> str:
    return f"{_dumped(key)}: "


def _dumped(value: Any, step: str | None = None) -> str:
    try:
        text = json.dumps(value, indent=step, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        # Half of a pair has no bytes, but an escape.
        return json.dumps(value, indent=step, allow_nan=False)
    except (ValueError, TypeError):
        raise UnfitFile("JSON has no words for a value") from None
    return text


def _lines(value: Any, indent: str, newline: str, step: str) -> str:
    return f"{newline}{indent}".join(_dumped(value, step).split("\n"))


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_of(text: str, at: int) -> str:
    found = _INDENT.match(text, text.rfind("\n", 0, at) + 1)
    assert found is not None
    return found[0]


def _step(plain: str) -> str:
    """One step of indentation, as the file has it."""
    found = _STEP.search(plain)
    return found[1] if found else _DEFAULT_STEP
