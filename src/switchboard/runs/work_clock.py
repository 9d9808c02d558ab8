"""The time that a run may work. It stands still while a person is asked."""

import asyncio
from collections.abc import Callable


class WorkClock:
    """Rings once when the seconds of work are used up."""

    def __init__(self, limit_s: float, ring: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._left_s = limit_s
        self._ring = ring
        self._pauses = 0
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._go()

    def pause(self) -> None:
        """Stand still. Each pause needs a `resume` of its own."""
        self._pauses += 1
        if self._pauses == 1:
            self._halt()

    def resume(self) -> None:
        self._pauses -= 1
        if not self._pauses:
            self._go()

    def stop(self) -> None:
        """Never ring again."""
        self._pauses += 1
        self._halt()

    def _go(self) -> None:
        self._since = self._loop.time()
        self._timer = self._loop.call_later(max(self._left_s, 0.0), self._ring)

    def _halt(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._left_s -= self._loop.time() - self._since
