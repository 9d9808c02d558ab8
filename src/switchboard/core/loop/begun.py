"""A coroutine that is begun at once, and waited for only if it has to wait itself."""

from collections.abc import Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Begun(Generic[T]):
    """Most work is done in its first step: whoever looks at `is_done` first needs no timer for it.

    What is not done has to be awaited, in the task that began it.
    """

    __slots__ = ("_coroutine", "_waits_for", "is_done", "result")

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        try:
            self._waits_for = coroutine.send(None)
        except StopIteration as done:
            self.is_done = True
            self.result: T = done.value
        else:
            self.is_done = False

    def __await__(self) -> Generator[Any, Any, T]:
        waits_for = self._waits_for
        while True:
            try:
                # As `await` does: what the loop throws in here is meant for the coroutine.
                try:
                    given = yield waits_for
                except GeneratorExit:
                    self._coroutine.close()
                    raise
                except BaseException as thrown:  # noqa: BLE001 - it is the coroutine's
                    waits_for = self._coroutine.throw(thrown)
                else:
                    waits_for = self._coroutine.send(given)
            except StopIteration as done:
                return done.value
