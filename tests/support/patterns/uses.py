"""The patterns that the sources use, and how each is used: found by reading, not by running."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

_METHODS = frozenset(
    {"search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer", "compile"}
)
# Where the flags stand when they are not named.
_FLAGS_AT = {"compile": 1, "sub": 4, "subn": 4, "split": 3}

_PLAIN = (
    *(ast.Name, ast.Attribute, ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.BinOp),
    *(ast.operator, ast.expr_context),
)


class Use(NamedTuple):
    """One pattern and the way it meets texts. `place` is a module and a line."""

    place: str
    pattern: str | bytes
    flags: int
    method: str


class Found(NamedTuple):
    """All uses, and the places whose pattern is made of what a run brings."""

    uses: frozenset[Use]
    made_at_run_time: frozenset[str]


def uses_in(sources: Path, packages: tuple[str, ...], leave_out: frozenset[str]) -> Found:
    """Every use of a pattern in packages. `leave_out` names modules that cannot be imported."""
    uses: set[Use] = set()
    unknown: set[str] = set()
    for package in packages:
        for path in sorted((sources / package).rglob("*.py")):
            name = ".".join(path.relative_to(sources).with_suffix("").parts)
            name = name.removesuffix(".__init__")
            text = path.read_text("utf-8")
            if name in leave_out or "re" not in text:
                continue
            space = vars(importlib.import_module(name))
            tree = ast.parse(text)
            for use in _uses(tree, name, space):
                if isinstance(use, Use):
                    uses.add(use)
                else:
                    unknown.add(use)
            uses |= _unseen(tree, name, space, uses)
    return Found(frozenset(uses), frozenset(unknown))


def _uses(tree: ast.AST, name: str, space: dict[str, Any]) -> Iterator[Use | str]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        method = node.func.attr
        if method not in _METHODS:
            continue
        owner = _value(node.func.value, space)
        if owner is re:
            # What is compiled is met through what it is used with; `_unseen` has the rest.
            if method == "compile":
                if _value(node.args[0], space) is None:
                    yield f"{name}.{node.lineno}"
                continue
            given = _value(node.args[0], space)
            if isinstance(given, re.Pattern):
                yield _use(name, cast("re.Pattern[Any]", given), method)
            elif isinstance(given, (str, bytes)):
                flags = [_value(each.value, space) for each in node.keywords if each.arg == "flags"]
                flags += [_value(each, space) for each in node.args[_FLAGS_AT.get(method, 2) :][:1]]
                compiled = re.compile(given, flags[0] if flags and flags[0] else 0)
                yield Use(name, compiled.pattern, compiled.flags, method)
            else:
                yield f"{name}.{node.lineno}"
        elif isinstance(owner, re.Pattern):
            yield _use(name, cast("re.Pattern[Any]", owner), method)


def _use(name: str, pattern: "re.Pattern[Any]", method: str) -> Use:
    return Use(name, pattern.pattern, pattern.flags, method)


def _unseen(tree: ast.AST, name: str, space: dict[str, Any], seen: set[Use]) -> set[Use]:
    """Patterns that nobody was seen to use by their name, with each use that the module has.

    They may be searched for, if it is not plain what is done with them.
    """
    known = {(use.pattern, use.flags) for use in seen}
    used = {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    methods = used & {"match", "fullmatch"} or {"search"}
    methods |= used & {"search", "sub", "subn", "findall", "finditer"}
    return {
        Use(name, each.pattern, each.flags, method)
        for method in methods
        for value in space.values()
        for each in _patterns(value, depth=3)
        if (each.pattern, each.flags) not in known
    }


def _patterns(value: Any, depth: int) -> Iterator["re.Pattern[Any]"]:
    if isinstance(value, re.Pattern):
        yield cast("re.Pattern[Any]", value)
    elif isinstance(value, dict) and depth:
        yield from _patterns([*cast("dict[Any, Any]", value).values()], depth)
    elif isinstance(value, (tuple, list, frozenset)) and depth:
        for each in cast("list[Any]", value):
            yield from _patterns(each, depth - 1)


def _value(node: ast.expr, space: dict[str, Any]) -> Any:
    """What an expression of constants and names of its module is; None if it needs a run."""
    if not all(_is_harmless(each) for each in ast.walk(node)):
        return None
    try:
        return eval(compile(ast.Expression(node), "", "eval"), dict(space))
    except (NameError, AttributeError, TypeError, ValueError, re.error):
        return None


def _is_harmless(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("re.compile", "re.escape")
    return isinstance(node, _PLAIN)
