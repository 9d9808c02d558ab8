"""Files as people and programs write them: any tree, with any blanks, comments and line ends.

Every comment has a number, so that each can be missed.
"""

import json
from collections.abc import Callable
from typing import Any, cast

from hypothesis import strategies as st
from msgspec import Struct

# Names that are also words of other grammars, and such that have to be escaped.
KEYS = st.sampled_from(
    [
        "mcpServers",
        "mcp",
        "servers",
        "a",
        "b.c",
        "switch",
        "ключ",
        'q"uote',
        "é",
        "a b",
        "true",
        "1",
    ]
) | st.text(min_size=1, max_size=5).filter(lambda key: key.isprintable())
_TEXTS = st.sampled_from(
    [
        "",
        "x",
        "// no comment",
        "/* nor this */",
        "# nor that",
        "a, b",
        "}",
        '"',
        "\\",
        "\u2028",
        "é",
    ]
) | st.text(max_size=8).filter(lambda text: all(each.isprintable() for each in text))
SCALARS = st.booleans() | st.integers(-(10**9), 10**9) | _TEXTS | st.floats(0.125, 9.5, width=16)
VALUES = st.recursive(
    SCALARS | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
SERVERS = st.dictionaries(
    st.sampled_from(["notes", "github", "a.b", "файл", 'quo"te', "x y"]),
    st.fixed_dictionaries({"command": _TEXTS, "args": st.lists(_TEXTS, max_size=2)}),
    max_size=3,
)


class Written(Struct, frozen=True):
    """A text, what it says, and the comments in it."""

    text: str
    tree: dict[str, Any]
    comments: tuple[str, ...] = ()


class _Writer:
    """Writes a tree as JSON, with whatever may stand between two words."""

    def __init__(self, draw: Callable[..., Any], *, has_comments: bool) -> None:
        self._draw = draw
        self._has_comments = has_comments
        self._newline = draw(st.sampled_from(["\n", "\r\n"]))
        self._step = draw(st.sampled_from(["  ", "\t", "    ", ""]))
        self._is_compact = draw(st.booleans())
        self.comments: list[str] = []

    def gap(self, depth: int) -> str:
        """Blanks, a line end, a comment: what may stand anywhere."""
        kinds = ["", " ", "line"] if self._is_compact else ["line", "line", " "]
        if self._has_comments:
            kinds += ["//", "/*", "/*\n*/"]
        kind = self._draw(st.sampled_from(kinds))
        indent = self._newline + self._step * depth
        if kind == "line":
            return indent
        if kind in {"", " "}:
            return kind
        word = f'c{len(self.comments)}, }}"]'
        self.comments.append(word)
        if kind == "//":
            return f" // {word}{indent}"
        return f"/* {word}{indent if chr(10) in kind else ''} */"

    def value(self, value: Any, depth: int) -> str:
        """One value."""
        if isinstance(value, dict):
            rows = [
                f"{json.dumps(key, ensure_ascii=self._draw(st.booleans()))}{self.gap(depth)}:"
                f"{self.gap(depth)}{self.value(each, depth + 1)}"
                for key, each in cast("dict[str, Any]", value).items()
            ]
            return self._joined("{", rows, "}", depth)
        if isinstance(value, list):
            return self._joined(
                "[", [self.value(each, depth + 1) for each in cast("list[Any]", value)], "]", depth
            )
        return json.dumps(value, ensure_ascii=self._draw(st.booleans()))

    def _joined(self, start: str, rows: list[str], end: str, depth: int) -> str:
        text = start + self.gap(depth + 1)
        for position, row in enumerate(rows):
            text += row + self.gap(depth + 1)
            is_last = position == len(rows) - 1
            if not is_last or (self._has_comments and self._draw(st.booleans())):
                text += "," + self.gap(depth + (not is_last))
        return text + end


@st.composite
def json_texts(draw: Callable[..., Any], keys: tuple[str, ...], *, has_comments: bool) -> Written:
    """A file of a host in JSON, perhaps with servers at the keys."""
    tree = draw(st.dictionaries(KEYS.filter(lambda key: key not in keys), VALUES, max_size=4))
    if draw(st.booleans()):
        servers: Any = draw(SERVERS)
        for key in reversed(keys):
            servers = {key: servers}
        tree = dict(draw(st.permutations([*tree.items(), *servers.items()])))
    writer = _Writer(draw, has_comments=has_comments)
    mark = draw(st.sampled_from(["", "\ufeff"]))
    text = mark + writer.gap(0) + writer.value(tree, 0) + writer.gap(0)
    return Written(text, tree, tuple(writer.comments))


@st.composite
def toml_texts(draw: Callable[..., Any]) -> Written:
    """A file of a host in TOML: keys, tables in any order, servers among them."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    comments: list[str] = []

    def rows(depth: int = 0) -> list[str]:
        made: list[str] = []
        names = draw(st.lists(st.sampled_from("klmnop"), unique=True, max_size=3))
        for name in names:
            made += _toml_blank(draw, comments)
            value = draw(st.sampled_from(_TOML_VALUES))
            made.append(f"{'  ' * depth}{name} = {value.replace(chr(10), newline)}")
        return made + _toml_blank(draw, comments)

    lines = rows()
    if draw(st.booleans()):
        # A table without a header; what follows it is of the file again.
        lines = ["mcp_servers.dotted.command = 'x'", *lines]
    headers = draw(
        st.lists(
            st.sampled_from(
                [
                    "[mcp_servers.notes]",
                    "[mcp_servers.notes.env]",
                    '[ mcp_servers . "git hub" ]',
                    "[mcp_servers.'a.b']",
                    "[tui]",
                    '[projects."work [old]"]',
                    "[[hooks]]",
                    "[[hooks]]",
                    "[mcp_servers]",
                ]
            ),
            unique_by=lambda header: header if header != "[[hooks]]" else object(),
            max_size=7,
        )
    )
    for header in headers:
        if draw(st.booleans()):
            comments.append(f"c{len(comments)} ]")
            lines.append(f"{header} # {comments[-1]}")
        else:
            lines.append(header)
        lines += rows(1)
    text = draw(st.sampled_from(["", "\ufeff"])) + newline.join(lines)
    text += draw(st.sampled_from(["", newline]))
    return Written(text, {}, tuple(comments))


_TOML_VALUES = (
    '"x # no comment"',
    "'literal \"'",
    '"""\n[not.a.header]\nk = 1 # no\n"""',
    "'''\n# not a comment\n'''",
    "[1, 2, # inside\n  3]",
    '{ a = 1, "b c" = [ { d = "]" } ] }',
    "1979-05-27T07:32:00Z",
    "3.5",
    "true",
    "[]",
)


def _toml_blank(draw: Callable[..., Any], comments: list[str]) -> list[str]:
    kind = draw(st.sampled_from(["", "", "blank", "comment"]))
    if kind == "comment":
        comments.append(f"c{len(comments)} = [")
        return [f"# {comments[-1]}"]
    return [""] if kind == "blank" else []


@st.composite
def yaml_texts(draw: Callable[..., Any]) -> Written:
    """A file of a host in YAML: keys, block and flow values, servers among them."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    comments: list[str] = []
    lines: list[str] = [*draw(st.sampled_from([[], ["---"]]))]

    def comment(indent: str = "") -> None:
        kind = draw(st.sampled_from(["", "", "blank", "comment"]))
        if kind == "comment":
            comments.append(f"c{len(comments)}: {{")
            lines.append(f"{indent}# {comments[-1]}")
        elif kind == "blank":
            lines.append("")

    parts = draw(st.lists(st.sampled_from(_YAML_PARTS), unique=True, max_size=4))
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), "extensions")
    for part in parts:
        comment()
        if part != "extensions":
            lines += part.split("\n")
            continue
        names = draw(
            st.lists(st.sampled_from(["notes", "my-git", "ключ"]), unique=True, max_size=3)
        )
        empty = draw(st.sampled_from([" {}", "", " ~", " null"]))
        step = draw(st.sampled_from(["  ", "    "]))
        lines.append(
            "extensions:" + ("" if names else empty) + draw(st.sampled_from(["", "  # e"]))
        )
        for name in names:
            comment(step)
            lines.append(f"{step}{name}:")
            lines += [f"{step}  {row}" for row in draw(st.sampled_from(_YAML_ENTRIES)).split("\n")]
            comment(step)
    comment()
    text = newline.join(lines) + draw(st.sampled_from(["", newline]))
    return Written(text, {}, tuple(comments))


_YAML_PARTS = (
    "MODEL: x  # for now",
    "text: |\n  # not a comment\n  a: b\n\n  end",
    "folded: >-\n  one\n  two",
    'quoted: "a: b # c\n  goes on"',
    "list:\n- a\n- b: c\n  d: [1, {e: f}]",
    "flow: {a: [1,\n  2], b: c}",
    "anchor: &x\n  k: v",
    "nothing:",
)
_YAML_ENTRIES = (
    "cmd: npx\nargs:\n- -y\n- x",
    "cmd: npx\nargs: [a, 'b # c']\nenvs: {}",
    "description: |\n  text\n  # of it\ncmd: x",
    "cmd: x\ndescription: >\n  folded\n  text",
)
