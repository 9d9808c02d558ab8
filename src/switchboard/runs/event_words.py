"""A line of a run's transcript in words, for whoever follows a run and whoever started it."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from switchboard.core.privacy.cleaning import written_out
from switchboard.runs.run import RunEvent

_MOST = 200
_MOST_OF_MESSAGE = 400


class EventWords(msgspec.Struct, frozen=True, kw_only=True):
    """What a line of a transcript says, and of which kind it is."""

    # Empty where it says nothing to people.
    text: str = ""
    kind: str = ""
    # Whether the thing was only begun.
    is_begun: bool = False
    # How it ended: the last part of the text, which matters most where there is room for little.
    ending: str = ""


def event_words(data: str) -> EventWords:
    """The words for a line. Only those of a message may have several lines."""
    try:
        members: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.MsgspecError:
        return EventWords()
    return EventWords(
        text=_text(members),
        kind=str(members.get("event", "")),
        is_begun=members.get("status") == "started",
        ending=_ended(members) if members.get("event") == "command" else "",
    )


def told_lines(events: Iterable[RunEvent]) -> Iterator[str]:
    """A line for each thing that a run did, where there is no room for whole messages."""
    for event in events:
        if text := event_words(event.data).text:
            yield one_line(text, _MOST_OF_MESSAGE)


def one_line(text: str, most: int = _MOST) -> str:
    """The text in one line that is not too long, with nothing in it that deceives the eye."""
    text = written_out(" ".join(text.split()))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _text(members: dict[str, Any]) -> str:  # noqa: C901, PLR0911 - a case for each kind of event
    match members:
        case {"event": "state", "state": "asking", "text": str(question)} if question:
            return f"waits for an answer: switchboard approvals show {one_line(question)}"
        case {"event": "state", "state": state, "text": text}:
            return f"{state}{f': {one_line(str(text))}' if text not in {'', state} else ''}"
        case {"event": "opened", "model": model}:
            return f"began{f' with {one_line(str(model))}' if model else ''}"
        case {"event": "message", "text": text}:
            return "\n".join(written_out(line) for line in str(text).splitlines())
        case {"event": "reasoning", "text": text}:
            return f"thinks: {one_line(str(text))}"
        case {"event": "command", "command": command}:
            return f"$ {one_line(str(command))}{_ended(members)}"
        case {"event": "file", "status": status, "paths": paths}:
            return f"files {_did(status, 'changed')}: {one_line(', '.join(map(str, paths)))}"
        case {"event": "tool", "status": status, "tool": tool, "server": server}:
            name = f"{server}/{tool}" if server else str(tool)
            return f"tool {_did(status, 'called')}: {one_line(name)}"
        case {"event": "notice" | "cut", "text": text}:
            return f"note: {one_line(str(text))}"
        case {"event": "permission", "subject": subject}:
            return f"asks whether it may: {one_line(str(subject))}"
        case {"event": "form", "message": message}:
            return f"asks: {one_line(str(message))}"
        case _:
            # The end is told with the run, and the engine's own words are for programs.
            return ""


def _ended(command: dict[str, Any]) -> str:
    status, exit_status = command.get("status"), command.get("exit_status")
    if status == "started":
        return ""
    if status == "declined" or exit_status is None:
        return f" ({status})"
    return f" (exit status {exit_status})"


def _did(status: str, done: str) -> str:
    return done if status == "completed" else status
