"""Whoever had Switchboard before the gate was on by itself is told so, once."""

import pytest

from cli.commands import on_terminal, switchboard
from support.requirements import requirement
from support.workspace import Workspace

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
    assert WORDS not in on_terminal(unasked, "list", env={})


def test_programs_are_not_told_so_that_a_person_still_is(unasked: Workspace) -> None:
    assert WORDS not in switchboard(unasked, "list").err
    assert WORDS not in on_terminal(unasked, "list", "--json", env={})
    assert WORDS in on_terminal(unasked, "list", env={})


def test_whoever_has_decided_is_told_nothing(unasked: Workspace) -> None:
    unasked.config_toml("guard = false\n", scope="home")
    assert WORDS not in on_terminal(unasked, "list", env={})
