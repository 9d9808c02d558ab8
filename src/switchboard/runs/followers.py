"""Who watches runs, and hears of each change."""

import contextlib
from collections.abc import Callable

from switchboard.runs.run import Run

Tell = Callable[[Run], None]


class Followers:
    """Those who watch one run, and those who watch all of them."""

    def __init__(self) -> None:
        self._of: dict[str, list[Tell]] = {}

    def add(self, run_id: str, tell: Tell) -> Callable[[], None]:
        """Let somebody hear of a run; an empty id means all. What is returned ends it."""
        followers = self._of.setdefault(run_id, [])
        followers.append(tell)

        def forget() -> None:
            with contextlib.suppress(ValueError):
                followers.remove(tell)
            if not followers and self._of.get(run_id) is followers:
                del self._of[run_id]

        return forget

    def followed(self) -> frozenset[str]:
        """The runs that somebody watches; an empty id where somebody watches all."""
        return frozenset(self._of)

    def tell(self, run: Run) -> None:
        """Tell everybody who watches this run."""
        for tell in (*self._of.get(run.id, ()), *self._of.get("", ())):
            # Whoever watches must not end what is watched.
            with contextlib.suppress(Exception):
                tell(run)
