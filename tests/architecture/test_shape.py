"""The code keeps its shape: imports point down, outside names stay where they belong."""

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from architecture.modules import SOURCES, Module, modules, package_of, packages
from architecture.shape import (
    ALSO_MAY_IMPORT,
    LATE_IMPORTS,
    LIGHT,
    MAX_LINES,
    MAY_IMPORT,
    MAY_SAY_PATH_WORDS,
    MAY_SAY_SYSTEM_WORDS,
    ONLY_IN_ONE_MODULE,
    PATH_WORDS,
    PLANNED,
    SYSTEM_WORDS,
    THIRD_PARTY,
    TOO_HEAVY,
    WITHOUT_OUTSIDERS,
    Allowance,
)

CODEMAP = SOURCES.parent / "ARCHITECTURE.md"
OURS = modules("switchboard")
YARD = modules("switchyard")
KIT = modules("switchkit")
# The sides of `switchkit/platform`.
SYSTEMS = ("linux", "darwin")


def rows(package: str) -> set[str]:
    return MAY_IMPORT["providers/*" if package.startswith("providers/") else package]


def allowed(module: Module, imported: str) -> bool:
    """Say whether the module may import this dotted name below `switchboard`."""
    parts = imported.split(".")
    target = package_of(parts if _is_module(parts) else parts[:-1])
    if target in {"", module.package}:
        return True
    may = set(rows(module.package)) if module.package else set[str]()
    for extra in ALSO_MAY_IMPORT:
        if fnmatch(module.place, extra.modules):
            may |= extra.packages
    kind = "providers/*" if target.startswith("providers/") else target
    return kind in may or any(f"{kind}:{part}" in may for part in parts)


def _is_module(parts: list[str]) -> bool:
    path = SOURCES.joinpath("switchboard", *parts)
    return path.is_dir() or path.with_suffix(".py").exists()


def test_every_package_stands_in_the_table_of_imports() -> None:
    there = {module.package for module in OURS if not module.package.startswith("providers/")}
    assert there | {"providers/*"} | set(PLANNED) == {"", *MAY_IMPORT}


def test_what_is_planned_does_not_exist_yet() -> None:
    assert set(PLANNED) & {module.package for module in OURS} == set()


def test_imports_point_down_the_table() -> None:
    wrong = [
        f"{module.place}:{found.line} imports {found.name}"
        for module in OURS
        for found in module.imports
        if found.name.startswith("switchboard.")
        and not allowed(module, found.name.removeprefix("switchboard."))
    ]
    assert wrong == []


def test_imports_name_their_module_in_full() -> None:
    relative = [
        f"{module.place}:{found.line}"
        for module in OURS + YARD + KIT
        for found in module.imports
        if found.name.startswith(".")
    ]
    assert relative == []


def test_third_party_names_appear_only_where_they_belong() -> None:
    wrong: list[str] = []
    for module in OURS:
        for found in module.imports:
            name = found.name.split(".")[0]
            # `*` is a name that only the running program knows; it is on the list of late imports.
            if name in {"switchboard", "switchkit", "*", *sys.stdlib_module_names}:
                continue
            outsider = THIRD_PARTY.get(name)
            home = outsider is not None and any(fnmatch(module.place, p) for p in outsider.where)
            if not home or any(fnmatch(module.place, p) for p in WITHOUT_OUTSIDERS):
                wrong.append(f"{module.place}:{found.line} imports {name}")
    assert wrong == []


@pytest.mark.parametrize(
    ("words", "may_say"),
    [(SYSTEM_WORDS, MAY_SAY_SYSTEM_WORDS), (PATH_WORDS, MAY_SAY_PATH_WORDS)],
)
def test_only_the_platform_knows_the_operating_system(
    words: str, may_say: tuple[Allowance, ...]
) -> None:
    wrong = [
        f"{place}:{number} says {found[0]}"
        for module in OURS + YARD + KIT
        if not any(
            fnmatch(place := f"{module.root}/{module.place}", extra.modules) for extra in may_say
        )
        for number, line in enumerate(module.text.splitlines(), start=1)
        if (found := re.search(words, line))
    ]
    assert wrong == []


def test_every_system_answers_the_same_questions() -> None:
    """Each noun has one file a system, with the names that are chosen from it."""
    nouns = {
        side: {
            m.place.removeprefix(f"platform/{side}/"): m
            for m in KIT
            if m.place.startswith(f"platform/{side}/")
        }
        for side in SYSTEMS
    }
    chosen = {
        m.place.removeprefix("platform/"): m
        for m in KIT
        if any(f.name.startswith("switchkit.platform.linux.") for f in m.imports)
        and m.path.parent.name == "platform"
    }
    assert len(chosen) > 4
    for noun, module in chosen.items():
        wanted = {
            side: {
                found.name.rpartition(".")[2]
                for found in module.imports
                if found.name.startswith(f"switchkit.platform.{side}.")
            }
            for side in SYSTEMS
        }
        assert wanted["linux"] == wanted["darwin"], noun
        for side in SYSTEMS:
            text = nouns[side][noun].text
            defined = set(re.findall(r"^(?:def )?(\w+)", text, re.MULTILINE))
            missing = wanted[side] - defined
            assert missing == set(), f"{side}/{noun}"


def test_what_starts_in_a_blink_loads_nothing_heavy() -> None:
    light = [m for m in OURS + KIT if any(fnmatch(f"{m.root}/{m.place}", each) for each in LIGHT)]
    assert len(light) > len(LIGHT)
    heavy = [
        f"{module.root}/{module.place}:{found.line} imports {found.name}"
        for module in light
        for found in module.imports
        if found.on_top and found.is_loaded and found.name.split(".")[0] in TOO_HEAVY
    ]
    assert heavy == []


def test_some_third_party_names_are_known_to_one_module_only() -> None:
    users = {
        name: {m.place for m in OURS for f in m.imports if f.name.split(".")[0] == name}
        for name in ONLY_IN_ONE_MODULE
    }
    assert {name: places for name, places in users.items() if len(places) > 1} == {}


def test_switchyard_knows_the_standard_library_and_the_kit_alone() -> None:
    assert strangers(YARD, {"switchyard", "switchkit"}) == []


def test_the_kit_knows_the_standard_library_alone() -> None:
    assert strangers(KIT, {"switchkit"}) == []


def strangers(among: list[Module], known: set[str]) -> list[str]:
    """Imports of what is neither known nor of the standard library."""
    return [
        f"{module.root}/{module.place}:{found.line} imports {found.name}"
        for module in among
        for found in module.imports
        if found.name.split(".")[0] not in known | sys.stdlib_module_names
    ]


def test_imports_sit_at_the_top_of_their_module() -> None:
    late = [
        f"{module.place}:{found.line} imports {found.name}"
        for module in OURS + KIT
        for found in module.imports
        if not found.on_top and (module.place, found.name) not in LATE_IMPORTS
    ]
    assert late == []


def test_the_list_of_late_imports_is_true() -> None:
    late = {(m.place, found.name) for m in OURS + KIT for found in m.imports if not found.on_top}
    assert set(LATE_IMPORTS) - late == set()


def test_values_are_structs_not_dataclasses() -> None:
    users = [m.place for m in OURS for f in m.imports if f.name.split(".")[0] == "dataclasses"]
    assert users == []


def test_files_are_short_enough_to_hold_one_noun() -> None:
    long = {m.place: n for m in OURS + YARD + KIT if (n := len(m.text.splitlines())) > MAX_LINES}
    assert long == {}


def test_init_files_hold_nothing_but_words() -> None:
    busy = [
        module.place
        for module in OURS
        if module.path.name == "__init__.py" and (module.imports or "def " in module.text)
    ]
    assert busy == []


def test_the_codemap_has_one_line_for_each_package() -> None:
    codemap = CODEMAP.read_text("utf-8").partition("## Codemap")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| `([\w/]+)` \|", codemap, re.MULTILINE)
    folders = packages("switchboard")
    assert sorted(lines) == [folder for folder in folders if "/" not in folder]
    providers = [folder for folder in folders if re.fullmatch(r"providers/\w+", folder)]
    assert [name for name in providers if f"`{Path(name).name}`" not in codemap] == []
    assert "`src/switchyard`" in codemap
    for module in KIT:
        if module.path.name != "__init__.py" and module.path.parent.name not in SYSTEMS:
            assert f"`{module.place.removesuffix('.py')}`" in codemap
