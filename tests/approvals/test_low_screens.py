"""`approvals watch` on a terminal of a few rows: who agrees could read every row."""

from collections.abc import Sequence

import pytest

from approvals.asker_contract import a_question
from support.requirements import attack
from switchboard.cli.verbs.parts.approving.reports import WatchedReport
from switchboard.cli.verbs.parts.approving.waiting import Waiting
from switchboard.cli.verbs.parts.approving.watch import QuestionWatch, Watching
from switchboard.cli.verbs.parts.dated import DatedQuestion
from switchboard.control.requests import DecideRequest
from switchkit.cli.style import PLAIN

CHOICES = {"y": "y: this call", "s": "s: this session", "a": "a: always", "n": "n: no"}
ROWS = [f"row {number:02} of the question" for number in range(20)]


class LowScreen:
    """A terminal that shows as many rows as it has, and a person who reads and presses keys."""

    def __init__(self, height: int, count: int, keys: str) -> None:
        self.size = (80, height)
        self.read: set[str] = set()
        self.decided: list[DecideRequest] = []
        self.shown: Sequence[str] = ()
        self._now = 100.0
        # More than the question has rows.
        self._keys = iter(keys * 2 * len(ROWS))
        self._waiting = tuple(map(_waiting, range(count)))
        watch = QuestionWatch(
            waiting=lambda: self._waiting, show=print, decide=self._decide, style=PLAIN
        )
        Watching(watch, self, lambda: self._now).run()

    def _decide(self, wanted: DecideRequest) -> str:
        self.decided.append(wanted)
        return "approved" if wanted.approves else "denied"

    def draw(self, rows: Sequence[str], *, rings: bool = False) -> None:
        del rings
        self.shown = rows[: self.size[1]]
        self.read |= {row for row in ROWS for shown in self.shown if row in shown}

    def forget(self) -> None:
        """Nothing is typed ahead."""

    def key(self, within_s: float) -> str | None:
        """Each after a pause that is long enough, until something is decided."""
        del within_s
        self._now += 5
        return "q" if self.decided else next(self._keys, "q")


def _waiting(number: int) -> Waiting:
    asked = a_question(f"question{number}", prompt="\n".join(["WRITES · notes.wipe", *ROWS]))
    report = WatchedReport(question=DatedQuestion.of(asked))
    return Waiting(id=asked.id, title="it", choices=CHOICES, report=report)


@attack("T21")
@pytest.mark.parametrize("count", [1, 2, 6])
@pytest.mark.parametrize("height", range(1, 17))
def test_a_yes_is_taken_only_where_every_row_could_be_read(height: int, count: int) -> None:
    screen = LowScreen(height, count, "y ")
    assert not screen.decided or screen.read == set(ROWS)


@attack("T21")
@pytest.mark.parametrize("height", range(6, 17))
def test_the_list_makes_room_for_the_question(height: int) -> None:
    screen = LowScreen(height, 6, "y ")
    assert [each.approves for each in screen.decided] == [True]
    assert screen.read == set(ROWS)


@attack("T21")
def test_where_no_row_fits_only_a_no_is_taken() -> None:
    assert LowScreen(3, 6, "ysa\n ").decided == []
    (denied,) = LowScreen(3, 6, "ysan").decided
    assert not denied.approves
