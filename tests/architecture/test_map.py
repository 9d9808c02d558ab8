"""The map is true: its drawings, its rows and its advice lead to places that exist."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from architecture.modules import SOURCES, modules, packages

ROOT = SOURCES.parent
MAP = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
ADVICE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
PRODUCTS = ("switchboard", "switchyard", "switchkit")
MOST_FILES = 17
# Packages whose dotted modules the drawings and the prose name, such as `surface.stdio`.
ROOMS = tuple(folder for folder in packages("switchboard") if "/" not in folder)


def section(text: str, title: str) -> str:
    """Give what stands below a title."""
    return text.partition(f"## {title}")[2].partition("\n## ")[0]


def exists(place: str) -> bool:
    """Say whether a path or a dotted name leads to a module, a folder or a name in a module."""
    path = place.removesuffix(".py").strip("/")
    if path.startswith("src/"):
        bases = [ROOT]
    else:
        bases = [ROOT, *(SOURCES / product for product in PRODUCTS)]
        path = path if "/" in path else path.replace(".", "/")
    return any((base / path).is_dir() or (base / f"{path}.py").is_file() for base in bases)


def gates_of_the_order() -> list[str]:
    """Read the gates of `pipeline/order.py`, in their order, by their names in the drawing."""
    tree = ast.parse((SOURCES / "switchboard/pipeline/order.py").read_text("utf-8"))
    [gates] = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "gates"
    ]
    assert isinstance(gates, ast.Tuple)
    found: list[str] = []
    for gate in gates.elts:
        if isinstance(gate, ast.Call):
            found.append(ast.unparse(gate.func).removesuffix("Gate").lower())
        else:
            # `*((log.begins,) if log is not None else ())`
            [name] = re.findall(r"\(\(?([\w.]+),\) if", ast.unparse(gate))
            found.append(name.replace("log.", "audit."))
    return found


def test_the_drawing_of_the_road_shows_the_gates_in_their_order() -> None:
    drawn = section(MAP, "The road").partition("pipeline.order")[2].partition("provider.invoke")[0]
    assert re.findall(r"^ {30}([a-z.]+) ", drawn, re.MULTILINE) == gates_of_the_order()


def test_the_road_ends_at_every_provider() -> None:
    drawn = section(MAP, "The road").partition("provider.invoke")[2].partition("surface.results")[0]
    ends = re.findall(r"^ {30}([a-z]+) ", drawn, re.MULTILINE)
    folders = [each for each in packages("switchboard") if re.fullmatch(r"providers/\w+", each)]
    assert sorted(ends) == sorted(Path(each).name for each in folders)


def test_every_module_that_the_map_names_exists() -> None:
    named = set(re.findall(rf"(?<![\w./`-])(?:{'|'.join(ROOMS)})(?:\.[a-z_]+)+(?![\w/])", MAP))
    assert len(named) > 15
    steps = set(gates_of_the_order())
    assert sorted(name for name in named - steps if not exists(name)) == []


@pytest.mark.parametrize(
    ("text", "title", "least"),
    [(MAP, "Where to start", 7), (ADVICE, "Adding things", 4), (ADVICE, "Ten changes", 10)],
)
def test_every_path_of_the_advice_exists(text: str, title: str, least: int) -> None:
    paths = [
        path
        for path in re.findall(r"`([\w./-]+/[\w./-]*)`", section(text, title))
        if "<" not in path
    ]
    assert len(paths) >= least
    assert [path for path in paths if not (exists(path) or (ROOT / path).exists())] == []


def test_a_public_class_name_exists_once() -> None:
    names = Counter(
        match
        for product in PRODUCTS
        for module in modules(product)
        for match in re.findall(r"^class ([A-Z]\w*)", module.text, re.MULTILINE)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_a_folder_of_many_files_has_folders_in_it() -> None:
    ours = modules("switchboard")
    sizes = {
        folder: sum(module.place.rpartition("/")[0] == folder for module in ours) - 1
        for folder in packages("switchboard")
    }
    assert {folder for folder, size in sizes.items() if size > MOST_FILES} == set()
