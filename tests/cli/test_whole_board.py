"""`introspect`, `call` and `doctor` where there is more than suites."""

import json
import os
import pty
import select
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from cli.commands import PATIENCE, switchboard
from support.requirements import attack, requirement
from support.workspace import Workspace

GUARDED = "enable_mcp_server_surface = true\n"
COPIES = """
[mcp.copies]
command = "tee"
args = ["seen.json"]
description = "Notes what it is given."
requires_approval = false
"""
WRITES = """
[mcp.writes]
command = "touch"
args = ["touched"]
side_effects = ["filesystem-write"]
"""


@pytest.fixture
def workspace(either_workspace: Workspace) -> Workspace:
    return either_workspace


@pytest.fixture
def mixed(workspace: Workspace) -> Workspace:
    workspace.echo_child("one")
    workspace.config_toml(GUARDED + COPIES + WRITES, scope="home")
    return workspace


@pytest.mark.parametrize("words", [("introspect",), ("doctor", "--deep"), ("tokens",)])
def test_looking_around_runs_no_command_tool(mixed: Workspace, words: tuple[str, ...]) -> None:
    done = switchboard(mixed, *words)
    assert done.code == 0, done.err
    assert "one_suite" in done.out
    assert not (mixed.root / "seen.json").exists()


def test_what_is_in_no_suite_is_shown_beside_the_suites(mixed: Workspace) -> None:
    report = switchboard(mixed, "introspect", "--json").report
    assert [suite["suite"] for suite in report["suites"]] == ["one_suite"]
    assert [tool["name"] for tool in report["tools"]] == ["copies", "writes"]
    assert "\nin no suite  2 tools\n  copies()\n" in switchboard(mixed, "introspect").out


def test_tools_by_which_models_find_others_are_not_among_those_that_people_find(
    mixed: Workspace,
) -> None:
    lines = 'surface_tokens = "balanced"\nsurface.split = "always"\nresults.inline_tokens = 8_000\n'
    mixed.config_toml(lines + GUARDED + COPIES + WRITES, scope="home")
    report = switchboard(mixed, "introspect", "--json").report
    assert [tool["name"] for tool in report["tools"]] == ["copies", "writes"]
    found = switchboard(mixed, "find", "--limit", "100", "echo call find tool", "--json").report
    assert {each["server"] for each in found["results"]} <= {"one", ""}
    assert {each["name"] for each in found["results"] if not each["server"]} <= {"copies", "writes"}


def test_one_tool_of_no_suite_is_described(mixed: Workspace) -> None:
    done = switchboard(mixed, "introspect", "copies")
    name, about, schema = done.out.split("\n", 2)
    assert (name, about) == ("copies", "Notes what it is given.")
    assert json.loads(schema)["type"] == "object"


def test_a_command_tool_is_called_by_its_name(mixed: Workspace) -> None:
    done = switchboard(mixed, "call", "copies", "--args", '{"a": 1}')
    assert (done.code, done.out, done.err) == (0, '{"a": 1}\n', "")
    assert json.loads((mixed.root / "seen.json").read_text()) == {"a": 1}
    report = switchboard(mixed, "call", "copies", "--json").report
    assert (report["suite"], report["tool"], report["is_error"]) == ("", "copies", False)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("call", "one"), "`one` is a suite: say which of its tools"),
        (("call", "copies", "{}"), "`copies` is not a suite"),
        (("introspect", "copies", "more"), "`copies` is not a suite"),
    ],
)
def test_a_suite_has_tools_and_a_tool_has_none(
    mixed: Workspace, words: tuple[str, ...], says: str
) -> None:
    done = switchboard(mixed, *words)
    assert done.code == 2
    assert says in done.err


def test_a_server_that_shows_its_tools_to_clients_is_a_suite_here(workspace: Workspace) -> None:
    workspace.echo_child("one", expose="tools")
    assert "  add(a: number, b: number)\n" in switchboard(workspace, "introspect", "one").out
    assert switchboard(workspace, "call", "one", "add", "--args", '{"a": 1, "b": 2}').out == "3\n"
    (counted,) = switchboard(workspace, "tokens", "--json").report["servers"]
    assert counted["shown"] == counted["direct"] > 0


class Terminal:
    """What a person sees of a command, and types into it."""

    def __init__(self, screen: int) -> None:
        self._screen = screen
        self.shown = ""

    def reads_until(self, text: str) -> None:
        until = time.monotonic() + PATIENCE
        while text not in self.shown:
            assert select.select([self._screen], [], [], until - time.monotonic())[0], self.shown
            self.shown += os.read(self._screen, 4096).decode()

    def types(self, text: str) -> None:
        os.write(self._screen, text.encode())


@contextmanager
def at_terminal(
    workspace: Workspace, *words: str
) -> Generator[tuple[Terminal, subprocess.Popen[bytes]]]:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        workspace.command(*words),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=workspace.root,
        env={**workspace.env, "TERM": "dumb"},
    ) as process:
        os.close(theirs)
        try:
            yield Terminal(ours), process
            process.wait(PATIENCE)
        finally:
            process.kill()
            os.close(ours)


@requirement("S3.26")
@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_who_types_at_a_terminal_is_asked_there(mixed: Workspace, typed: str, code: int) -> None:
    with at_terminal(mixed, "call", "writes") as (terminal, process):
        terminal.reads_until("Allow it? [y/N] ")
        assert "writes" in terminal.shown
        assert not (mixed.root / "touched").exists()
        terminal.types(typed)
    assert process.returncode == code
    assert (mixed.root / "touched").exists() == (code == 0)


def test_nobody_is_asked_about_a_call_that_lacks_what_its_tool_needs(mixed: Workspace) -> None:
    with at_terminal(mixed, "call", "one", "add") as (terminal, process):
        terminal.reads_until("`add` needs the argument `a`")
        assert "[y/N]" not in terminal.shown
    assert process.returncode != 0


@attack("A2")
def test_what_the_console_decides_is_not_asked_at_the_command(mixed: Workspace) -> None:
    mixed.config_toml(GUARDED + 'approval_channel = "console"\n' + WRITES, scope="home")
    with at_terminal(mixed, "call", "writes") as (terminal, process):
        terminal.reads_until("switchboard approvals approve ")
        terminal.types("y\n")
        assert "[y/N]" not in terminal.shown
        process.terminate()
    assert not (mixed.root / "touched").exists()


def test_without_a_terminal_it_says_at_once_who_has_to_answer(mixed: Workspace) -> None:
    with subprocess.Popen(
        # Who has it run cannot approve it.
        ["timeout", "60", *mixed.command("call", "writes")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=mixed.root,
        env=mixed.env,
    ) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said.startswith("`writes` waits for the approval of a person: switchboard approvals")
        question = said.split()[-1]
        assert switchboard(mixed, "approvals", "approve", question, "--yes").code == 0
        assert process.wait(PATIENCE) == 0
    assert (mixed.root / "touched").exists()
