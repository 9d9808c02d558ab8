"""A host's file as it is shown: its keys, and of its values only those that cannot be secret.

Nobody needs the values to decide about a change, and no list of what looks like a secret is whole.
So nothing is looked for: by its place alone a value is shown or not.
"""

import re
from collections.abc import Callable, Iterable

from switchboard.hosts.edits.edit import Format, spots_in
from switchboard.hosts.edits.spots import Path, ValueSpot
from switchboard.hosts.edits.unfit import UnfitFile

HIDDEN = "•••"
_PROGRAM = re.compile(r"[\w@+./~-]{1,200}")
# A letter behind one dash, words behind two; more may be a value that is joined to its option.
_OPTION = re.compile(r"-[A-Za-z]|--[a-z]{1,30}(?:-[a-z]{1,30}){0,6}")
_COMMANDS = frozenset({"command", "cmd"})
_KINDS = frozenset({"type", "transport"})
_KNOWN_KINDS = frozenset(
    {"stdio", "http", "sse", "local", "remote", "builtin", "streamable-http", "streamable_http"}
)
_CONSTANTS = frozenset({"true", "false", "null"})
_QUOTES = ('"', "'")


def shown_text(
    text: str,
    form: Format,
    servers: tuple[str, ...],
    is_open: Callable[[Path, str], bool],
    also: Iterable[tuple[str, ...]] = (),
) -> str:
    """The text with as many lines, in which values are hidden that are not told to be open.

    `also` are other keys that lead to servers.
    """
    places = {place for each in (servers, *also) for place in all_servers(each)}
    try:
        spots = spots_in(text, form)
    except (UnfitFile, RecursionError):
        return _hidden(text)
    parts: list[str] = []
    done = 0
    for each in spots:
        raw = text[each.start : each.end]
        parts += (text[done : each.start], _shown(each, raw, places, is_open))
        done = each.end
    return "".join((*parts, text[done:]))


def _shown(
    spot: ValueSpot,
    raw: str,
    places: Iterable[tuple[str, ...]],
    is_open: Callable[[Path, str], bool],
) -> str:
    if spot.is_comment:
        begins = next((each for each in ("//", "/*", "#") if raw.startswith(each)), "")
        return _hidden(raw) if "\n" in raw else f"{begins} {HIDDEN}".lstrip()
    quote = raw[0] if len(raw) > 1 and raw[0] in _QUOTES and raw[-1] == raw[0] else ""
    value = raw[1:-1] if quote else raw
    if is_open(spot.path, value) or (not quote and value in _CONSTANTS):
        return raw
    if "\n" in raw:
        return _hidden(raw)
    told = HIDDEN
    for above in places:
        if spot.path[: len(above)] == above:
            told = _of_server(spot.path[len(above) + 1 :], value)
    return f"{quote}{told}{quote}"


def all_servers(servers: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Where servers stand: there, and for all projects where that is a place of one project."""
    return {servers, servers[-1:]}


def _of_server(path: Path, value: str) -> str:
    """What is shown of a value of a server: what it runs, and by which options."""
    match path:
        case (str(key),) if key in _KINDS and value in _KNOWN_KINDS:
            return value
        case (str(key),) | (str(key), 0) if key in _COMMANDS and _PROGRAM.fullmatch(value):
            return value
        case (str(key), int()) if key in _COMMANDS or key == "args":
            name, equals, _ = value.partition("=")
            return (f"{name}={HIDDEN}" if equals else name) if _OPTION.fullmatch(name) else HIDDEN
        case _:
            return HIDDEN


def _hidden(text: str) -> str:
    return "\n".join(HIDDEN if line.strip() else line for line in text.split("\n"))
