"""Keys that are held down, or typed for something else, while `approvals watch` shows questions."""

import itertools
from collections.abc import Iterator, Sequence

import pytest

from approvals.asker_contract import a_question
from support.requirements import attack, requirement
from switchboard.cli.verbs.parts.approving.reports import WatchedReport
from switchboard.cli.verbs.parts.approving.waiting import Waiting
from switchboard.cli.verbs.parts.approving.watch import PAUSE_S, QuestionWatch, Watching
from switchboard.cli.verbs.parts.dated import DatedQuestion
from switchboard.control.requests import DecideRequest
from switchkit.cli.style import PLAIN

CHOICES = {"y": "y: this call", "s": "s: this session", "a": "a: always", "n": "n: no"}


class Desk:
    """A queue in which there is always another question, and a terminal in made-up time."""

    size = (80, 24)

    def __init__(self, presses: Iterator[tuple[float, str]]) -> None:
        self.now = 100.0
        self.decided: list[DecideRequest] = []
        self._presses = presses
        self._count = 0
        self._next: tuple[float, str] | None = None

    def waiting(self) -> tuple[Waiting, ...]:
        asked = a_question(f"question{self._count}")
        report = WatchedReport(question=DatedQuestion.of(asked))
        return (Waiting(id=asked.id, title="it", choices=CHOICES, report=report),)

    def decide(self, wanted: DecideRequest) -> str:
        self.decided.append(wanted)
        self._count += 1
        return "approved" if wanted.approves else "denied"

    def draw(self, rows: Sequence[str], *, rings: bool = False) -> None:
        """Nobody looks."""

    def forget(self) -> None:
        """Nothing is typed ahead."""

    def key(self, within_s: float) -> str | None:
        """Give the next key, if it comes so soon; each comes so long after the one before."""
        if self._next is None:
            self._next = next(self._presses, (0.0, "q"))
        after, key = self._next
        if after > within_s:
            self.now += within_s
            self._next = (after - within_s, key)
            return None
        self.now += after
        self._next = None
        return key


def watched(presses: Iterator[tuple[float, str]]) -> list[DecideRequest]:
    """Press keys, each so many seconds after the one before; gives what was decided."""
    desk = Desk(presses)
    watch = QuestionWatch(
        waiting=desk.waiting, show=lambda _: None, decide=desk.decide, style=PLAIN
    )
    Watching(watch, desk, lambda: desk.now).run()
    return desk.decided


@requirement("S3.26")
@attack("N10", "T11")
@pytest.mark.parametrize("keys", ["y", "s", "a", "n", "yn", "a\n"])
# What keyboards repeat, down to the slowest that any system offers.
@pytest.mark.parametrize("rate", [30, 3, 1.7, 0.56])
def test_a_key_that_is_held_down_answers_nothing(keys: str, rate: float) -> None:
    typed = itertools.islice(itertools.cycle(keys), 300)
    assert watched((1 / rate, each) for each in typed) == []


@attack("T11")
@pytest.mark.parametrize("rate", [30, 3, 1.7])
def test_nor_does_whoever_types_something_else(rate: float) -> None:
    assert watched((1 / rate, each) for each in "ya say yes, always \n" * 20) == []


def test_one_key_after_a_pause_answers_one_question() -> None:
    [wanted] = watched(iter([(3.0, "y"), (0.1, "y"), (1.0, "y"), (1.5, "y")]))
    assert (wanted.id, wanted.approves, wanted.extent) == ("question0", True, "once")
    both = watched(iter([(3.0, "y"), (PAUSE_S, "n")]))
    assert [each.approves for each in both] == [True, False]


@pytest.mark.parametrize(
    ("presses", "extents"),
    [
        ([(3.0, "a"), (1.5, "\n")], ["always"]),
        ([(3.0, "a"), (1.5, "\r")], ["always"]),
        # Enter that came too soon, and then again.
        ([(3.0, "a"), (0.2, "\n"), (1.5, "\n")], ["always"]),
        ([(3.0, "a")], []),
        ([(3.0, "a"), (3.0, "a"), (3.0, "a")], []),
        ([(3.0, "a"), (1.5, "y"), (1.5, "\n")], []),
        ([(3.0, "a"), (1.5, "down"), (1.5, "\n")], []),
        ([(3.0, "a"), (0.1, "\n")], []),
        ([(3.0, "\n")], []),
    ],
)
def test_an_answer_for_good_takes_another_key(
    presses: list[tuple[float, str]], extents: list[str]
) -> None:
    assert [each.extent for each in watched(iter(presses))] == extents
