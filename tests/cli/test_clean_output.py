"""What somebody else wrote reaches no terminal as it is, not even through a pipe."""

import json

import pytest

from cli.commands import UNTRUSTING, switchboard
from support.requirements import attack
from support.workspace import Workspace, child_command, server

# An escape that writes the clipboard, and a letter that turns the text around.
ODD = "\x1b]52;c;ZXZpbA==\x07\u202eevil"


@attack("B21")
@pytest.mark.parametrize("words", [("doctor",), ("list",), ("config", "check"), ("trust",)])
def test_a_key_of_a_clone_is_printed_clean_to_a_pipe(
    workspace: Workspace, words: tuple[str, ...]
) -> None:
    workspace.write(
        ".switchboard/mcp.json", json.dumps({"mcpServers": {"a": {"command": "x", ODD: 1}}})
    )
    done = switchboard(workspace, *words, env=UNTRUSTING)
    assert "evil" in done.out + done.err
    for letter in ("\x1b", "\x07", "\u202e"):
        assert letter not in done.out + done.err


@attack("B21")
@pytest.mark.parametrize("words", [("doctor", "--deep"), ("introspect",), ("introspect", "loud")])
def test_last_words_of_a_server_are_printed_clean_to_a_pipe(
    workspace: Workspace, words: tuple[str, ...]
) -> None:
    shouts = f"import sys; sys.exit({ODD!r})"
    command = [child_command("echo_child")[0], "-c", shouts]
    workspace.mcp_json({"loud": server(command)}, scope="home")
    done = switchboard(workspace, *words)
    assert "evil" in done.out + done.err
    for letter in ("\x1b", "\x07", "\u202e"):
        assert letter not in done.out + done.err
