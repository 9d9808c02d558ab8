"""Reports are a contract: their schemas are committed, versioned and current."""

import json

import jsonschema_rs
import pytest

from cli.commands import SCHEMAS
from switchboard.cli.table import VERBS
from switchboard.cli.verbs.events import EventReport
from switchboard.cli.verbs.parts.report_schemas import main, report_schemas, schema_text
from switchkit.cli.style import Style


def test_the_committed_schemas_are_current() -> None:
    """Write them anew with `python -m switchboard.cli.verbs.parts.report_schemas`."""
    committed = {path.name: path.read_text("utf-8") for path in SCHEMAS.iterdir()}
    assert committed == {name: schema_text(schema) for name, schema in report_schemas().items()}


def test_they_are_written_into_a_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("schemas") / "reports"
    assert main([str(folder)]) == 0
    assert {path.name for path in folder.iterdir()} == set(report_schemas())


@pytest.mark.parametrize("name", sorted(report_schemas()))
def test_each_is_a_schema_that_begins_with_its_own_name(name: str) -> None:
    schema = json.loads((SCHEMAS / name).read_text("utf-8"))
    jsonschema_rs.meta.validate(schema)
    definition = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    first, number, _ = name.split(".", 2)
    assert next(iter(definition["properties"])) == "schema"
    assert definition["properties"]["schema"]["enum"] == [f"switchboard.{first}/{number}"]


def test_every_verb_has_a_report() -> None:
    reports = {name.split(".")[0].split("-")[0] for name in report_schemas()}
    # What a client launches speaks MCP, and reports nothing.
    assert set(VERBS) - {"mcp", "bridge", "codex", "natural"} <= reports


def test_spans_of_events_are_told_in_thousandths() -> None:
    event = {"at": 1.0, "event": "CallFinished", "tool": "x", "duration_s": 1.428000000000111}
    [line] = EventReport(event=event).lines(Style())
    assert line.endswith(" tool=x duration_s=1.428")
