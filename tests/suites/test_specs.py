"""Suite tools before anybody calls them: names, descriptions, schema, collisions."""

import json
from pathlib import Path

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from fakes.boards import echo_server, serving
from support.processes import mentioning
from support.requirements import requirement
from switchboard.children.exposure import SuiteSettings
from switchboard.core.catalog.names import MAX_TOOL_NAME, suite_name, tool_name
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.events import ConfigLoaded
from switchboard.core.faults import Fault, FaultCode
from switchboard.providers.suites.arguments import SUITE_SCHEMA, read_arguments
from switchboard.providers.suites.specs import suite_spec
from switchboard.settings.sections import ToolFilters


def spec_of(own: SuiteSettings | None = None, **entry: str) -> ToolSpec:
    return suite_spec(echo_server("context7", **entry), own or SuiteSettings())


@requirement("S2.01", "S2.02", "S2.42", "S2.69", "S2.75")
async def test_three_children_list_as_exactly_three_suites_and_none_is_started(
    tmp_path: Path,
) -> None:
    children = [echo_server(name) for name in ("context7", "memory", "supabase")]
    async with serving(tmp_path, *children) as desk:
        assert desk.names == ["context7_suite", "memory_suite", "supabase_suite"]
        desk.runtime.warm()
        assert mentioning(str(tmp_path)) == []


@requirement("S2.38", "S2.70")
async def test_a_suites_name_is_the_given_one_and_leads_back_to_its_child(tmp_path: Path) -> None:
    own = {"one": SuiteSettings(suite_name="docs"), "two": SuiteSettings(suite_name="one_suite")}
    async with serving(tmp_path, echo_server("one"), echo_server("two"), suites=own) as desk:
        assert desk.names == ["docs", "one_suite"]
        for suite, child in (("docs", "one"), ("one_suite", "two")):
            outcome = await desk.subtool(suite, "report")
            assert f'"{child}"' in str(outcome.blocks).replace("\\", "")


@requirement("S2.38")
def test_without_a_given_name_it_is_the_childs_and_suite() -> None:
    assert spec_of().name == "context7_suite"
    assert spec_of(SuiteSettings(suite_name="library docs!")).name == "library_docs_"


@given(st.text(max_size=200))
def test_every_name_is_one_that_each_client_accepts(wanted: str) -> None:
    for name in (suite_name(wanted), tool_name(wanted)):
        assert len(name) <= MAX_TOOL_NAME
        assert all(char.isascii() and (char.isalnum() or char in "_-") for char in name)


def test_long_names_that_begin_alike_stay_apart() -> None:
    first, second = tool_name("x" * 100 + "1"), tool_name("x" * 100 + "2")
    assert first != second
    assert len(first) == len(second) == MAX_TOOL_NAME


@requirement("S2.39", "S2.34", "S2.14")
@pytest.mark.parametrize(
    ("of_file", "of_settings", "override", "expected"),
    [
        ("from the file", "from the settings", False, "from the file"),
        ("from the file", "from the settings", True, "from the settings"),
        ("from the file", "", True, "from the file"),
        ("", "from the settings", False, "from the settings"),
        ("", "", False, "Use this tool for library docs. Actions: 'introspect' | 'call'"),
    ],
)
def test_a_description_comes_from_the_file_then_the_settings_then_a_default(
    of_file: str, of_settings: str, override: bool, expected: str
) -> None:
    own = SuiteSettings(description=of_settings, override_description=override)
    spec = spec_of(own, suite_description=of_file, description="library docs")
    assert spec.description == expected


@requirement("S2.39")
def test_the_default_description_names_the_child_when_it_says_nothing_of_itself() -> None:
    assert spec_of().description == "Use this tool for context7. Actions: 'introspect' | 'call'"


@requirement("S2.07", "S2.40", "S2.41")
def test_the_input_schema_is_exactly_the_documented_one() -> None:
    assert json.loads(bytes(spec_of().input_schema)) == {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["introspect", "call"]},
            "subtool": {"type": "string"},
            "args": {"type": "object"},
        },
        "required": ["action"],
    }


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3) | st.just("call"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
ACTIONS = st.sampled_from(["introspect", "call"])
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=2)
ARGUMENTS = (
    st.fixed_dictionaries(
        {},
        optional={
            "action": ACTIONS | VALUES,
            "subtool": st.text(max_size=3) | VALUES,
            "args": OBJECTS | VALUES,
            "more": VALUES,
        },
    )
    | st.fixed_dictionaries({"action": ACTIONS}, optional={"subtool": VALUES, "args": OBJECTS})
    | VALUES
)


@requirement("S2.07")
@given(ARGUMENTS, st.booleans())
def test_arguments_are_accepted_exactly_when_the_schema_accepts_them(
    value: object, pretty: bool
) -> None:
    validator = jsonschema_rs.Draft202012Validator(msgspec.json.decode(SUITE_SCHEMA))
    text = json.dumps(value, indent=2 if pretty else None)
    if validator.is_valid(value):
        read_arguments(Raw(text.encode()))
        return
    with pytest.raises(Fault) as caught:
        read_arguments(Raw(text.encode()))
    assert (caught.value.code, caught.value.reason) == (
        FaultCode.INVALID_ARGUMENT,
        "arguments-invalid",
    )


async def test_two_suites_of_one_name_are_both_hidden_and_named_and_the_rest_is_served(
    tmp_path: Path,
) -> None:
    own = {"a": SuiteSettings(suite_name="Docs"), "b": SuiteSettings(suite_name="docs")}
    children = [echo_server(name) for name in ("a", "b", "c")]
    async with serving(tmp_path, *children, suites=own) as desk:
        assert desk.names == ["c_suite"]
        [loaded] = desk.events.of(ConfigLoaded)
        [warning] = loaded.warnings
        assert "Docs" in warning
        assert "docs" in warning
        assert (await desk.introspect("c_suite"))["echo"]


@pytest.mark.parametrize("name", ["codex", "codex-reply", "switchyard_up", "switchboard_x"])
async def test_a_reserved_name_is_refused_and_the_rest_is_served(name: str, tmp_path: Path) -> None:
    own = {"a": SuiteSettings(suite_name=name)}
    async with serving(tmp_path, echo_server("a"), echo_server("b"), suites=own) as desk:
        assert desk.names == ["b_suite"]
        [loaded] = desk.events.of(ConfigLoaded)
        assert name in loaded.warnings[0]


async def test_the_global_lists_hide_suites(tmp_path: Path) -> None:
    children = [echo_server(name) for name in ("a", "b", "c")]
    filters = ToolFilters(allow=("*_suite",), deny=("b_*",))
    async with serving(tmp_path, *children, tools=filters) as desk:
        assert desk.names == ["a_suite", "c_suite"]
