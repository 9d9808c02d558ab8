"""The source files as data: each module with its place, its size and its imports."""

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).parents[2] / "src"


class Import(NamedTuple):
    """One imported name, where it stands, and whether that is at module level."""

    name: str
    line: int
    on_top: bool
    # What only a checker of types reads is never loaded.
    is_loaded: bool = True


class Module:
    """One Python file below `src/<distribution>`."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        # For example `providers/suites/schema.py`.
        self.place = path.relative_to(root).as_posix()
        self.root = root.name

    @property
    def package(self) -> str:
        """Give the unit of the table of imports: a folder, or one provider."""
        return package_of(self.place.removesuffix(".py").split("/"))

    @cached_property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @cached_property
    def imports(self) -> list[Import]:
        return list(_imports(ast.parse(self.text), on_top=True))


def package_of(parts: list[str]) -> str:
    """Name the package of a module, given its path below the root, without suffix."""
    if len(parts) < 2:
        return ""
    if parts[0] == "providers" and len(parts) > 2:
        return f"providers/{parts[1]}"
    return parts[0]


def modules(distribution: str) -> list[Module]:
    root = SOURCES / distribution
    return [Module(path, root) for path in sorted(root.rglob("*.py"))]


def packages(distribution: str) -> list[str]:
    """Give every folder that holds Python modules, as a path below the root."""
    root = SOURCES / distribution
    folders = {path.parent.relative_to(root).as_posix() for path in root.rglob("*.py")}
    return sorted(folders - {"."})


def _imports(node: ast.AST, *, on_top: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, on_top) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            # `from package import module` may name a module, so each name counts in full.
            base = "." * child.level + (child.module or "")
            yield from (Import(f"{base}.{a.name}", child.lineno, on_top) for a in child.names)
        elif isinstance(child, ast.Call) and _called(child) in ("import_module", "__import__"):
            yield Import(_text(child.args[0]), child.lineno, on_top=False)
        elif isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
            for found in _imports(child, on_top=on_top):
                yield found._replace(is_loaded=False)
        else:
            yield from _imports(child, on_top=on_top and not inside)


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _text(node: ast.expr) -> str:
    """Give the name that is imported, with `*` for what only the running program knows."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    return "*"
