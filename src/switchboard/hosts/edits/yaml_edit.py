"""Entries of block mappings in a YAML text, put in and taken out as whole lines.

Only the places of nodes are asked of the reader; whatever the lines hold stays as it is written.
"""

import re
from collections.abc import Sequence
from typing import Any, cast

import yaml

from switchboard.hosts.edits.spots import Path, ValueSpot, ordered
from switchboard.hosts.edits.unfit import UnfitFile

_STEP = 2
# The first letter that is no sign between two values, with the rest of its line.
_STRANGE = re.compile(r"[^\s{}\[\],:?-][^\n]*+")
_Pair = tuple[yaml.Node, yaml.Node]


def read_tree(text: str) -> dict[str, Any]:
    """What the text says. An empty file says nothing. Raises `UnfitFile`."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as wrong:
        raise _unfit(wrong) from None
    except RecursionError:
        raise UnfitFile("the value is nested too deep") from None
    except (ValueError, TypeError, AttributeError):
        # A date with a 13th month, a key that is a list: the reader lets these through to us.
        raise UnfitFile(
            "the file holds a value that does not exist, such as a 13th month"
        ) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnfitFile("the file does not hold a mapping")
    return cast("dict[str, Any]", value)


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """The text with this value at the path; mappings on the way are made where they are missing."""
    node = _root(text)
    lines = text.splitlines(keepends=True)
    if node is None or (isinstance(node, yaml.ScalarNode) and not node.value):
        return _inserted(lines, len(lines), 0, path, value)
    for position, key in enumerate(path):
        _check_block(node, ".".join(path[:position]) or "the file")
        indent = node.start_mark.column
        pair = _pair(node, key)
        rest = path[position + 1 :]
        if pair is None:
            return _inserted(lines, _end_of_pairs(lines, node), indent, path[position:], value)
        if not rest:
            first, last = _lines_of(lines, pair)
            kept = [*lines[:first], *lines[last:]]
            return _inserted(kept, first, indent, path[position:], value)
        if _is_empty(pair):
            return _filled(text, pair, indent + _STEP, rest, value)
        node = pair[1]
    raise ValueError("a path has at least one key")


def without_member(text: str, path: Sequence[str]) -> str:
    """The text without what stands at the path."""
    while (found := _found(text, path)) is not None:
        above, pair = found
        lines = text.splitlines(keepends=True)
        first, last = _lines_of(lines, pair)
        if above is not None and len(_pairs(above[1])) == 1:
            # Nothing at all would be no mapping any more.
            row, column = above[0].end_mark.line, above[0].end_mark.column
            colon = lines[row].index(":", column) + 1
            lines[row] = f"{lines[row][:colon]} {{}}{lines[row][colon:]}"
        text = "".join([*lines[:first], *lines[last:]])
    return text


def _found(text: str, path: Sequence[str]) -> tuple[_Pair | None, _Pair] | None:
    """The pair at the path, and the one whose value it is in."""
    node = _root(text)
    above: _Pair | None = None
    pair: _Pair | None = None
    for position, key in enumerate(path):
        above, pair = pair, _pair(node, key)
        if pair is None or node is None:
            return None
        if position == len(path) - 1:
            _check_block(node, ".".join(path[:position]) or "the file")
        node = pair[1]
    return None if pair is None else (above, pair)


def _root(text: str) -> yaml.Node | None:
    try:
        return cast("yaml.Node | None", yaml.compose(text, Loader=yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType] - its stubs say less than it does
    except yaml.YAMLError as wrong:
        raise _unfit(wrong) from None


def _pairs(node: yaml.Node) -> list[_Pair]:
    return cast("list[_Pair]", node.value)


def _pair(node: yaml.Node | None, key: str) -> _Pair | None:
    """The last one of that name, which is the one that counts."""
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((pair for pair in reversed(_pairs(node)) if pair[0].value == key), None)


def _is_empty(pair: _Pair) -> bool:
    value = pair[1]
    if isinstance(value, yaml.ScalarNode):
        return value.tag.endswith(":null")
    return isinstance(value, yaml.MappingNode) and not value.value


def _check_block(node: yaml.Node, what: str) -> None:
    if not isinstance(node, yaml.MappingNode):
        raise UnfitFile(f"`{what}` is not a mapping")
    if node.flow_style:
        message = f"`{what}` is written in braces, which is not changed"
        raise UnfitFile(message, line=node.start_mark.line + 1)


def _end_line(lines: list[str], node: yaml.Node, key: yaml.Node) -> int:
    """The line behind a node. A block goes on over comments and blanks; its last part does not."""
    if node.start_mark.index < key.end_mark.index:
        # Another name of a part that stands elsewhere.
        return key.end_mark.line + 1
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        last = _pairs(node)[-1]
        return _end_line(lines, last[1], last[0])
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return _end_line(lines, cast("list[yaml.Node]", node.value)[-1], key)
    end = node.end_mark.line + (node.end_mark.column > 0)
    if isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}:
        while end > node.start_mark.line + 1 and not lines[end - 1].strip():
            end -= 1
    return end


def _end_of_pairs(lines: list[str], node: yaml.Node) -> int:
    end = max((_end_line(lines, value, key) for key, value in _pairs(node)), default=len(lines))
    if end == len(lines) and not lines[-1].endswith(("\n", "\r")) and _ends_open(node):
        # A line end behind its last line would be one of its text.
        return node.start_mark.line
    return end


def _ends_open(node: yaml.Node) -> bool:
    """Whether the last thing in a node is a text in a block of its own."""
    while isinstance(node, yaml.MappingNode | yaml.SequenceNode) and node.value:
        last = node.value[-1]
        node = cast("yaml.Node", last[1] if isinstance(node, yaml.MappingNode) else last)
    return isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}


def _lines_of(lines: list[str], pair: _Pair) -> tuple[int, int]:
    return pair[0].start_mark.line, _end_line(lines, pair[1], pair[0])


def _filled(text: str, pair: _Pair, indent: int, path: Sequence[str], value: Any) -> str:
    """The text with a mapping in place of a value that says that there is none."""
    node = pair[1]
    start, end = node.start_mark.index, node.end_mark.index
    text = text[:start].rstrip(" ") + text[end:] if end > start else text
    lines = text.splitlines(keepends=True)
    return _inserted(lines, pair[0].end_mark.line + 1, indent, path, value)


def _inserted(lines: list[str], at: int, indent: int, path: Sequence[str], value: Any) -> str:
    for key in reversed(path):
        value = {key: value}
    dumped = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, indent=_STEP, width=10_000)
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    # A blank line in a text of several is one.
    rows = dumped.removesuffix("\n").split("\n")
    added = [f"{' ' * indent}{row}{newline}" if row else newline for row in rows]
    if at and not lines[at - 1].endswith(("\n", "\r")):
        lines[at - 1] += newline
    return "".join([*lines[:at], *added, *lines[at:]])


def _unfit(wrong: yaml.YAMLError) -> UnfitFile:
    mark = getattr(wrong, "problem_mark", None)
    message = str(getattr(wrong, "problem", None) or "the file is not YAML")
    if message.startswith("but "):
        message = f"{getattr(wrong, 'context', '')}, {message}"
    return UnfitFile(
        message, line=mark.line + 1 if mark else 0, column=mark.column + 1 if mark else 0
    )


def spots(text: str) -> list[ValueSpot]:
    """The values and comments, in their order. Raises `UnfitFile`."""
    root = _root(text)
    keys: set[tuple[int, int]] = set()
    found: dict[tuple[int, int], ValueSpot] = {}
    seen: set[int] = set()
    waiting: list[tuple[yaml.Node, Path]] = [] if root is None else [(root, ())]
    while waiting:
        node, path = waiting.pop()
        if id(node) in seen:
            # An alias: its value stands at its anchor.
            continue
        seen.add(id(node))
        span = (node.start_mark.index, node.end_mark.index)
        if isinstance(node, yaml.MappingNode):
            for key, value in _pairs(node):
                if isinstance(key, yaml.ScalarNode):
                    keys.add((key.start_mark.index, key.end_mark.index))
                    waiting.append((value, (*path, str(key.value))))
                else:
                    waiting += [(key, path), (value, path)]
        elif isinstance(node, yaml.SequenceNode):
            items = cast("list[yaml.Node]", node.value)
            waiting += [(each, (*path, at)) for at, each in enumerate(items)]
        elif isinstance(node, yaml.ScalarNode) and span[0] < span[1]:
            found[span] = ValueSpot(*span, path)
    done = 0
    rest: list[ValueSpot] = []
    for start, end in [*sorted({*keys, *found}), (len(text), len(text))]:
        # Comments, anchors and tags, up to the end of their line.
        rest += [
            ValueSpot(*each.span(), is_comment=True)
            for each in _STRANGE.finditer(text, done, start)
        ]
        done = max(done, end)
    return ordered([*found.values(), *rest])
