"""No file outside a provider's folder names the provider, but for its line in the table."""

import ast
from collections.abc import Iterator

from architecture.modules import Module, modules
from switchboard.providers.table import TABLE

# A section of `switchboard.config.json` has the name of a provider: it says how servers are shown.
ALSO_WORDS_OF_FILES = {
    "suites": ("settings/", "config/"),
    # How much a client is listed: everything, as if it were connected directly.
    "direct": ("settings/fields.py", "settings/servers.py", "cli/verbs/calling/tokens.py"),
}
# A verb that is about what one provider has.
VERBS = {
    "agents": ("cli/verbs/agents/agents.py", "cli/table.py"),
    "find": ("cli/verbs/calling/find.py", "cli/table.py"),
}


def outsiders() -> Iterator[Module]:
    inside = tuple(f"providers/{key}/" for key in TABLE)
    for module in modules("switchboard"):
        if not module.place.startswith(inside) and module.place != "providers/table.py":
            yield module


def test_every_provider_has_its_folder_and_its_line() -> None:
    folders = {m.place.split("/")[1] for m in modules("switchboard") if m.place.count("/") == 2}
    plugs = {m.place for m in modules("switchboard") if m.place.endswith("/source.py")}
    assert {f"providers/{key}/source.py" for key in TABLE} == plugs - {"providers/source.py"}
    assert set(TABLE) <= folders
    assert all(row.module == f"switchboard.providers.{key}.source" for key, row in TABLE.items())


def test_nobody_imports_a_provider() -> None:
    names = tuple(f"switchboard.providers.{key}" for key in TABLE)
    wrong = [
        f"{module.place}:{found.line} imports {found.name}"
        for module in outsiders()
        for found in module.imports
        if found.name.startswith(names)
        and not any(
            module.place in places and found.name.startswith(f"switchboard.providers.{key}")
            for key, places in VERBS.items()
        )
    ]
    assert wrong == []


def test_nobody_writes_the_key_of_a_provider() -> None:
    wrong = [
        f"{module.place}:{node.lineno} says {node.value!r}"
        for module in outsiders()
        for node in ast.walk(ast.parse(module.text))
        if isinstance(node, ast.Constant) and node.value in TABLE
        if not module.place.startswith(ALSO_WORDS_OF_FILES.get(str(node.value), ("no",)))
        and module.place not in VERBS.get(str(node.value), ())
    ]
    assert wrong == []
