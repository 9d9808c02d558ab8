"""Whoever had Switchboard before the gate was on by itself is told so, once."""

import pytest

from cli.commands import on_terminal, switchboard, typed
from support.requirements import requirement
from support.workspace import Workspace

SAYS_NOTHING = {"ENABLE_MCP_SERVER_SURFACE": "-"}
WORDS = "waits for your yes"


@pytest.fixture
def unasked(workspace: Workspace) -> Workspace:
    """Give a home in use, in which nobody has said anything of the gate."""
    workspace.config_toml("# nothing of the guard\n", scope="home")
    return workspace


@requirement("S3.111", "S3.112")
def test_a_person_is_told_once_what_is_on_and_how_to_go_without(unasked: Workspace) -> None:
    first = on_terminal(unasked, "list", env={})
    assert WORDS in first
    assert "guard = false" in first
    # Whole words in each row, and nothing of a version that a new user never had.
    assert all(len(row) <= 80 for row in first.splitlines())
    assert "version" not in first
    assert " into ~/" in " ".join(first.split())
    assert WORDS not in on_terminal(unasked, "list", env={})


def test_programs_are_not_told_so_that_a_person_still_is(unasked: Workspace) -> None:
    assert WORDS not in switchboard(unasked, "list").err
    assert WORDS not in on_terminal(unasked, "list", "--json", env={})
    assert WORDS in on_terminal(unasked, "list", env={})


def test_whoever_has_decided_is_told_nothing(unasked: Workspace) -> None:
    unasked.config_toml("guard = false\n", scope="home")
    assert WORDS not in on_terminal(unasked, "list", env={})


def test_whoever_is_new_comes_from_no_earlier_version(workspace: Workspace) -> None:
    """The first command makes the home; the note is for those who had one."""
    workspace.home.rmdir()
    added = typed(workspace, "add", "x", "--global", "--", "true")
    assert added.code == 0
    assert (workspace.home / "mcp.json").exists()
    assert WORDS not in on_terminal(workspace, "list", env={})


def test_a_home_can_go_without_also_where_a_workspace_was_prepared(workspace: Workspace) -> None:
    workspace.settings.rmdir()
    assert switchboard(workspace, "init").code == 0
    assert "guard      on (by default)\n" in switchboard(workspace, "doctor", env=SAYS_NOTHING).out
    workspace.config_toml("guard = false\n", scope="home")
    shown = switchboard(workspace, "doctor").out
    assert "guard      off (from ~/.switchboard/config.toml:1)\n" in shown
