"""A line of a transcript in words: what was done, and how it ended."""

from typing import Any

import msgspec
import pytest

from switchboard.engines.events import AgentMessage, CommandItem, FileItem, Notice, ToolItem
from switchboard.runs.event_words import event_words


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (CommandItem(id="1", status="started", command="make"), "$ make"),
        (
            CommandItem(id="1", status="failed", command="make", exit_status=2),
            "$ make (exit status 2)",
        ),
        (CommandItem(id="1", status="declined", command="make"), "$ make (declined)"),
        (FileItem(id="1", status="completed", paths=("a", "b")), "files changed: a, b"),
        (FileItem(id="1", status="failed", paths=("a",)), "files failed: a"),
        (ToolItem(id="1", status="completed", tool="read", server="fs"), "tool called: fs/read"),
        (ToolItem(id="1", status="failed", tool="plan"), "tool failed: plan"),
        (Notice(text="two\nlines"), "note: two lines"),
        (AgentMessage(text="two\nlines\x1b[2J"), "two\nlines\\u001b[2J"),
    ],
)
def test_a_line_says_what_was_done_and_how_it_ended(event: Any, says: str) -> None:
    assert event_words(msgspec.json.encode(event).decode()).text == says


@pytest.mark.parametrize("data", ["", "[]", "{", '{"event":"raw","type":"x","data":"{}"}'])
def test_a_line_that_nobody_has_words_for_says_nothing(data: str) -> None:
    assert event_words(data).text == ""


def test_a_long_command_is_cut() -> None:
    event = CommandItem(id="1", status="started", command="x" * 1000)
    assert len(event_words(msgspec.json.encode(event).decode()).text) < 250
