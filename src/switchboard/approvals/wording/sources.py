"""Arguments that were taken from an earlier result: whose it was, beside what they are."""

from switchboard.approvals.wording.arguments import compact
from switchboard.approvals.wording.fitting import WIDTH, middle_counted
from switchboard.approvals.wording.names import named, of_server
from switchboard.core.calls.borrowed import Borrowed
from switchboard.core.privacy.secrets import Redact

_ALL = "all arguments"
# Of a path: a model may write a long one.
_LETTERS = 200


def source_of(borrowed: Borrowed, by_value: Redact) -> str:
    """One line, of which no name in it can pass for a part."""
    # Before they are shortened: half of a secret would not be known for one.
    where, path = by_value(".".join(map(str, borrowed.place))), by_value(borrowed.path)
    place = named(where, WIDTH) if borrowed.place else _ALL
    path = f" at {compact(middle_counted(path, _LETTERS))}" if path else ""
    count = borrowed.changes
    changes = f"{count} change{'s' if count != 1 else ''}" if count else "unchanged"
    return (
        f"{place} = result {borrowed.handle} of"
        f" {of_server(borrowed.server, borrowed.tool, columns=WIDTH)}{path}"
        f" ({borrowed.letters:,} letters, {changes})"
    )
