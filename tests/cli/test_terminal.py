"""On a terminal there is colour and progress; `NO_COLOR` takes the colour away."""

import pytest

from cli.commands import on_terminal
from support.workspace import Workspace


def test_a_terminal_gets_colour_and_progress(workspace: Workspace) -> None:
    workspace.echo_child("one")
    shown = on_terminal(workspace, "introspect", "one", env={"TERM": "xterm"})
    assert "\x1b[1mone_suite\x1b[0m" in shown
    assert "starting the server of one_suite …" in shown


@pytest.mark.parametrize("env", [{"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_can_be_refused(workspace: Workspace, env: dict[str, str]) -> None:
    shown = on_terminal(workspace, "lst", env=env)
    assert shown == "error: there is no command `lst`\n\nhint: did you mean `switchboard list`?\n"


def test_colour_marks_only_what_words_say_too(workspace: Workspace) -> None:
    shown = on_terminal(workspace, "lst", env={"TERM": "xterm"})
    assert shown.startswith("\x1b[31merror:\x1b[0m there is no command")


def test_an_answer_cannot_steer_the_terminal(workspace: Workspace) -> None:
    workspace.echo_child("one")
    args = '{"text": "\\u001b]0;title\\u0007 \\u001b[2J ok"}'
    shown = on_terminal(workspace, "call", "one", "echo", "--args", args, env={"TERM": "dumb"})
    assert shown == "echo: \ufffd]0;title\ufffd \ufffd[2J ok\n"
