"""Where the sources make a fault: its code, its reason, what it says, and its hint.

A reason that is handed to a function is looked for at the calls of that function, and one that a
function chooses at the places where it does. `…` stands for what only the moment knows.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

SOMETHING = "…"
_REASON = re.compile(r"[a-z]+(?:-[a-z]+)*")
_MOST_ROUNDS = 6
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Raised(NamedTuple):
    """One place where a fault is made."""

    code: str
    message: str
    hint: str


class _Maker(NamedTuple):
    """Where a call that makes a fault says what: the position of each, or the code itself."""

    code: int | str
    reason: int
    message: int
    hint: int = -1


_MAKERS = {
    "Fault": _Maker(0, 1, 2),
    "ScopeMissing": _Maker(0, 1, 2),
    "Interruption": _Maker("UNAVAILABLE", 0, 1),
    # Of the local runtime, which has exit codes instead.
    "YardFault": _Maker("", 0, 1),
    # What a sandbox stops, in a table.
    "_Way": _Maker("PERMISSION_DENIED", 0, 1, 3),
}
# Sentences of which each begins with what happened, and goes on with what to do.
_SENTENCES = ("engines/failures.py", "_SENTENCES", "UNAVAILABLE")


class _Site(NamedTuple):
    """A call that makes a fault, and the functions that it stands in, the innermost last."""

    module: "_Module"
    call: ast.Call
    functions: tuple[_Function, ...]


class _Module:
    """One file of the sources."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self.tree = ast.parse(path.read_text("utf-8"))

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """What names mean that stand at the margin."""
        found: dict[str, ast.expr] = {}
        for node in self.tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    found[name] = value
                case _:
                    pass
        return found

    @cached_property
    def imported(self) -> dict[str, tuple[str, str]]:
        """Of what is taken from elsewhere, where it is from."""
        return {
            each.asname or each.name: (node.module, each.name)
            for node in self.tree.body
            if isinstance(node, ast.ImportFrom) and node.module
            for each in node.names
        }

    def calls(self) -> Iterator[tuple[ast.Call, tuple[_Function, ...]]]:
        """Every call, with the functions around it."""
        yield from _calls(self.tree, ())


def _calls(
    node: ast.AST, functions: tuple[_Function, ...]
) -> Iterator[tuple[ast.Call, tuple[_Function, ...]]]:
    if isinstance(node, _Function):
        functions = (*functions, node)
    if isinstance(node, ast.Call):
        yield node, functions
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, functions)


class FaultSites:
    """All faults below a folder."""

    def __init__(self, folder: Path, package: str) -> None:
        self._folder = folder
        self._modules = {
            name: _Module(path, name)
            for path in sorted(folder.rglob("*.py"))
            if (name := ".".join((package, *path.relative_to(folder).with_suffix("").parts)))
        }
        self._called: dict[str, list[_Site]] = defaultdict(list)
        for module in self._modules.values():
            for call, functions in module.calls():
                if name := _name(call.func):
                    self._called[name].append(_Site(module, call, functions))

    def found(self) -> dict[str, list[Raised]]:
        """Every fault by its reason."""
        found: dict[str, list[Raised]] = defaultdict(list)
        for name, maker in _MAKERS.items():
            for site in self._called[name]:
                for reason, raised in self._raised(site, maker):
                    if raised not in found[reason]:
                        found[reason].append(raised)
        for reason, raised in self._sentences():
            found[reason].append(raised)
        return dict(sorted(found.items()))

    def _sentences(self) -> Iterator[tuple[str, Raised]]:
        place, name, code = _SENTENCES
        found = [
            each
            for each in self._modules.values()
            if each.name.endswith(place.removesuffix(".py").replace("/", "."))
        ]
        table = found[0].constants[name] if found else ast.Dict(keys=[], values=[])
        assert isinstance(table, ast.Dict)
        for key, value in zip(table.keys, table.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                happened, _, to_do = str(value.value).partition("; ")
                yield str(key.value), Raised(code, _unfilled(happened), _unfilled(to_do))

    def _raised(self, site: _Site, maker: _Maker) -> Iterator[tuple[str, Raised]]:
        call = site.call
        reason = _argument(call, maker.reason, "reason")
        if reason is None:
            return
        for known in self._meanings(site, reason, {}, _MOST_ROUNDS):
            words = self._texts(site, reason, known)
            code = maker.code if isinstance(maker.code, str) else self._code(site, known)
            message = _argument(call, maker.message, "message")
            hint = _argument(call, maker.hint, "hint")
            told = self._texts(site, message, known)
            hints = self._texts(site, hint, known) if hint is not None else [""]
            for word in words:
                if _REASON.fullmatch(word):
                    yield from (
                        (word, Raised(code, each, to_do)) for each in told for to_do in hints
                    )

    def _code(self, site: _Site, known: Mapping[str, ast.expr]) -> str:
        given = _argument(site.call, 0, "code")
        if isinstance(given, ast.Name):
            given = known.get(given.id, given)
        return given.attr if isinstance(given, ast.Attribute) and given.attr.isupper() else ""

    def _meanings(
        self, site: _Site, reason: ast.expr, known: Mapping[str, ast.expr], rounds: int
    ) -> Iterator[dict[str, ast.expr]]:
        """What the names of a function can mean, each time that its reason means something."""
        names = [each.id for each in ast.walk(reason) if isinstance(each, ast.Name)]
        open_ = [name for name in names if not self._is_constant(site.module, name)]
        if not open_ or not site.functions or not rounds:
            yield dict(known)
            return
        function = site.functions[-1]
        name = open_[0]
        parameters = [each.arg for each in (*function.args.args, *function.args.kwonlyargs)]
        if name in parameters:
            for caller in self._callers(site.module, function.name):
                bound = _bound(function, caller.call)
                if (value := bound.get(name)) is not None:
                    # What the caller hands on may be a parameter of its own.
                    for more in self._meanings(caller, value, {}, rounds - 1):
                        yield {**known, **bound, **more}
            return
        for block in _blocks(function.body):
            if name in (chosen := self._chosen(site.module, block)):
                around = self._chosen(site.module, function.body)
                for each in chosen[name]:
                    row = each if isinstance(each, dict) else {name: each}
                    yield {**known, **_firsts(around), **_firsts(chosen), **row}

    def _callers(self, module: _Module, function: str) -> Iterator[_Site]:
        """The calls of a function, not of another that has its name."""
        for site in self._called[function]:
            is_named = site.module.imported.get(function, ("", ""))[0] == module.name
            is_method = isinstance(site.call.func, ast.Attribute) and not function.startswith("_")
            if site.module is module or is_named or is_method:
                yield site

    def _chosen(
        self, module: _Module, block: Sequence[ast.stmt]
    ) -> dict[str, list[ast.expr | dict[str, ast.expr]]]:
        """What is assigned in a row of statements. Names that get a value together are one row."""
        found: dict[str, list[ast.expr | dict[str, ast.expr]]] = defaultdict(list)
        for node in block:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found[name].append(value)
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=value):
                    targets = [each.id for each in names if isinstance(each, ast.Name)]
                    for row in _rows(module, value):
                        if len(row) == len(targets):
                            together = dict(zip(targets, row, strict=True))
                            for name in targets:
                                found[name].append(together)
                case _:
                    pass
        return found

    def _is_constant(self, module: _Module, name: str) -> bool:
        return name in module.constants or name in module.imported

    def _texts(
        self,
        site: _Site,
        node: ast.expr | None,
        known: Mapping[str, ast.expr],
        rounds: int = _MOST_ROUNDS,
    ) -> list[str]:
        """Every text that this may be, with a mark for what only the moment knows."""
        found = [SOMETHING]
        match node:
            case ast.Constant(value=str(text)):
                found = [text]
            case ast.Name(id=name) if rounds and name in known:
                found = self._texts(site, known[name], known, rounds - 1)
            case ast.Name(id=name):
                found = self._constant(site.module, name)
            case ast.FormattedValue(value=value):
                inner = self._texts(site, value, known, rounds)
                found = inner if all(len(each.split()) == 1 for each in inner) else found
            case ast.JoinedStr(values=parts):
                found = _joined([self._texts(site, part, known, rounds) for part in parts])
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                found = _joined([self._texts(site, each, known, rounds) for each in (left, right)])
            case ast.IfExp(body=body, orelse=other):
                both = (self._texts(site, each, known, rounds) for each in (body, other))
                found = list(dict.fromkeys(text for each in both for text in each))
            case _:
                pass
        return found

    def _constant(self, module: _Module, name: str) -> list[str]:
        if name in module.imported:
            place, own = module.imported[name]
            elsewhere = self._modules.get(place)
            return self._constant(elsewhere, own) if elsewhere else [SOMETHING]
        value = module.constants.get(name)
        if value is None:
            return [SOMETHING]
        return self._texts(_Site(module, ast.Call(func=value, args=[], keywords=[]), ()), value, {})


def _name(func: ast.expr) -> str:
    match func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    named = next((each.value for each in call.keywords if each.arg == name), None)
    return call.args[position] if named is None and 0 <= position < len(call.args) else named


def _bound(function: _Function, call: ast.Call) -> dict[str, ast.expr]:
    """What the parameters of a function are in one call of it."""
    names = [each.arg for each in function.args.args if each.arg not in {"self", "cls"}]
    bound = dict(zip(names, call.args, strict=False))
    bound |= {each.arg: each.value for each in call.keywords if each.arg}
    with_defaults = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    only = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    with_defaults |= {each.arg: value for each, value in only if value is not None}
    return {**with_defaults, **bound}


def _blocks(body: Sequence[ast.stmt]) -> Iterator[Sequence[ast.stmt]]:
    yield body
    for node in body:
        for field in ("body", "orelse", "finalbody"):
            inner: list[ast.stmt] = getattr(node, field, [])
            if inner and not isinstance(node, _Function):
                yield from _blocks(inner)


def _rows(module: _Module, value: ast.expr) -> Iterator[list[ast.expr]]:
    """The tuples that may stand on the right side of an assignment to several names."""
    match value:
        case ast.Tuple(elts=row):
            yield row
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=args):
            table = module.constants.get(name)
            for each in (*(table.values if isinstance(table, ast.Dict) else ()), *args[1:]):
                yield from _rows(module, each)
        case _:
            pass


def _firsts(chosen: Mapping[str, list[ast.expr | dict[str, ast.expr]]]) -> dict[str, ast.expr]:
    return {
        name: each[0][name] if isinstance(each[0], dict) else each[0]
        for name, each in chosen.items()
    }


def _joined(parts: Sequence[Sequence[str]]) -> list[str]:
    texts = [""]
    for part in parts:
        texts = [f"{text}{each}" for text in texts for each in part]
    return list(dict.fromkeys(texts))


def _unfilled(text: str) -> str:
    words = text.replace("{engine}", "the engine").replace("{why}", "")
    return words.replace("{login}", "log in to it again")
