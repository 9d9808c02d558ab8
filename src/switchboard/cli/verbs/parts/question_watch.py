"""Shows what waits for a person as it comes, and on a terminal takes the answers."""

import select
import sys
from collections.abc import Callable, Mapping

from msgspec import Struct

from switchboard.cli.report import Report, Silent
from switchboard.control.requests import DecideRequest
from switchboard.core.faults import Fault
from switchboard.core.questions import Extent
from switchkit.cli.style import is_terminal
from switchkit.cli.typed import ask_at_terminal, typed_line

# How soon a question is shown, and it is seen that another was answered elsewhere.
_LOOK_S = 0.2
_GONE = "it is no longer waiting"
_ENDED = frozenset({"decided-already", "unknown-approval", "changed-again"})
# Whether it is agreed to, and for how long.
_ANSWERS: dict[str, tuple[bool, Extent]] = {
    "y": (True, "once"),
    "s": (True, "session"),
    "n": (False, "once"),
    "a": (True, "always"),
    "v": (False, "always"),
}


class Waiting(Struct, frozen=True, kw_only=True):
    """Something that a person could answer now: keys to type, and what each means."""

    id: str
    choices: Mapping[str, str]
    report: Report


class QuestionWatch(Struct, frozen=True, kw_only=True):
    """Where questions come from, are shown, and go to with an answer."""

    waiting: Callable[[], tuple[Waiting, ...]]
    show: Callable[[Report], object]
    # Gives the verdict; raises a fault.
    decide: Callable[[DecideRequest], str]

    def watch(self) -> Report:
        """Stay, until interrupted or until the terminal is closed."""
        seen: set[str] = set()
        asks = is_terminal(sys.stdin)
        while True:
            # Those that ended are forgotten, so that the set stays small.
            found = {each.id: each for each in self.waiting()}
            seen &= found.keys()
            for each in found.values():
                if each.id in seen:
                    continue
                seen.add(each.id)
                self.show(each.report)
                if asks and not self._take_answer(each):
                    return Silent()
            select.select([], [], [], _LOOK_S)

    def _take_answer(self, waiting: Waiting) -> bool:
        """Ask until there is an answer from here or from elsewhere. False when nobody is there."""
        ask_at_terminal(f"{', '.join(waiting.choices.values())}, Enter: later > ")
        while True:
            line = self._line_while(waiting)
            if line is None:
                _say(f"\n{_GONE}\n")
                return True
            if not line:
                return False
            key = line.strip().lower()
            if not key:
                return True
            if key not in waiting.choices:
                _say(f"{', '.join(waiting.choices)} or Enter > ")
                continue
            approves, extent = _ANSWERS[key]
            try:
                verdict = self.decide(
                    DecideRequest(id=waiting.id, approves=approves, extent=extent)
                )
            except Fault as fault:
                verdict = _GONE if fault.reason in _ENDED else fault.message
            _say(f"{verdict}\n")
            return True

    def _line_while(self, waiting: Waiting) -> str | None:
        """What is typed, or nothing once it does not wait any more."""
        while any(each.id == waiting.id for each in self.waiting()):
            if select.select([sys.stdin], [], [], _LOOK_S)[0]:
                return typed_line()
        return None


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
