"""Shows what waits for a person as it comes, and on a terminal takes the answers."""

import select
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from threading import Event
from typing import Protocol

from switchboard.approvals.approver import Approver
from switchboard.approvals.desk import Desk
from switchboard.approvals.pins import Held, Pins
from switchboard.cli.report import Report, Silent
from switchboard.core.faults import Fault
from switchboard.core.questions import Answer, Extent, Question, Verdict
from switchkit.cli.style import is_terminal

_LOOK_S = 0.2
_GONE = "it does not wait any more"
_ANSWERS: dict[str, tuple[Verdict, Extent]] = {
    "y": ("approved", "once"),
    "s": ("approved", "session"),
    "n": ("denied", "once"),
}
_CHOICES = {"y": "y: this call", "s": "s: every call of this session", "n": "n: no"}

# Puts on disk what was decided of a changed tool. Raises a fault.
Note = Callable[[Held, Approver, bool], None]


class Waiting(Protocol):
    """Something that a person can answer with one key."""

    @property
    def id(self) -> str: ...

    @property
    def choices(self) -> Mapping[str, str]:
        """What each key means."""
        ...

    def show(self) -> None: ...

    def still_waits(self) -> bool: ...

    def decide(self, key: str) -> str:
        """Give the answer, and say what came of it. Raises a fault."""
        ...


class WaitingCall:
    """A call that a client wants to make."""

    def __init__(self, desk: Desk, question: Question, show: Callable[[Question], object]) -> None:
        self._desk = desk
        self._question = question
        self._show = show
        self.id = question.id
        self.choices = {
            key: _CHOICES[key] for key, (_, extent) in _ANSWERS.items() if extent in question.offers
        }

    def show(self) -> None:
        self._show(self._question)

    def still_waits(self) -> bool:
        return self._desk.answer(self.id) is None

    def decide(self, key: str) -> str:
        verdict, extent = _ANSWERS[key]
        approver = Approver.of_this_process()
        if verdict == "approved":
            approver.check(self._question)
        answer = Answer(
            verdict=verdict, extent=extent, by="cli", at=time.time(), chain=str(approver)
        )
        return verdict if self._desk.decide(self.id, answer) else _GONE


class WaitingDefinition:
    """A tool that its server has changed."""

    choices: Mapping[str, str] = {"y": "y: take it as it is now", "n": "n: no"}

    def __init__(self, pins: Pins, held: Held, show: Callable[[Held], object], note: Note) -> None:
        self._pins = pins
        self._held = held
        self._show = show
        self._note = note
        self.id = held.id

    def show(self) -> None:
        self._show(self._held)

    def still_waits(self) -> bool:
        return self._pins.find(self.id) is not None

    def decide(self, key: str) -> str:
        approves = key == "y"
        approver = Approver.of_this_process()
        if approves:
            approver.check_clients(self._pins.clients(self._held))
        self._note(self._held, approver, approves)
        settle = self._pins.accept if approves else self._pins.refuse
        return ("approved" if approves else "denied") if settle(self._held) else _GONE


def watch(waiting: Callable[[], Iterator[Waiting]]) -> Report:
    """Stay, until interrupted or until the terminal is closed."""
    seen: set[str] = set()
    asks = is_terminal(sys.stdin)
    pause = Event()
    while True:
        # Those that ended are forgotten, so that the set stays small.
        found = {each.id: each for each in waiting()}
        seen &= found.keys()
        for each in found.values():
            if each.id in seen:
                continue
            seen.add(each.id)
            each.show()
            if asks and not _take_answer(each):
                return Silent()
        pause.wait(_LOOK_S)


def _take_answer(waiting: Waiting) -> bool:
    """Ask until there is an answer from here or from elsewhere. False when nobody is there."""
    _say(f"{', '.join(waiting.choices.values())}, Enter: later > ")
    while True:
        if not waiting.still_waits():
            _say(f"\n{_GONE}\n")
            return True
        if not select.select([sys.stdin], [], [], _LOOK_S)[0]:
            continue
        line = sys.stdin.readline()
        if not line:
            return False
        key = line.strip().lower()
        if not key:
            return True
        if key not in waiting.choices:
            _say(f"{', '.join(waiting.choices)} or Enter > ")
            continue
        try:
            _say(f"{waiting.decide(key)}\n")
        except Fault as fault:
            _say(f"{fault.message}\n")
        return True


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
