"""A line of a transcript in words: what was done, and how it ended."""

from typing import Any

import msgspec
import pytest

from switchboard.engines.events import (
    AgentMessage,
    CommandItem,
    FileItem,
    Form,
    Notice,
    ToolItem,
)
from switchboard.runs.event_words import event_words, told_lines
from switchboard.runs.run import RunEvent
from switchboard.runs.transcripts import gap_mark, state_line


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
        (Form(request_id="1", server="s", message="which\none?"), "asks: which one?"),
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


def test_a_state_says_why_unless_that_is_the_same_word() -> None:
    assert event_words(state_line("cancelled", "cancelled")).text == "cancelled"
    assert event_words(state_line("failed", "time-limit")).text == "failed: time-limit"


def test_a_line_for_each_thing_tells_states_and_gaps_too() -> None:
    message = msgspec.json.encode(AgentMessage(text="two\nlines" + "x" * 1000)).decode()
    data = (state_line("working"), message, "{", gap_mark(2), state_line("completed"))
    events = [RunEvent(run_id="r", number=n, at=1.0, data=each) for n, each in enumerate(data)]
    working, said, gap, ended = told_lines(events)
    assert (working, ended) == ("working", "completed")
    assert said.startswith("two linesx")
    assert len(said) == 400
    assert gap == "note: 2 lines are missing here: the transcript could not be written"
