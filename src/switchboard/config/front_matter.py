"""YAML front matter with positions, and the text below it."""

import re
from typing import Any, cast

from switchboard.config.documents import Document, problem_at, read_text
from switchboard.config.json_text import MAX_DEPTH
from switchboard.config.key_positions import OffsetSpots, dotted, spot_at
from switchboard.config.problems import Problem
from switchboard.core.origins import Scope

_MOST_BRACKETS = 512
_FENCE = r"\s*---[ \t]*\r?\n(.*?)(?:^|\n)---[ \t]*(?:\r?\n|\Z)"


class _Refused(Exception):
    def __init__(self, offset: int, message: str, hint: str = "", key: str = "") -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message
        self.hint = hint
        self.key = key


def read_front_matter(
    path: str, scope: Scope, problems: list[Problem], *, within: str = ""
) -> tuple[Document, str] | None:
    """The front matter of a file as a document, and the body; `None` when it is absent or bad."""
    text = read_text(path, problems, within=within)
    if text is None:
        return None
    try:
        tree, spots, body = _parsed(text)
    except _Refused as refused:
        spot = spot_at(text, refused.offset)
        problems.append(problem_at(path, spot, refused.message, refused.hint, refused.key))
        return None
    return Document(path=path, scope=scope, tree=tree, spots=spots, text=text), body


def _parsed(text: str) -> tuple[dict[str, Any], OffsetSpots, str]:
    fence = re.match(_FENCE, text, re.DOTALL)
    if fence is None:
        missing = (
            "the front matter is not closed"
            if text.lstrip().startswith("---")
            else ("the file has no front matter")
        )
        raise _Refused(0, missing, "put it between two lines of `---`")
    tree, table = _tree(fence[1], fence.start(1))
    return tree, OffsetSpots(text, tree, table), text[fence.end() :]


def _tree(yaml_text: str, start: int) -> tuple[dict[str, Any], dict[int, dict[Any, int]]]:
    # The one late import of this package: YAML is slow to import, and only agents and skills
    # use it.
    import yaml  # noqa: PLC0415

    try:
        loader: Any = yaml.SafeLoader(yaml_text)
    except yaml.reader.ReaderError as refused:
        # What YAML may not hold is found before a word of it is read.
        message = "not valid YAML: a control character"
        raise _Refused(start + refused.position, message, "remove it") from None
    if sum(map(yaml_text.count, "[{")) > _MOST_BRACKETS:
        # Each is compared with all around it, before anybody knows how deep they are.
        raise _Refused(start, f"more than {_MOST_BRACKETS} brackets", "write lists as lines")
    builder = _Builder(loader, start)
    try:
        root = loader.get_single_node()
        tree: Any = {} if root is None else builder.build(root, ())
    except yaml.MarkedYAMLError as refused:
        mark = refused.problem_mark or refused.context_mark
        words = refused.problem or refused.context or "unreadable"
        raise _Refused(start + (mark.index if mark else 0), f"not valid YAML: {words}") from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise _Refused(start, "not valid YAML") from None
    finally:
        loader.dispose()
    if not isinstance(tree, dict):
        raise _Refused(start, "the front matter must be a mapping", "write `key: value` lines")
    return cast("dict[str, Any]", tree), builder.table


class _Builder:
    """Plain values from YAML nodes, with the offset of every key."""

    def __init__(self, loader: Any, start: int) -> None:
        self._loader = loader
        self._start = start
        self._seen: set[int] = set()
        self.table: dict[int, dict[Any, int]] = {}

    def build(self, node: Any, path: tuple[str | int, ...]) -> Any:
        at = self._start + node.start_mark.index
        # An alias is the same node again: a few of them can stand for gigabytes.
        if id(node) in self._seen:
            raise _Refused(at, "aliases are not allowed in front matter", "write the value twice")
        self._seen.add(id(node))
        if len(path) >= MAX_DEPTH:
            raise _Refused(at, f"the value is nested more than {MAX_DEPTH} levels deep")
        if node.id == "mapping":
            return self._members(node, path)
        if node.id == "sequence":
            return self._items(node, path)
        return self._loader.construct_object(node)

    def _members(self, node: Any, path: tuple[str | int, ...]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        offsets = self.table[id(members)] = {}
        for key_node, value_node in node.value:
            offset = self._start + key_node.start_mark.index
            key: Any = self._loader.construct_object(key_node) if key_node.id == "scalar" else None
            if not isinstance(key, str):
                raise _Refused(offset, "a key must be a string", "put it in quotes")
            if key in members:
                raise _Refused(
                    offset,
                    f"the key `{key}` is written twice in one object",
                    "keep one of them",
                    dotted((*path, key)),
                )
            offsets[key] = offset
            members[key] = self.build(value_node, (*path, key))
        return members

    def _items(self, node: Any, path: tuple[str | int, ...]) -> list[Any]:
        items: list[Any] = []
        offsets = self.table[id(items)] = {}
        for index, item in enumerate(node.value):
            offsets[index] = self._start + item.start_mark.index
            items.append(self.build(item, (*path, index)))
        return items
