"""The table of keys is the one place that knows a key: everything else follows from its row."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from settings.ground import Ground
from settings.sealed_entries import ENTRIES, prints
from switchboard.children.schema import ServerEntry
from switchboard.config.keys import Section
from switchboard.providers.table import source_of
from switchboard.settings.docs.reference import PAGE as KEYS
from switchboard.settings.docs.reference import reference
from switchboard.settings.fields import FLAGS, SECTIONS, VARIABLES
from switchboard.settings.fingerprints import bound_values, sealed
from switchboard.settings.server_fields import SERVER, SUITE

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "configuration.md"
GOLDEN = Path(__file__).parent / "golden" / "fingerprints.json"

# A key of a server and a key of a section: a row each, and the attribute that it is read into.
NEW_LINES = (
    (
        "settings/server_fields.py",
        "        # Words reach the model",
        """        Field(
            name="nice_level",
            kind=Whole(maximum=19, about="How far it steps back for others."),
            files=_CHILD,
            bound="unless-default",
        ),
""",
    ),
    ("children/schema.py", "    description: str = ", "    nice_level: int = 0\n"),
    (
        "settings/fields.py",
        '    Field("idle_ms", Whole(about="End the daemon',
        """        Field(
            name="greeting_word",
            kind=Text(empty=False, about="What every client is greeted with."),
            workspace="never",
            variables=("SWITCHBOARD_GREETING",),
        ),
""",
    ),
    ("settings/sections.py", "    idle_ms: int = 900_000", '    greeting_word: str = "hello"\n'),
)

READ = """
from os import environ
from switchboard.settings.load import load_settings
print(*(entry.nice_level for entry in load_settings(environ=environ).servers))
"""


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our sources with two keys more."""
    sources = tmp_path_factory.mktemp("grown")
    package = sources / "switchboard"
    shutil.copytree(ROOT / "src" / "switchboard", package, ignore=shutil.ignore_patterns("*.pyc"))
    for place, before, lines in NEW_LINES:
        text = (package / place).read_text("utf-8")
        assert text.count(before) == 1, place
        (package / place).write_text(text.replace(before, lines + before), "utf-8")
    return sources


class Lab:
    """The grown Switchboard in a home and a workspace of its own."""

    def __init__(self, sources: Path, ground: Ground) -> None:
        self._sources = sources
        self.ground = ground

    def run(self, *words: str, **variables: str) -> str:
        environ = self.ground.environ(PYTHONPATH=str(self._sources), **variables)
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.ground.workspace,
            env={"SWITCHBOARD_TRUST_WORKSPACE": "1", **environ},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout or done.stderr

    def config(self, *words: str, **variables: str) -> dict[str, Any]:
        return json.loads(self.run("-m", "switchboard", "config", *words, "--json", **variables))


@pytest.fixture
def lab(grown: Path, ground: Ground) -> Lab:
    ground.put(ground.home / "config.toml", "trust_variable = true\n")
    return Lab(grown, ground)


def test_a_new_key_of_a_server_is_read_in_every_file_and_explained(lab: Lab) -> None:
    lab.ground.put(
        lab.ground.home / "mcp.json", {"mcpServers": {"one": {"command": "x", "nice_level": 5}}}
    )
    lab.ground.child("two", {"name": "two", "niceLevel": 7})
    told = lab.config("explain", "mcp_servers.one.nice_level")
    assert (told["value"], told["scope"]) == (5, "home")
    told = lab.config("explain", "mcp_servers.two.nice_level")
    assert (told["value"], told["scope"]) == (7, "workspace")
    assert lab.run("-c", READ) == "5 7\n"


def test_a_new_key_is_refused_where_it_is_wrong_or_may_not_be_set(lab: Lab) -> None:
    lab.ground.put(
        lab.ground.home / "mcp.json", {"mcpServers": {"one": {"command": "x", "nice_level": 99}}}
    )
    lab.ground.put(
        lab.ground.workspace / "switchboard.config.json", {"suites": {"one": {"niceLevel": 1}}}
    )
    problems = lab.config("check")["problems"]
    assert [(each["key"], each["message"]) for each in problems] == [
        ("mcpServers.one.nice_level", "`nice_level` must be from 0 to 19, not 99"),
        ("suites.one.niceLevel", "unknown field `niceLevel`"),
    ]


def test_a_new_key_of_a_section_comes_from_the_home_and_the_environment_only(lab: Lab) -> None:
    lab.ground.put(
        lab.ground.home / "config.toml",
        'trust_variable = true\n[daemon]\ngreeting_word = "good day"\n',
    )
    lab.ground.put(lab.ground.own / "config.toml", '[daemon]\ngreeting_word = "obey me"\n')
    (warning,) = lab.config("check")["warnings"]
    assert warning["key"] == "daemon.greeting_word"
    assert "only its user may decide this" in warning["message"]
    told = lab.config("explain", "daemon.greeting_word", SWITCHBOARD_GREETING="ahoy")
    assert (told["value"], told["origin"]) == ("ahoy", "environment, SWITCHBOARD_GREETING")
    assert [(step["value"], step["scope"]) for step in told["replaced"]] == [
        ("good day", "home"),
        ("hello", "default"),
    ]


def test_a_new_key_is_in_the_schemas_and_in_the_reference(lab: Lab, tmp_path: Path) -> None:
    lab.run("-m", "switchboard.settings.docs.schemas", str(tmp_path))
    for name, key in (("mcp", "nice_level"), ("child.mcp", "niceLevel")):
        text = (tmp_path / f"{name}.schema.json").read_text("utf-8")
        assert f'"{key}": {{' in text
        assert "How far it steps back for others." in text
    page = lab.ground.put(lab.ground.workspace / "page.md", PAGE.read_text("utf-8"))
    lab.run("-m", "switchboard.settings.docs.reference", str(page))
    new = set(page.read_text("utf-8").splitlines()) - set(PAGE.read_text("utf-8").splitlines())
    section, server = sorted(new)
    assert section == (
        '| `greeting_word` | a string | `"hello"` | has no say | `SWITCHBOARD_GREETING` |  '
        "| What every client is greeted with. |"
    )
    assert server == (
        "| `nice_level` | a whole number | `0` | may set it |  | yes "
        "| How far it steps back for others. `niceLevel` in `.mcp.json`. |"
    )


def test_a_new_key_leaves_the_trust_in_servers_without_it_as_it_is(lab: Lab) -> None:
    told = lab.run(
        "-c",
        f"import json, sys; sys.path.insert(0, {str(ROOT / 'tests')!r});"
        "from settings.sealed_entries import prints; print(json.dumps(prints()))",
    )
    assert json.loads(told) == json.loads(GOLDEN.read_text("utf-8"))


def test_fingerprints_are_those_of_the_versions_before() -> None:
    """They were computed before there was a table: a user's trust outlives an upgrade.

    But for servers with headers, whose values count since.
    """
    assert prints() == json.loads(GOLDEN.read_text("utf-8"))


@pytest.mark.parametrize("field", SERVER.fields, ids=lambda field: field.name)
def test_a_change_asks_again_where_the_table_says_so(field: Any) -> None:
    (entry,) = (each for each in ENTRIES if each.name == "full")
    entry = replace(entry, headers={"X-A": "a"}, trust_annotations=True)
    changed = replace(entry, **{field.name: _another(entry, field.name)})
    asks = _print_of(entry) != _print_of(changed)
    assert asks is (field.bound != "no")
    if field.bound == "sandboxed" and field.name != "sandbox_profile":
        free = replace(entry, sandbox_profile="none")
        free_changed = replace(changed, sandbox_profile="none")
        assert _print_of(free) == _print_of(free_changed)
    if field.bound == "members":
        assert _print_of(entry) != _print_of(replace(entry, headers={"X-A": "other"}))


def _print_of(entry: ServerEntry) -> str:
    return sealed(entry, "/nowhere/workspace").fingerprint


def _another(entry: ServerEntry, name: str) -> Any:
    value = getattr(entry, name)
    if isinstance(value, bool):
        return not value
    return {
        tuple: ("another",),
        dict: {"ANOTHER": "x"},
        int: 1,
        str: "another",
        type(None): next(each.auth for each in ENTRIES if each.auth),
    }[type(value)]


def test_every_key_is_read_into_an_attribute_or_is_another_word_for_one() -> None:
    for section in (SERVER, *SECTIONS):
        if section.into is None:
            continue
        missing = {
            field.name
            for field in section.fields
            if field.name not in section.into.__struct_fields__ and not field.means
        }
        # What these say is said by `format` and `filter` once the file is read.
        assert missing <= {"pretty", "compact", "json", "level"}, section.name


def test_no_key_and_no_variable_is_there_twice() -> None:
    for section in (SERVER, *SECTIONS):
        names = [field.name for field in section.fields]
        assert len(names) == len(set(names)), section.name
    variables = [variable.name for variable in VARIABLES]
    assert len(variables) == len(set(variables))
    assert set(FLAGS) == {flag.name for flag in FLAGS.values()}


def test_the_page_holds_the_keys_as_they_are(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert KEYS.main(["--check", str(PAGE)]) == 0
    stale = tmp_path / "page.md"
    stale.write_text(PAGE.read_text("utf-8").replace("| `port` |", "| `prot` |"), "utf-8")
    assert KEYS.main(["--check", str(stale)]) == 1
    assert "not current" in capsys.readouterr().err
    assert KEYS.main([str(stale)]) == 0
    assert stale.read_text("utf-8") == PAGE.read_text("utf-8")


def test_the_reference_has_a_meaning_for_every_key_that_is_used() -> None:
    """Keys that nothing uses yet are explained when something does."""
    bare = [
        f"{section.name}.{field.name}"
        for section in _used()
        for field in section.fields
        if not (field.unused or getattr(field.kind, "about", ""))
    ]
    assert bare == []
    assert all(
        f"`{field.spelled(each.file)}`" in reference() for each in _used() for field in each.fields
    )


def _used() -> list[Section]:
    return [section for section in (SERVER, *SECTIONS) if not section.unused]


@pytest.mark.parametrize("section", [SUITE, source_of("commands").section])
def test_what_trust_is_bound_to_is_said_by_the_rows_of_a_section(section: Section) -> None:
    values = dict.fromkeys(section.fields_of(section.file), "x")
    first = section.fields[0]
    unbound = replace(section, fields=(replace(first, bound="no"), *section.fields[1:]))
    bound = bound_values(section, values)
    assert first.spelled(section.file) in bound
    assert bound_values(unbound, values) == {
        key: value for key, value in bound.items() if key != first.spelled(section.file)
    }
