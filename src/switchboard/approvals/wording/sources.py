"""Arguments that were taken from an earlier result: whose it was, and what was changed of it.

Beside what they are, never in its place: whoever decides reads all that is sent, and the difference
to its source says which of it nobody but the client has written.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from switchboard.approvals.differences import difference
from switchboard.approvals.wording.arguments import compact, shown_arguments
from switchboard.approvals.wording.fitting import WIDTH, middle_counted
from switchboard.approvals.wording.names import named, of_server
from switchboard.core.calls.borrowed import Borrowed
from switchboard.core.privacy.redaction import redacted_arguments
from switchboard.core.privacy.secrets import Redact
from switchboard.core.text.strict import Number

_ALL = "all arguments"
# Of a path: a model may write a long one.
_LETTERS = 200
# Of all differences of a question. What is sent stands above them, whole.
_MOST_DIFFERENCES = 8_000
_NO_DIFFERENCE = "… nothing is different"


def sources_of(borrowed: Iterable[Borrowed], arguments: Any, by_value: Redact) -> Iterator[str]:
    """What each was taken from; in lines of their own what was taken away (`-`) and added (`+`).

    `arguments` are those that are sent, as they are shown.
    """
    room = _MOST_DIFFERENCES
    for each in borrowed:
        lines = _difference(each, arguments, by_value) if each.changes else ()
        room -= sum(map(len, lines))
        if room < 0:
            lines = ()
        yield "\n".join((_source(each, by_value, is_compared=bool(lines)), *lines))


def _source(borrowed: Borrowed, by_value: Redact, *, is_compared: bool) -> str:
    """One line, of which no name in it can pass for a part."""
    # Before they are shortened: half of a secret would not be known for one.
    where, path = by_value(".".join(map(str, borrowed.place))), by_value(borrowed.path)
    place = named(where, WIDTH) if borrowed.place else _ALL
    path = f" at {compact(middle_counted(path, _LETTERS))}" if path else ""
    count = borrowed.changes
    changes = f"{count} change{'s' if count != 1 else ''}" if count else "unchanged"
    if count and not is_compared:
        changes += ", too long to compare"
    return (
        f"{place} = result {borrowed.handle} of"
        f" {of_server(borrowed.server, borrowed.tool, columns=WIDTH)}{path}"
        f" ({borrowed.letters:,} letters, {changes})"
    )


def _difference(borrowed: Borrowed, arguments: Any, by_value: Redact) -> tuple[str, ...]:
    """The changes as lines; none where they cannot be told."""
    if not borrowed.before:
        return ()
    try:
        before = json.loads(borrowed.before, parse_int=Number, parse_float=Number)
        known = redacted_arguments(before, {}, by_value).value
        sent = _at(arguments, borrowed.place)
        changed = difference(shown_arguments(known), shown_arguments(sent), is_short=True)
    except (LookupError, RecursionError, TypeError):
        return ()
    return changed or (_NO_DIFFERENCE,)


def _at(arguments: Any, place: tuple[str | int, ...]) -> Any:
    for step in place:
        arguments = arguments[step]
    return arguments
