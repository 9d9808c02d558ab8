"""The time that one call may take."""

import asyncio
from typing import Any

from msgspec import Struct

from switchboard.core.loop.timers import EARLY_S


class Clock(Struct, eq=False):
    """Stands still until a gate starts it. Cancels the task of its call when the time is up.

    Its timer is set once: signs of life only move the time that is looked at when it rings.
    """

    has_rung: bool = False
    begun_at: float = 0.0
    # A timer of its own, once it has rung too early.
    handle: asyncio.TimerHandle | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _task: asyncio.Task[Any] | None = None
    _limit: float = 0.0
    _until: float = 0.0
    _ceiling: float = 0.0
    _paused: int = 0
    _paused_at: float = 0.0
    _can_extend: bool = False
    _is_extended: bool = False
    _was_touched: bool = False

    def start(
        self,
        task: asyncio.Task[Any],
        loop: asyncio.AbstractEventLoop,
        limit: float,
        longest: float,
    ) -> None:
        """From now on the call has `limit` seconds, and `longest` if it shows signs of life."""
        self._task = task
        self._loop = loop
        self._limit = limit
        self.begun_at = now = loop.time()
        self._until = now + limit
        self._ceiling = now + max(limit, longest)
        self._can_extend = longest > limit
        # It may stand still already: somebody is asked while the server of the call starts.
        self._paused_at = now

    @property
    def has_signs_of_life(self) -> bool:
        """Whether the call has shown any, or waits for a person: its client knows more than us."""
        return self._was_touched or bool(self._paused)

    @property
    def allowed_s(self) -> float:
        """How long the call was let run."""
        if not self._is_extended or self._loop is None:
            return self._limit
        return round(self._loop.time() - self.begun_at)

    @property
    def hit_ceiling(self) -> bool:
        """Whether no sign of life could have helped any more."""
        return self._can_extend and self._until > self._ceiling

    @property
    def ceiling_s(self) -> float:
        """How long the call may take at most, whatever signs of life it shows."""
        return self._ceiling - self.begun_at

    def touch(self) -> None:
        """Begin the time anew: there was a sign of life."""
        self._was_touched = True
        if self._can_extend:
            self._extend()

    def pause(self) -> None:
        """Stop the clock while somebody is asked."""
        if self._loop is not None and not self._paused:
            self._paused_at = self._loop.time()
        self._paused += 1

    def resume(self) -> None:
        """Let the clock go on, from the beginning."""
        self._paused -= 1
        if self._loop is not None and not self._paused:
            self._ceiling += self._loop.time() - self._paused_at
            self._extend()

    def _extend(self) -> None:
        if self._loop is not None:
            self._is_extended = True
            self._until = self._loop.time() + self._limit

    def ring(self) -> None:
        """End the call, unless it got more time."""
        if self._loop is None or self._task is None:
            return
        now = self._loop.time()
        until = now + self._limit if self._paused else min(self._until, self._ceiling)
        if until - now > EARLY_S:
            self.handle = self._loop.call_at(until, self.ring)
            return
        self.has_rung = True
        self._task.cancel()
