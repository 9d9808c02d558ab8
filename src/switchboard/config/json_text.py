"""Strict JSON with positions.

The standard reader keeps the last of two equal keys without a word, takes `NaN`, and remembers no
places. This one refuses what RFC 8259 does not allow and notes the offset of every key. One regular
expression finds each token, so a file of a few kilobytes costs well under a millisecond.
"""

import re
from typing import Any, NoReturn

from msgspec import Struct

from switchboard.config.key_positions import OffsetSpots

MAX_DEPTH = 64
# The standard library refuses to convert longer ones, and no setting needs them.
_MAX_DIGITS = 4_000

_BLANK = r"[ \t\n\r]*"
_VALUE = re.compile(
    _BLANK + r'(?:"([^"\\\x00-\x1f]*)"'
    r"|([{\[])"
    r"|(true|false|null)(?![A-Za-z0-9_])"
    r"|(-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?)(?![A-Za-z0-9_.+-])"
    r")?"
)
_KEY = re.compile(_BLANK + r'"([^"\\\x00-\x1f]*)"' + _BLANK + r":")
_NEXT = re.compile(_BLANK + r"([,}\]])?")
_SPACE = re.compile(_BLANK)

# Compiled on first use, for compiling costs more than reading a file: these are for strings with
# escapes and for texts that are refused.
_STRING = r'"([^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*)"'
_ESCAPE = r"\\(?:(u)([0-9a-fA-F]{4})|(.))"
_WORD = r"[A-Za-z0-9_.+-]{1,20}"
_SURROGATE = "[\ud800-\udfff]"

_WORDS = {"true": True, "false": False, "null": None}
_PLAIN_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_FOREIGN_WORDS = {"True": "true", "False": "false", "None": "null", "undefined": "null"}


class JsonInvalid(Exception):
    """The text is not strict JSON; `offset` is where that shows."""

    def __init__(self, offset: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message
        self.hint = hint


class Repeated(Struct, frozen=True):
    """A key that its object already has."""

    offset: int
    key: str
    path: tuple[str | int, ...]


class JsonText(Struct, frozen=True):
    """What was read: the value, the places of its keys, and the keys that came twice."""

    value: Any
    spots: OffsetSpots
    repeated: tuple[Repeated, ...]


def read_json(text: str) -> JsonText:
    """Read one JSON value that fills the whole text, or raise `JsonInvalid`."""
    if text.startswith("\ufeff"):
        raise JsonInvalid(0, "the file begins with a byte order mark", "save it as plain UTF-8")
    reader = _Reader(text)
    value, end = reader.value(0, ())
    rest = _SPACE.match(text, end)
    assert rest is not None
    if rest.end() != len(text):
        raise JsonInvalid(
            rest.end(),
            "there is more text after the end of the JSON value",
            "a file holds exactly one JSON value",
        )
    return JsonText(value, OffsetSpots(text, value, reader.table), tuple(reader.repeated))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.table: dict[int, dict[Any, int]] = {}
        self.repeated: list[Repeated] = []

    def value(self, at: int, path: tuple[str | int, ...]) -> tuple[Any, int]:
        found = _VALUE.match(self.text, at)
        assert found is not None
        match found.lastindex:
            case 1:
                return found[1], found.end()
            case 2:
                if len(path) >= MAX_DEPTH:
                    raise JsonInvalid(
                        found.start(2), f"the value is nested more than {MAX_DEPTH} levels deep"
                    )
                container = self._members if found[2] == "{" else self._items
                return container(found.end(), path)
            case 3:
                return _WORDS[found[3]], found.end()
            case None:
                start = found.end()
                if self.text.startswith('"', start):
                    return self._string(start)
                return self._refuse_value(start)
            case _:
                return self._number(found), found.end()

    def _members(self, at: int, path: tuple[str | int, ...]) -> tuple[dict[str, Any], int]:
        text = self.text
        members: dict[str, Any] = {}
        offsets: dict[Any, int] = {}
        self.table[id(members)] = offsets
        empty = _NEXT.match(text, at)
        if empty is not None and empty[1] == "}":
            return members, empty.end()
        while True:
            found = _KEY.match(text, at)
            if found is not None:
                key, start, at = found[1], found.start(1) - 1, found.end()
            else:
                key, start, at = self._hard_key(at)
            value, at = self.value(at, (*path, key))
            if key in members:
                self.repeated.append(Repeated(start, key, (*path, key)))
            else:
                offsets[key] = start
            members[key] = value
            following = _NEXT.match(text, at)
            assert following is not None
            if following[1] == ",":
                at = following.end()
                continue
            if following[1] == "}":
                return members, following.end()
            self._refuse_next(following.end(), "}")

    def _items(self, at: int, path: tuple[str | int, ...]) -> tuple[list[Any], int]:
        text = self.text
        items: list[Any] = []
        offsets: dict[Any, int] = {}
        self.table[id(items)] = offsets
        empty = _NEXT.match(text, at)
        if empty is not None and empty[1] == "]":
            return items, empty.end()
        while True:
            blank = _SPACE.match(text, at)
            assert blank is not None
            offsets[len(items)] = blank.end()
            value, at = self.value(at, (*path, len(items)))
            items.append(value)
            following = _NEXT.match(text, at)
            assert following is not None
            if following[1] == ",":
                at = following.end()
                continue
            if following[1] == "]":
                return items, following.end()
            self._refuse_next(following.end(), "]")

    def _hard_key(self, at: int) -> tuple[str, int, int]:
        """A key with escapes in it, or no key at all."""
        blank = _SPACE.match(self.text, at)
        assert blank is not None
        start = blank.end()
        if not self.text.startswith('"', start):
            self._refuse_key(start)
        key, end = self._string(start)
        colon = _SPACE.match(self.text, end)
        assert colon is not None
        if not self.text.startswith(":", colon.end()):
            raise JsonInvalid(colon.end(), "expected `:` after the key")
        return key, start, colon.end() + 1

    def _string(self, start: int) -> tuple[str, int]:
        found = re.compile(_STRING).match(self.text, start)
        if found is None:
            self._refuse_string(start)
        try:
            return _unescaped(found[1]), found.end()
        except UnicodeDecodeError:
            raise JsonInvalid(
                start, "the string has half of a surrogate pair", "write the character itself"
            ) from None

    def _number(self, found: re.Match[str]) -> int | float:
        digits = found[4]
        if len(digits) > _MAX_DIGITS:
            raise JsonInvalid(found.start(4), "the number has too many digits")
        if found[5] is None and found[6] is None:
            return int(digits)
        number = float(digits)
        if number in (float("inf"), float("-inf")):
            raise JsonInvalid(found.start(4), f"the number `{digits}` is too large")
        return number

    def _refuse_value(self, at: int) -> NoReturn:
        text = self.text
        if at >= len(text):
            raise JsonInvalid(at, "the file ends where a value should be")
        word = re.compile(_WORD).match(text, at)
        if word is not None and word[0].lstrip("+-") in {"NaN", "Infinity", "nan", "inf"}:
            raise JsonInvalid(at, f"`{word[0]}` is not a JSON number")
        if word is not None:
            meant = _FOREIGN_WORDS.get(word[0], "")
            hint = f"write `{meant}`" if meant else "strings need double quotes"
            raise JsonInvalid(at, f"`{word[0]}` is not a JSON value", hint)
        self._refuse_comment(at)
        if text[at] == "'":
            raise JsonInvalid(at, "strings need double quotes, not single quotes")
        if text[at] in "}]":
            raise JsonInvalid(at, f"expected a value before `{text[at]}`", "remove the last comma")
        raise JsonInvalid(at, f"expected a value, found {_shown(text[at])}")

    def _refuse_key(self, at: int) -> NoReturn:
        text = self.text
        if at >= len(text):
            raise JsonInvalid(at, "the file ends inside an object", "is a `}` missing?")
        self._refuse_comment(at)
        if text[at] == "}":
            raise JsonInvalid(at, "expected a key before `}`", "remove the last comma")
        raise JsonInvalid(at, f"expected a key in double quotes, found {_shown(text[at])}")

    def _refuse_next(self, at: int, closing: str) -> NoReturn:
        text = self.text
        if at >= len(text):
            raise JsonInvalid(at, f"the file ends before `{closing}`")
        self._refuse_comment(at)
        raise JsonInvalid(at, f"expected `,` or `{closing}`, found {_shown(text[at])}")

    def _refuse_comment(self, at: int) -> None:
        if self.text.startswith(("//", "/*", "#"), at):
            raise JsonInvalid(at, "JSON has no comments", "remove the comment")

    def _refuse_string(self, start: int) -> NoReturn:
        text = self.text
        at = start + 1
        while at < len(text):
            letter = text[at]
            if letter == '"':
                break
            if letter < " ":
                raise JsonInvalid(
                    at,
                    f"the string holds the control character {_shown(letter)}",
                    "write it as an escape such as `\\n`, or close the string",
                )
            if letter == "\\":
                if re.compile(_ESCAPE).match(text, at) is None or (
                    text[at + 1] not in '"\\/bfnrtu'
                    or (text[at + 1] == "u" and not _is_hex(text[at + 2 : at + 6]))
                ):
                    raise JsonInvalid(
                        at, f"`{text[at : at + 2]}` is not an escape of JSON", "double the `\\`"
                    )
                at += 1
            at += 1
        raise JsonInvalid(start, "the string is not closed")


def _unescaped(body: str) -> str:
    if "\\" not in body:
        return body
    text = re.sub(_ESCAPE, _escape, body)
    if re.search(_SURROGATE, text) is None:
        return text
    # Pairs join into one character; half a pair cannot be encoded and is refused.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _escape(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[2], 16))
    return _PLAIN_ESCAPES.get(found[3], found[3])


def _is_hex(digits: str) -> bool:
    return len(digits) == 4 and all(digit in "0123456789abcdefABCDEF" for digit in digits)  # noqa: PLR2004 - \uXXXX


def _shown(letter: str) -> str:
    return f"`{letter}`" if letter.isprintable() else f"U+{ord(letter):04X}"
