"""What a person sees while watching: all that waits, and one question of it, whole.

Who agrees has seen everything that is agreed to: while some of it is below the edge of the screen,
only a no is taken.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from switchboard.cli.verbs.parts.approving.waiting import Waiting
from switchboard.cli.verbs.parts.questions import marked
from switchkit.cli.columns import fitted, wrapped
from switchkit.cli.style import PLAIN, Style

_MOST_LISTED = 5
# The least that is left for the question itself on a terminal of a few rows.
_LEAST_ROWS = 3
_NOTHING = "Nothing waits for an answer."
_KEYS = "up, down: another · q: end"


class View(Struct, frozen=True, kw_only=True):
    """What is drawn, from what is known."""

    waiting: Sequence[Waiting] = ()
    # The id of the question that is open, and which of its rows is the first on the screen.
    chosen: str = ""
    first: int = 0
    # What became of the last answer.
    news: str = ""

    @property
    def open(self) -> Waiting | None:
        return next((each for each in self.waiting if each.id == self.chosen), None)

    def rows(self, size: tuple[int, int], style: Style) -> list[str]:
        """The screen, as many rows as it has at most."""
        columns, height = size
        head = [fitted(row, columns) for row in self._head()]
        foot = [fitted(row, columns) for row in self._foot(size)]
        body = self._body(columns, style)[self.first :][: self._room(size)]
        return [*head, *body, *foot][:height]

    def is_seen(self, size: tuple[int, int]) -> bool:
        """Whether the end of the open question is on the screen."""
        return self.first + self._room(size) >= len(self._body(size[0], PLAIN))

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

    def _head(self) -> Iterator[str]:
        if self.news:
            yield self.news
        if not self.waiting:
            yield _NOTHING
            return
        ids = [each.id for each in self.waiting]
        at = ids.index(self.chosen) if self.chosen in ids else 0
        begin = min(max(at - _MOST_LISTED // 2, 0), max(len(ids) - _MOST_LISTED, 0))
        count = len(ids)
        yield f"{count} wait{'s' if count == 1 else ''} for an answer"
        for number in range(begin, min(begin + _MOST_LISTED, count)):
            each = self.waiting[number]
            yield f"{'>' if each.id == self.chosen else ' '} {number + 1} {each.title}"
        if count > _MOST_LISTED:
            yield f"  … {count - _MOST_LISTED} more"
        yield ""

    def _foot(self, size: tuple[int, int]) -> Iterator[str]:
        waiting = self.open
        if waiting is None:
            yield ""
            yield "q: end"
            return
        yield ""
        if self.is_seen(size):
            yield f"{', '.join(waiting.choices.values())} · {_KEYS}"
        else:
            left = len(self._body(size[0], PLAIN)) - self.first - self._room(size)
            yield f"space: {left} more rows to read, n: no · {_KEYS}"

    def _room(self, size: tuple[int, int]) -> int:
        # The foot has two rows, whatever it says.
        return max(size[1] - len(list(self._head())) - 2, _LEAST_ROWS)

    def _body(self, columns: int, style: Style) -> list[str]:
        waiting = self.open
        if waiting is None:
            return []
        return [
            marked(line, row, style, is_first=number == 0)
            for number, line in enumerate(waiting.report.lines(PLAIN))
            for row in wrapped(line, columns)
        ]
