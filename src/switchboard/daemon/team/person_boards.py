"""What each person sees: a board for every set of rules, over the same children.

Where servers are each person's own, a board for every person.
"""

from collections.abc import Hashable

from switchboard.core.people import EVERYBODY, Person
from switchboard.daemon.board.instructions import instructions_for
from switchboard.daemon.board.lease import CurrentBoard
from switchboard.daemon.board.runtime import RunningBoard, Runtime
from switchboard.daemon.team.person_settings import settings_for
from switchboard.people.options import EVERY_GROUP
from switchboard.settings.sections import Settings

# Few people differ in what they see; whoever comes back gets a new one.
MOST_BOARDS = 256


class _Kept:
    """A board, and the settings of everybody that it was made from."""

    def __init__(self, settings: Settings, board: RunningBoard) -> None:
        self.settings = settings
        self.board = board
        self.current = CurrentBoard(board)


class PersonBoards:
    """Boards by who looks. One that was used longest ago gives way."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._kept: dict[Hashable, _Kept] = {}

    def boards(self, person: Person | None, /) -> CurrentBoard:
        """What a person sees now, by their groups and the configuration of today."""
        kept = self._of(person)
        return self._runtime.boards if kept is None else kept.current

    def instructions(self, person: Person | None, /) -> str:
        """What their client is told before it sees any tool."""
        kept = self._of(person)
        return instructions_for(self._runtime, None if kept is None else kept.board)

    def _of(self, person: Person | None) -> _Kept | None:
        """Nothing where all see the same."""
        settings = self._runtime.settings
        ruled, who = settings.people.groups.keys(), person or EVERYBODY
        is_own = bool(who.key) and any(entry.per_person for entry in settings.servers)
        if not ruled and not is_own:
            return None
        key = (frozenset({EVERY_GROUP, *who.groups} & ruled), who.key if is_own else "")
        kept = self._kept.pop(key, None)
        if kept is None or kept.settings is not settings:
            board = self._runtime.open_view(settings_for(settings, person))
            if kept is not None:
                self._retire(kept)
            kept = _Kept(settings, board)
        self._kept[key] = kept
        if len(self._kept) > MOST_BOARDS:
            self._retire(self._kept.pop(next(iter(self._kept))))
        return kept

    def _retire(self, kept: _Kept) -> None:
        # Calls that hold it go on with it.
        kept.current.lease().retire(lambda: self._runtime.close_view(kept.board))
