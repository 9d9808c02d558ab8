"""Every command of ours that some text of ours tells somebody to type, read from the sources.

`…` stands for what only the moment knows. What `--help` shows of a verb is no remedy, and is given
apart.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module

from support.workspace import CHECKOUT
from switchboard.cli.options import PROGRAM
from switchboard.cli.table import VERBS
from switchkit.cli.usage import Usage

SOMETHING = "…"
_SOURCES = CHECKOUT / "src" / "switchboard"
# What is told of a verb itself.
_HELP = frozenset({"Usage", "Option", "Word", "Verb", "Program"})
_BEGINS = re.compile(r"(?<![\w/.@-])switchboard (?=[a-z])")
# What cannot be a part of a command line in a sentence.
_ENDS = re.compile(r"[`'\"\n,;()]|: |\. |\.$|:$")
_PLACEHOLDER = re.compile(rf"[A-Z{SOMETHING}][A-Z{SOMETHING}=]*")


@cache
def remedies() -> dict[str, set[str]]:
    """Every command in a text that is no help of a verb, with the files that have it."""
    found: dict[str, set[str]] = {}
    for path in sorted(_SOURCES.rglob("*.py")):
        source = path.read_text("utf-8")
        # Most files tell nobody to type anything, and to read them takes seconds.
        if PROGRAM.name not in source:
            continue
        for text in _texts(ast.parse(source)):
            for command in _commands(text):
                found.setdefault(command, set()).add(str(path.relative_to(_SOURCES)))
    return found


@cache
def usage_of(verb: str) -> Usage:
    """How a verb is typed."""
    return import_module(VERBS[verb].module).USAGE


def _texts(tree: ast.AST) -> Iterator[str]:
    """The texts of a file, each whole, without those that are about the code or about a verb."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _HELP:
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
            text = _text(node)
            if text.strip(SOMETHING):
                yield text
                continue
        yield from _texts(node)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(_text, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case _:
            return SOMETHING


def _commands(text: str) -> Iterator[str]:
    for begin in _BEGINS.finditer(text):
        words = _ENDS.split(text[begin.end() :])[0].split()
        if words and words[0] in VERBS:
            yield " ".join(_typed(words))


def _typed(words: Sequence[str]) -> Iterator[str]:
    """The words as far as they are a command, and not the rest of a sentence."""
    verb, *rest = words
    yield verb
    usage = usage_of(verb)
    options = {each.flag: each for each in (*PROGRAM.options, *usage.options)}
    plain = takes_value = 0
    for word in rest:
        if takes_value:
            takes_value = 0
        elif word == "--" or word.startswith("-"):
            takes_value = int(word in options and bool(options[word].value))
        else:
            choices = usage.words[plain].choices if plain < len(usage.words) else ()
            plain += 1
            if word not in choices and not _PLACEHOLDER.fullmatch(word) and "/" not in word:
                return
        yield word
