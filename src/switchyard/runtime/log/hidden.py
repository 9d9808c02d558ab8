"""What is never shown of logs, noted at each start for when the configuration cannot be read."""

import contextlib
import re
from typing import Any

from switchyard.files import read_json, write_json
from switchyard.project.home import ProjectPlaces


def note_hidden(places: ProjectPlaces, patterns: tuple[str, ...]) -> None:
    """Note them, before a service writes a line. A full disk keeps nothing from starting."""
    if hidden_patterns(places) != patterns:
        with contextlib.suppress(OSError):
            write_json(places.hidden, {"patterns": patterns}, durable=False)


def hidden_patterns(places: ProjectPlaces) -> tuple[str, ...] | None:
    """What the last start noted; nothing where that is not known, and nothing may be shown."""
    try:
        found: dict[str, Any] | None = read_json(places.hidden)
        if found is None or not isinstance(found["patterns"], list):
            return None
        patterns = tuple(map(str, found["patterns"]))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - each becomes a text
        for one in patterns:
            re.compile(one)
    except (OSError, ValueError, KeyError, re.error):
        return None
    return patterns
