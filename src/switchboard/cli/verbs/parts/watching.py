"""Shows questions as they are asked, and on a terminal takes the answers."""

import select
import sys
import time
from collections.abc import Callable
from threading import Event

from switchboard.approvals.approver import Approver
from switchboard.approvals.desk import Desk
from switchboard.cli.report import Report, Silent
from switchboard.cli.style import is_terminal
from switchboard.core.faults import Fault
from switchboard.core.questions import Answer, Extent, Question, Verdict

_LOOK_S = 0.2
_ANSWERS: dict[str, tuple[Verdict, Extent]] = {
    "y": ("approved", "once"),
    "s": ("approved", "session"),
    "n": ("denied", "once"),
}


def watch(desk: Desk, show: Callable[[Question], object]) -> Report:
    """Stay, until interrupted or until the terminal is closed."""
    seen: set[str] = set()
    asks = is_terminal(sys.stdin)
    pause = Event()
    while True:
        # Those that ended are forgotten, so that the set stays small.
        waiting = {posted.question.id: posted.question for posted in desk.waiting()}
        seen &= waiting.keys()
        for question in waiting.values():
            if question.id in seen:
                continue
            seen.add(question.id)
            show(question)
            if asks and not _take_answer(desk, question):
                return Silent()
        pause.wait(_LOOK_S)


def _take_answer(desk: Desk, question: Question) -> bool:
    """Ask until there is an answer from here or from elsewhere. False when nobody is there."""
    offers = [key for key, (_, extent) in _ANSWERS.items() if extent in question.offers]
    choice = {"y": "y: this call", "s": "s: every call of this session", "n": "n: no"}
    _say(f"{', '.join(choice[key] for key in offers)}, Enter: later > ")
    while True:
        if desk.answer(question.id) is not None:
            _say("\nit does not wait any more\n")
            return True
        if not select.select([sys.stdin], [], [], _LOOK_S)[0]:
            continue
        line = sys.stdin.readline()
        if not line:
            return False
        key = line.strip().lower()
        if not key:
            return True
        if key not in offers:
            _say(f"{', '.join(offers)} or Enter > ")
            continue
        _decide(desk, question, *_ANSWERS[key])
        return True


def _decide(desk: Desk, question: Question, verdict: Verdict, extent: Extent) -> None:
    approver = Approver.of_this_process()
    try:
        if verdict == "approved":
            approver.check(question)
    except Fault as fault:
        _say(f"{fault.message}\n")
        return
    answer = Answer(verdict=verdict, extent=extent, by="cli", at=time.time())
    decided = desk.decide(question.id, answer, chain=str(approver))
    _say(f"{verdict}\n" if decided else "it does not wait any more\n")


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
