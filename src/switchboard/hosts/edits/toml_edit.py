"""Tables of a TOML text, put in and taken out as whole lines.

Only the places of headers and keys are looked for; whatever the lines hold stays as it is written.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec import Struct

from switchboard.config.toml_text import TomlInvalid, read_toml
from switchboard.hosts.edits.unfit import UnfitFile
from switchkit.toml.values import toml_key, toml_value

_BLANK_LINE = re.compile(r"[ \t]*+\r?\n")
_NAMES = r"""(?:"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[^"'\n=\[\]#])*+"""
_HEADER = re.compile(rf"\[\[?{_NAMES}\]\]?")
_KEY = re.compile(rf"{_NAMES}=")
# Blank lines and comments between statements.
_BETWEEN = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
# What a value may hold that is more than one letter, and the ends of what is open.
_WORD = re.compile(
    r'"""(?:[^"\\]++|\\(?s:.)|"(?!""))*+"{0,5}+'
    r"|'''(?:[^']++|'(?!''))*+'{0,5}+"
    r'|"(?:[^"\\\n]++|\\.)*+"?+'
    r"|'[^'\n]*+'?+"
    r"|#[^\n]*+"
    r"|[\[{\]}\n]"
)


class _Statement(Struct, frozen=True):
    """A header, or a key with its value: its whole path, and its lines from the first letter on."""

    path: tuple[str, ...]
    start: int
    end: int
    is_header: bool


def read_tree(text: str) -> dict[str, Any]:
    """What the text says. Raises `UnfitFile`."""
    try:
        return read_toml(text)[0]
    except TomlInvalid as wrong:
        raise UnfitFile(wrong.message, line=wrong.line, column=wrong.column) from None


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """The text with this table at the path: where it stood, or behind everything else."""
    if not isinstance(value, dict):
        raise UnfitFile(f"`{'.'.join(path)}` would have to be a table")
    newline = "\r\n" if "\r\n" in text else "\n"
    members = cast("dict[str, Any]", value).items()
    table = [f"[{'.'.join(map(toml_key, path))}]"]
    try:
        table += [f"{toml_key(key)} = {toml_value(each)}" for key, each in members]
    except ValueError as unsayable:
        raise UnfitFile(str(unsayable)) from None
    block = "".join(f"{line}{newline}" for line in table)
    own = [each for each in _statements(text) if each.path[: len(path)] == tuple(path)]
    header = next((each for each in own if each.is_header and each.path == tuple(path)), None)
    if header is not None:
        # What is before it stays before it.
        rest = without_member(text[header.start :], path)
        before = without_member(text[: header.start], path)
        return f"{before}{block}{newline if rest.strip() else ''}{rest}"
    return _with_block(without_member(text, path), block)


def with_member_of(text: str, path: Sequence[str], value: Any, source: str) -> str:
    """The same as `with_member`, with the lines that another text has for it."""
    lines = [source[start:end] for start, end in _regions(source, tuple(path))]
    if not lines:
        return with_member(text, path, value)
    newline = "\r\n" if "\r\n" in text else "\n"
    ended = [each if each.endswith("\n") else each + newline for each in lines]
    return _with_block(without_member(text, path), newline.join(ended))


def _with_block(text: str, block: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += newline
    apart = newline if text.strip() and not text.endswith(newline * 2) else ""
    return f"{text}{apart}{block}"


def without_member(text: str, path: Sequence[str]) -> str:
    """The text without what stands at the path; comments behind it stay."""
    kept: list[str] = []
    done = 0
    for start, end in _regions(text, tuple(path)):
        kept.append(text[done:start])
        done = end
        # Of the blank lines around it those before it are enough.
        if not "".join(kept).strip(" \t\r\n") or "".join(kept).endswith(("\n\n", "\n\r\n")):
            while (line := _BLANK_LINE.match(text, done)) is not None:
                done = line.end()
    kept.append(text[done:])
    left = "".join(kept)
    if done == len(text) and left != text:
        # No blank line is left at the end that only parted it from what is gone.
        words = left.rstrip(" \t\r\n")
        left = words + left[len(words) : left.find("\n", len(words)) + 1] if words else ""
    return left


def _regions(text: str, path: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Lines that hold the path: a header with all up to its last key is one."""
    start = end = -1
    for each in _statements(text):
        is_meant = each.path[: len(path)] == path
        if start >= 0 and (each.is_header or not is_meant):
            yield start, end
            start = -1
        if is_meant:
            start = each.start if start < 0 else start
            end = each.end
    if start >= 0:
        yield start, end


def _statements(text: str) -> Iterator[_Statement]:
    table: tuple[str, ...] = ()
    at = 0
    while True:
        between = _BETWEEN.match(text, at)
        at = between.end() if between is not None else at
        if at >= len(text):
            return
        start = text.rfind("\n", 0, at) + 1
        header = _HEADER.match(text, at)
        if header is not None:
            table = _named(header[0])
            at = _line_end(text, header.end())
            yield _Statement(table, start, at, is_header=True)
            continue
        key = _KEY.match(text, at)
        if key is None:
            raise UnfitFile("the file cannot be followed")
        at = _value_end(text, key.end())
        yield _Statement((*table, *_named(f"{key[0]}0")), start, at, is_header=False)


def _named(statement: str) -> tuple[str, ...]:
    """The names in a header or before an `=`, by the reader that knows the grammar."""
    names: list[str] = []
    here: Any = tomllib.loads(statement)
    while isinstance(here, dict | list) and here:
        if isinstance(here, list):
            here = cast("list[Any]", here)[-1]
            continue
        members = cast("dict[str, Any]", here)
        name = next(iter(members))
        names.append(name)
        here = members[name]
    return tuple(names)


def _value_end(text: str, at: int) -> int:
    depth = 0
    for word in _WORD.finditer(text, at):
        if word[0] == "\n" and depth == 0:
            return word.end()
        depth += (word[0] in "[{") - (word[0] in "]}")
    return len(text)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1
