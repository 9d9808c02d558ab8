"""Reads the YAML that people write by hand in compose files, and says when there is more in it.

Mappings, lists, plain, quoted and block texts, and short lists and mappings in one line. Not
anchors, tags or several documents: such a file is refused, never misread.
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

_KEY = re.compile(
    r"""("(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+'|[^\s'"#&*!|>%@`\[\]{},-][^:#]*+)\s*:(?:\s+|$)"""
)
_BLOCK = re.compile(r"[|>][+-]?$")
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NOTHING = ("", "~", "null")


class NotPlainYaml(ValueError):
    """There is something in the file that is not read here."""


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


def read_plain_yaml(path: Path) -> Any:
    """The value of the file. Raises `NotPlainYaml` with the line, or `OSError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise NotPlainYaml(f"{path.name} is not UTF-8") from None
    try:
        return _Reader(text).whole()
    except NotPlainYaml as wrong:
        raise NotPlainYaml(f"{path.name}:{wrong}") from None
    except RecursionError:
        raise NotPlainYaml(f"{path.name} is nested too deeply") from None


def _without_comment(text: str) -> str:
    """The line up to a comment, which a blank goes before and no quote is around."""
    quote, escaped = "", False
    for at, one in enumerate(text):
        if quote:
            quote = "" if one == quote and not escaped else quote
            escaped = one == "\\" and quote == '"' and not escaped
        elif one in "'\"" and (at == 0 or text[at - 1] in " [{,:"):
            quote = one
        elif one == "#" and (at == 0 or text[at - 1] in " \t"):
            return text[:at].rstrip()
    return text.rstrip()


class _Reader:
    def __init__(self, text: str) -> None:
        self._raw = text.splitlines()
        self._at = 0

    def whole(self) -> Any:
        first = self._peek()
        if first and first.text == "---":
            self._at = first.number
        value = self._value(-1)
        rest = self._peek()
        if rest:
            raise NotPlainYaml(f"{rest.number}: `{rest.text[:30]}` is not understood")
        return value

    def _peek(self) -> _Line | None:
        """The next line that says something."""
        while self._at < len(self._raw):
            raw = self._raw[self._at]
            text = _without_comment(raw.strip())
            if text:
                indent = len(raw) - len(raw.lstrip(" "))
                if raw[indent : indent + 1] == "\t":
                    raise NotPlainYaml(f"{self._at + 1}: a tab at the beginning of a line")
                return _Line(self._at + 1, indent, text)
            self._at += 1
        return None

    def _value(self, above: int) -> Any:
        """What is indented more than the line above it."""
        line = self._peek()
        if line is None or line.indent <= above:
            return None
        if line.text == "-" or line.text.startswith("- "):
            return self._list(line.indent)
        if _KEY.match(line.text):
            return self._mapping(line.indent)
        self._at = line.number
        return self._scalar(line.text, line)

    def _list(self, indent: int) -> list[Any]:
        made: list[Any] = []
        while (line := self._peek()) and line.indent == indent and line.text[:1] == "-":
            rest = line.text[1:].strip()
            if not rest:
                self._at = line.number
                made.append(self._value(indent))
            elif _KEY.match(rest) and rest[0] not in "[{":
                # The first key of a mapping stands behind the dash: read it as a line of its own.
                inner = indent + len(line.text) - len(rest)
                self._raw[self._at] = " " * inner + rest
                made.append(self._mapping(inner))
            else:
                self._at = line.number
                made.append(self._scalar(rest, line))
        return made

    def _mapping(self, indent: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        while (line := self._peek()) and line.indent == indent:
            found = _KEY.match(line.text)
            if found is None:
                raise NotPlainYaml(f"{line.number}: `{line.text[:30]}` is not `key: value`")
            key = str(self._scalar(found[1].strip(), line))
            rest = line.text[found.end() :].strip()
            self._at = line.number
            if _BLOCK.match(rest):
                made[key] = self._block(indent, folded=rest[0] == ">")
            elif rest:
                made[key] = self._scalar(rest, line)
            else:
                after = self._peek()
                # A list may stand below its key without being indented.
                same = after and after.indent == indent and after.text[:2] in ("-", "- ")
                made[key] = self._list(indent) if same else self._value(indent)
        return made

    def _block(self, above: int, *, folded: bool) -> str:
        lines: list[str] = []
        while self._at < len(self._raw):
            raw = self._raw[self._at]
            if raw.strip() and len(raw) - len(raw.lstrip(" ")) <= above:
                break
            lines.append(raw)
            self._at += 1
        indents = [len(raw) - len(raw.lstrip(" ")) for raw in lines if raw.strip()]
        cut = min(indents, default=0)
        return (" " if folded else "\n").join(raw[cut:] for raw in lines).strip()

    def _scalar(self, text: str, line: _Line) -> Any:
        if text[:1] in "[{":
            value, rest = self._flow(text, line)
            if rest.strip():
                raise NotPlainYaml(f"{line.number}: `{rest[:30]}` follows a closed bracket")
            return value
        if text[:1] in "&*!%@`|>" or text.startswith("<<"):
            raise NotPlainYaml(f"{line.number}: `{text[:30]}` is not read here")
        return self._word(text, line)

    def _word(self, text: str, line: _Line) -> Any:
        if text[:1] == '"':
            try:
                return json.loads(text)
            except ValueError:
                raise NotPlainYaml(f"{line.number}: `{text[:30]}` is not a text") from None
        if text[:1] == "'":
            if len(text) < 2 or not text.endswith("'"):  # noqa: PLR2004 - two quotes
                raise NotPlainYaml(f"{line.number}: `{text[:30]}` is not a text")
            return text[1:-1].replace("''", "'")
        if text.lower() in _NOTHING:
            return None
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        return int(text) if re.fullmatch(r"-?\d{1,15}", text) else text

    def _flow(self, text: str, line: _Line) -> tuple[Any, str]:
        """A list or a mapping in one line, and what follows it."""
        closing = "]" if text[0] == "[" else "}"
        items: list[Any] = []
        pairs: dict[str, Any] = {}
        rest = text[1:].strip()
        while not rest.startswith(closing):
            if not rest:
                raise NotPlainYaml(f"{line.number}: a bracket is not closed in its line")
            key = None
            found = _KEY.match(rest) if closing == "}" else None
            if found:
                key, rest = str(self._word(found[1].strip(), line)), rest[found.end() :].strip()
            elif closing == "}":
                raise NotPlainYaml(f"{line.number}: `{rest[:30]}` is not `key: value`")
            if rest[:1] in ("[", "{"):
                value, rest = self._flow(rest, line)
            else:
                word = re.match(r"""(?:"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+'|[^,\]}]*+)""", rest)
                value = self._word(word[0].strip(), line) if word else None
                rest = rest[len(word[0]) if word else 0 :]
            rest = rest.strip().removeprefix(",").strip()
            if key is None:
                items.append(value)
            else:
                pairs[key] = value
        return (items if closing == "]" else pairs), rest[1:]
