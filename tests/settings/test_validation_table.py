"""Each row of the reference's table of errors, at each scope that has an `mcp.json`.

A golden file holds the files of the case and, below the line, the whole message. With
UPDATE_GOLDEN=1 the messages are written anew; read what has changed.
"""

import os
from pathlib import Path

import pytest

from settings.ground import Ground
from support.requirements import requirement
from switchboard.config.problems import ConfigInvalid
from switchboard.settings.scopes.session_servers import servers_in_scope

GOLDEN = Path(__file__).parent / "golden" / "validation"
SCOPES = ("home", "workspace", "agent", "skill")
ROWS = {
    "unknown_top_level_key": "S4.71",
    "unknown_server_field": "S4.72",
    "trailing_value": "S4.73",
    "empty_server_name": "S4.74",
    "duplicate_server_name": "S4.75",
    "missing_command": "S4.76",
    "command_on_remote": "S4.77",
    "missing_url": "S4.78",
    "url_on_stdio": "S4.79",
    "auth_on_stdio": "S4.80",
    "incomplete_oauth": "S4.81",
    "value_that_is_no_string": "S4.82",
    "missing_file": "S4.83",
}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("row", [pytest.param(row, marks=requirement(ROWS[row])) for row in ROWS])
def test_an_error_is_told_with_its_place_and_what_to_do(
    ground: Ground, scope: str, row: str
) -> None:
    path = GOLDEN / scope / f"{row}.txt"
    told, expected = path.read_text("utf-8").split("\n=====\n")
    for part in told.split("----- ")[1:]:
        name, _, content = part.partition("\n")
        root = ground.user_home if name.startswith("~/") else ground.workspace
        ground.put(root / name.removeprefix("~/"), content)
    rendered = _said(ground, scope)
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(f"{told}\n=====\n{rendered}", "utf-8")
        return
    assert rendered == expected


def test_every_golden_file_is_a_case() -> None:
    there = {path.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob("*.txt")}
    assert there == {f"{scope}/{row}.txt" for scope in SCOPES for row in ROWS}


def _said(ground: Ground, scope: str) -> str:
    try:
        settings = ground.load()
        if scope == "agent":
            servers_in_scope(settings, agent=str(ground.home / "agents" / "reviewer"))
    except ConfigInvalid as invalid:
        return invalid.render()
    assert settings.warnings == ()
    return "no problem\n"
