"""How often somebody may be wrong: tokens, codes and signatures are not tried out."""

import time
from collections.abc import Callable

_WINDOW_S = 60.0
_MOST_OF_ONE = 10
_MOST_ADDRESSES = 1_024


class Guesses:
    """What was wrong lately, by the address that it came from."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._misses: dict[str, list[float]] = {}

    def is_barred(self, address: str) -> bool:
        """Whether this address was wrong too often.

        Not all of them together: nobody guesses a token or a signature by being many, five wrong
        codes void the right one, and whoever has ten addresses would bar every phone.
        """
        since = self._clock() - _WINDOW_S
        return sum(at > since for at in self._misses.get(address, ())) >= _MOST_OF_ONE

    def miss(self, address: str) -> None:
        """Something was wrong."""
        now = self._clock()
        misses = [at for at in self._misses.pop(address, []) if at > now - _WINDOW_S]
        while len(self._misses) >= _MOST_ADDRESSES:
            del self._misses[next(iter(self._misses))]
        self._misses[address] = [*misses, now][-_MOST_OF_ONE:]
