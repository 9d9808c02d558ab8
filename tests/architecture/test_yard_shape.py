"""Switchyard keeps its shape: imports point down, and there is no heap of loose modules."""

from architecture.modules import modules, packages
from architecture.yard_shape import YARD_LATE_IMPORTS, YARD_MAY_IMPORT

YARD = modules("switchyard")
ROOT = "__init__"
MOST_FILES = 15


def unit(dotted: str) -> str:
    """Name the row of a place or of an imported name: its folder, or the module at the root."""
    return dotted.replace("/", ".").removesuffix(".py").split(".")[0]


def imported_units() -> list[tuple[str, str, str]]:
    return [
        (
            unit(module.place),
            unit(found.name.removeprefix("switchyard.")),
            f"{module.place}:{found.line}",
        )
        for module in YARD
        for found in module.imports
        if found.name.startswith("switchyard.") and not found.name.startswith("switchyard.__")
    ]


def test_every_folder_and_root_module_stands_in_the_table() -> None:
    assert {unit(module.place) for module in YARD} == {ROOT, *YARD_MAY_IMPORT}


def test_imports_point_down_the_table() -> None:
    wrong = [
        f"{where} imports {target}"
        for source, target, where in imported_units()
        if target != source and target not in YARD_MAY_IMPORT.get(source, set())
    ]
    assert wrong == []


def test_the_table_has_no_cycle() -> None:
    left = dict(YARD_MAY_IMPORT)
    while lowest := [name for name, below in left.items() if not below & set(left)]:
        for name in lowest:
            del left[name]
    assert left == {}


def test_imports_sit_at_the_top_or_on_the_list() -> None:
    late = {(m.place, found.name) for m in YARD for found in m.imports if not found.on_top}
    assert late == set(YARD_LATE_IMPORTS)


def test_no_folder_is_a_heap() -> None:
    sizes = {
        folder: sum(module.place.rpartition("/")[0] == folder for module in YARD)
        for folder in packages("switchyard")
    }
    assert {folder: size for folder, size in sizes.items() if size > MOST_FILES + 1} == {}
