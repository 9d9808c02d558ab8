"""Tokens that count once and for a while: a link to log in, a code at a terminal, an answer."""

import hashlib
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleUse(Generic[T]):
    """What each token stands for. No token itself is held, so that memory does not tell any."""

    def __init__(
        self,
        make: Callable[[], str],
        *,
        lasts_s: float,
        most: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`make` gives a new token; of those that nobody has used, the oldest gives way."""
        self._make = make
        self._lasts_s = lasts_s
        self._most = most
        self._clock = clock
        self._waiting: dict[bytes, tuple[float, T]] = {}

    def issue(self, value: T, lasts_s: float | None = None) -> str:
        """A token for a value, for less than the usual time where that is said."""
        while len(self._waiting) >= self._most:
            del self._waiting[next(iter(self._waiting))]
        token = self._make()
        lasts_s = self._lasts_s if lasts_s is None else min(lasts_s, self._lasts_s)
        self._waiting[_hashed(token)] = (self._clock() + lasts_s, value)
        return token

    def look(self, token: str) -> T | None:
        """What a token stands for, without using it up."""
        until, value = self._waiting.get(_hashed(token), (0.0, None))
        return value if self._clock() < until else None

    def take(self, token: str) -> T | None:
        """Use a token up; nothing if there is none such, any more or at all."""
        until, value = self._waiting.pop(_hashed(token), (0.0, None))
        return value if self._clock() < until else None

    def clear(self) -> None:
        """Let every token be worth nothing."""
        self._waiting.clear()


def _hashed(token: str) -> bytes:
    # A look-up by it takes as long for a token that is nearly right as for any other.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
