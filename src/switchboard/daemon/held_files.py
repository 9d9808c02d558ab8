"""Numbers of open files that are kept from everybody, until somebody needs them.

A process that has run out of them cannot take what it is handed, nor say that it cannot: what came
with a message is lost. So room is taken first, and then given to what comes.
"""

import os

from switchkit.open_files import file_limit

# For the servers and files of those who are connected: starting a server takes about ten.
_KEPT = 32
_PART_KEPT = 4


class HeldFiles:
    """So many numbers, or fewer where there are no more."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._numbers: list[int] = []

    def fill(self) -> bool:
        """Take what is missing. False when there was not enough."""
        try:
            while len(self._numbers) < self._wanted:
                self._numbers.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            return False
        return True

    def give(self, count: int) -> bool:
        """Let go of so many, for what comes next. False when there was none."""
        given = self._numbers[:count]
        del self._numbers[:count]
        for number in given:
            os.close(number)
        return bool(given)

    def close(self) -> None:
        """Let go of all."""
        self.give(len(self._numbers))


def hold_for_client(count: int) -> HeldFiles | None:
    """Room for what a client hands over; none if too little was left for those who are here."""
    kept = min(_KEPT, file_limit() // _PART_KEPT)
    held = HeldFiles(count + kept)
    if not held.fill():
        held.close()
        return None
    held.give(kept)
    return held


def too_many_files() -> str:
    """Why a client is not served."""
    return f"it has too many files open (at most {file_limit()}, `ulimit -n`)"
