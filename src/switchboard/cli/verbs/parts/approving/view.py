"""What a person sees while watching: all that waits, and one question of it, whole.

Who agrees has seen everything that is agreed to: while some of it is below the edge of the screen,
only a no is taken. On a low screen the list of what waits makes room for the question.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from switchboard.cli.verbs.parts.approving.waiting import Waiting
from switchkit.cli.columns import fitted, wrapped
from switchkit.cli.style import PLAIN, Style

_MOST_LISTED = 5
# The list of what waits leaves so many rows for the question, where there are as many.
_LEAST_ROWS = 3
# No question has more rows than fit into so many digits.
_MOST_LEFT = 9_999
_NOTHING = "Nothing waits for an answer."
_KEYS = "up, down: another · q: end"
_READ_FIRST = "read it first: an answer is taken after a pause in typing"
_TOO_LOW = "n: no · make the terminal larger to read the question"
_SURE = "always, in every session? Enter: yes, any other key: no"


class View(Struct, frozen=True, kw_only=True):
    """What is drawn, from what is known."""

    waiting: Sequence[Waiting] = ()
    # The id of the question that is open, and which of its rows is the first on the screen.
    chosen: str = ""
    first: int = 0
    # What became of the last answer.
    news: str = ""
    # Whether an answer would be taken now, and whether one for good waits to be confirmed.
    is_ready: bool = False
    is_confirming: bool = False

    @property
    def open(self) -> Waiting | None:
        return next((each for each in self.waiting if each.id == self.chosen), None)

    def rows(self, size: tuple[int, int], style: Style) -> list[str]:
        """The screen, as many rows as it has at most."""
        columns, height = size
        head = [fitted(row, columns) for row in self._head(size)]
        foot = ["", *wrapped(self._foot(size), columns)]
        body = self._body(columns, style)[self.first :][: self._room(size)]
        return [*head, *body, *foot][:height]

    def is_seen(self, size: tuple[int, int]) -> bool:
        """Whether the end of the open question is on the screen, and all before it could be."""
        room = self._room(size)
        return room > 0 and self.first + room >= len(self._body(size[0], PLAIN))

    def page(self, size: tuple[int, int], by: int) -> int:
        """The first row after a page down or up."""
        room = self._room(size)
        last = max(len(self._body(size[0], PLAIN)) - room, 0)
        return min(max(self.first + by * max(room - 1, 1), 0), last)

    def neighbour(self, by: int) -> str:
        """The id of the question beside the open one."""
        ids = [each.id for each in self.waiting]
        if self.chosen not in ids:
            return ids[0] if ids else ""
        return ids[min(max(ids.index(self.chosen) + by, 0), len(ids) - 1)]

    def _head(self, size: tuple[int, int]) -> list[str]:
        """As much of it as leaves the question its least."""
        rows = list(self._above(_MOST_LISTED))
        if not self.waiting:
            return rows
        space = max(size[1] - self._foot_rows(size[0]) - _LEAST_ROWS, 0)
        listed = _MOST_LISTED
        while len(rows) > space and listed:
            listed -= 1
            rows = list(self._above(listed))
        return rows[:space]

    def _above(self, listed: int) -> Iterator[str]:
        """What stands above the question, with so many of those that wait at most."""
        if self.news:
            yield self.news
        if not self.waiting:
            yield _NOTHING
            return
        ids = [each.id for each in self.waiting]
        at = ids.index(self.chosen) if self.chosen in ids else 0
        begin = min(max(at - listed // 2, 0), max(len(ids) - listed, 0))
        count = len(ids)
        yield f"{count} wait{'s' if count == 1 else ''} for an answer"
        for number in range(begin, min(begin + listed, count)):
            each = self.waiting[number]
            yield f"{'>' if each.id == self.chosen else ' '} {number + 1} {each.title}"
        if count > listed > 0:
            yield f"  … {count - listed} more"
        yield ""

    def _foot(self, size: tuple[int, int]) -> str:
        waiting = self.open
        if waiting is None:
            return "q: end"
        if self.is_confirming:
            return _SURE
        if not self.is_ready:
            return f"{_READ_FIRST} · {_KEYS}"
        if self.is_seen(size):
            return _choices(waiting)
        if not (room := self._room(size)):
            return _TOO_LOW
        return _reading(len(self._body(size[0], PLAIN)) - self.first - room)

    def _room(self, size: tuple[int, int]) -> int:
        """The rows of the question that are drawn; none where the screen has no room for any."""
        return max(size[1] - len(self._head(size)) - self._foot_rows(size[0]), 0)

    def _foot_rows(self, columns: int) -> int:
        """Whatever the foot says: no row of the question moves when that changes."""
        waiting = self.open
        says = [f"{_READ_FIRST} · {_KEYS}", _SURE, _reading(_MOST_LEFT)]
        if waiting is not None:
            says.append(_choices(waiting))
        return 1 + max(len(list(wrapped(each, columns))) for each in says)

    def _body(self, columns: int, style: Style) -> list[str]:
        waiting = self.open
        if waiting is None:
            return []
        return [*waiting.report.lines(style.of_width(columns))]


def _choices(waiting: Waiting) -> str:
    return f"{', '.join(waiting.choices.values())} · {_KEYS}"


def _reading(left: int) -> str:
    return f"space: {left} more rows to read, n: no · {_KEYS}"
