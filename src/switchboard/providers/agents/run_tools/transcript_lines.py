"""A transcript for who reads it: a line for each thing that the agent did."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import msgspec

from switchboard.runs.run import RunEvent

_MOST = 400


def lines_of(events: Iterable[RunEvent]) -> Iterator[str]:
    """What is worth a line. Pieces of messages are not: the whole message follows."""
    for event in events:
        try:
            read = msgspec.json.decode(event.data)
        except msgspec.MsgspecError:
            continue
        if isinstance(read, dict) and (line := line_of(cast("dict[str, Any]", read))):
            yield line


def line_of(event: dict[str, Any]) -> str:
    """One event in one line; empty where there is nothing to tell."""
    tell = _LINES.get(event.get("event", ""))
    return "" if tell is None else _cut(tell(event))


def _message(event: dict[str, Any]) -> str:
    return event.get("text", "")


def _file(event: dict[str, Any]) -> str:
    return f"{event.get('status', '')}: changes {', '.join(event.get('paths', ()))}"


def _tool(event: dict[str, Any]) -> str:
    where = f"{server}/" if (server := event.get("server")) else ""
    return f"{event.get('status', '')}: calls {where}{event.get('tool', '')}"


def _permission(event: dict[str, Any]) -> str:
    return f"asks: {event.get('kind', '')} {event.get('subject', '')}"


def _form(event: dict[str, Any]) -> str:
    return f"asks: {event.get('message', '')}"


def _notice(event: dict[str, Any]) -> str:
    return f"note: {event.get('text', '')}"


def _command(event: dict[str, Any]) -> str:
    status = event.get("status", "")
    end = event.get("exit_status")
    ended = "" if end is None else f" (status {end})"
    return f"{status}: $ {event.get('command', '')}{ended}"


def _cut(text: str) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= _MOST else line[: _MOST - 1] + "…"


_LINES: dict[str, Callable[[dict[str, Any]], str]] = {
    "message": _message,
    "command": _command,
    "file": _file,
    "tool": _tool,
    "permission": _permission,
    "form": _form,
    "notice": _notice,
}
