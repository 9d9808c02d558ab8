"""Shows what waits for a person as it comes, and on a terminal takes the answers."""

import select
import sys
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from switchboard.cli.report import Report, Silent
from switchboard.cli.verbs.parts.approving.view import View
from switchboard.cli.verbs.parts.approving.waiting import ANSWERS, Waiting
from switchboard.control.requests import DecideRequest
from switchboard.core.faults import Fault
from switchkit.cli.keys import KeyScreen
from switchkit.cli.style import Style, is_terminal

# How soon a question is shown, and it is seen that another was answered elsewhere.
_LOOK_S = 0.2
# What is on the screen has to be there so long before it is answered: a key that is on its way
# while a question appears was meant for something else.
SEEING_S = 1.0
# So long must nothing have been typed. A key that is held down repeats sooner, on every system.
PAUSE_S = 2.0
_ENDED = frozenset({"decided-already", "unknown-approval", "changed-again"})
_ENDS = frozenset({"q", "interrupt", "end"})
_PAGES = {" ": 1, "page down": 1, "page up": -1}
_MOVES = {"up": -1, "k": -1, "down": 1, "j": 1}
_ENTER = frozenset({"\n", "\r"})


class QuestionWatch(Struct, frozen=True, kw_only=True):
    """Where questions come from, are shown, and go to with an answer."""

    waiting: Callable[[], tuple[Waiting, ...]]
    show: Callable[[Report], object]
    # Gives the verdict; raises a fault.
    decide: Callable[[DecideRequest], str]
    style: Style
    # Whether what is shown is for programs.
    as_json: bool = False

    def watch(self) -> Report:
        """Stay, until interrupted or until the terminal is closed."""
        if self.as_json or not is_terminal(sys.stdin) or not is_terminal(sys.stdout):
            self._print()
        with KeyScreen() as screen:
            Watching(self, screen).run()
        return Silent()

    def _print(self) -> None:
        """Tell of each once, for whoever reads along."""
        seen: set[str] = set()
        while True:
            # Those that ended are forgotten, so that the set stays small.
            found = {each.id: each for each in self.waiting()}
            seen &= found.keys()
            for each in found.values():
                if each.id not in seen:
                    seen.add(each.id)
                    self.show(each.report)
            select.select([], [], [], _LOOK_S)


class Screen(Protocol):
    """What is needed of a terminal: `switchkit.cli.keys.KeyScreen`."""

    @property
    def size(self) -> tuple[int, int]: ...

    def draw(self, rows: Sequence[str], *, rings: bool = False) -> None: ...

    def forget(self) -> None: ...

    def key(self, within_s: float) -> str | None: ...


class Watching:
    """One person at one terminal."""

    def __init__(
        self,
        watch: QuestionWatch,
        screen: Screen,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._watch = watch
        self._screen = screen
        self._clock = clock
        self._view = View()
        # Since when what is on the screen could be read, and when something was last typed. What
        # was typed before this is not known.
        self._since = self._typed = clock()
        # An answer for good, until it is confirmed.
        self._wanted = ""
        self._drawn: list[str] = []

    def run(self) -> None:
        """Until the person ends it."""
        while True:
            self._look()
            key = self._screen.key(_LOOK_S)
            if key in _ENDS:
                return
            if key is not None:
                self._press(key)

    def _look(self) -> None:
        view, found = self._view, self._watch.waiting()
        known = {each.id for each in view.waiting}
        is_new = any(each.id not in known for each in found)
        view = replace(view, waiting=found)
        if view.open is None:
            # Who looks at one question is not taken to another; who looks at none is. Where there
            # is none, no key was meant for another: it may be the one that ends.
            wanted = view.neighbour(0)
            view = self._opened(view, wanted) if wanted else replace(view, chosen="", first=0)
        self._view = view
        self._draw(rings=is_new)

    def _draw(self, *, rings: bool = False) -> None:
        self._view = replace(
            self._view, is_ready=self._is_ready(), is_confirming=bool(self._wanted)
        )
        rows = self._view.rows(self._screen.size, self._watch.style)
        if rows != self._drawn or rings:
            self._screen.draw(rows, rings=rings)
            self._drawn = rows

    def _opened(self, view: View, wanted: str) -> View:
        self._screen.forget()
        self._since = self._clock()
        self._wanted = ""
        return replace(view, chosen=wanted, first=0)

    def _press(self, key: str) -> None:
        view, size = self._view, self._screen.size
        wanted, self._wanted = self._wanted, ""
        if key in _MOVES:
            to = view.neighbour(_MOVES[key])
            if to != view.chosen:
                self._view = self._opened(replace(view, news=""), to)
        elif key in _PAGES:
            first = view.page(size, _PAGES[key])
            if first != view.first:
                self._since = self._clock()
            self._view = replace(view, first=first)
        else:
            self._type(key, wanted)
        self._draw()

    def _type(self, key: str, wanted: str) -> None:
        """A letter: an answer, the confirmation of one, or nothing."""
        waiting, is_ready = self._view.open, self._is_ready()
        now = self._clock()
        is_sure = key in _ENTER and now - self._typed >= SEEING_S
        self._typed = now
        if waiting is None:
            return
        if wanted:
            if is_sure:
                self._decide(waiting, wanted)
            elif key in _ENTER:
                # Too soon to be meant for this.
                self._wanted = wanted
        elif key in waiting.choices and is_ready and self._is_seen(key):
            approves, extent = ANSWERS[key]
            if approves and extent == "always":
                self._wanted = key
            else:
                self._decide(waiting, key)

    def _is_ready(self) -> bool:
        """Whether the person can have read the question, and has let go of every key."""
        now = self._clock()
        return now - self._since >= SEEING_S and now - self._typed >= PAUSE_S

    def _is_seen(self, key: str) -> bool:
        """Whether nothing that the key would agree to is below the edge of the screen."""
        approves, _ = ANSWERS[key]
        return not approves or self._view.is_seen(self._screen.size)

    def _decide(self, waiting: Waiting, key: str) -> None:
        approves, extent = ANSWERS[key]
        wanted = DecideRequest(id=waiting.id, approves=approves, extent=extent)
        left = tuple(each for each in self._view.waiting if each is not waiting)
        try:
            news = self._watch.decide(wanted)
        except Fault as fault:
            is_over = fault.reason in _ENDED
            news = "it is no longer waiting" if is_over else fault.message
            left = left if is_over else self._view.waiting
        # What is answered is not asked on the same screen, until the next look.
        self._view = replace(self._view, waiting=left, news=f"{news}: {waiting.title}")
