"""The time that one call may take, and where it went."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from switchboard.core.loop.timers import EARLY_S

if TYPE_CHECKING:
    from switchboard.core.calls.call import Call


class CallTimes(Struct, frozen=True, gc=False):
    """Where the time of a call went: before its turn, at work, and with persons who were asked."""

    queue_s: float = 0.0
    work_s: float = 0.0
    human_s: float = 0.0


class Clock(Struct, eq=False):
    """Stands still until a gate starts it. Cancels the task of its call when the time is up.

    Its timer is set once: signs of life only move the time that is looked at when it rings.
    """

    has_rung: bool = False
    # The task that the call runs in, and whether a person has had it ended.
    owner: asyncio.Task[Any] | None = None
    is_stopped: bool = False
    # The call itself, as exactly as it is known by now; nothing before and after its road.
    exact: "Call | None" = None
    begun_at: float = 0.0
    # By the monotonic clock, which a loop rounds: when the work began; 0 before.
    worked_from: float = 0.0
    # How long the call has waited for persons, and for its turn since the work began.
    asked_s: float = 0.0
    queued_s: float = 0.0
    # Where the time of the call went, once that was written down.
    ended: CallTimes | None = None
    # Told when a person is asked before the work has begun.
    on_asked: Callable[[], None] | None = None
    # A timer of its own, once it has rung too early.
    handle: asyncio.TimerHandle | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _task: asyncio.Task[Any] | None = None
    _limit: float = 0.0
    _until: float = 0.0
    _ceiling: float = 0.0
    _paused: int = 0
    _paused_at: float = 0.0
    _asking: int = 0
    _asked_at: float = 0.0
    _asked_before: float = 0.0
    _can_extend: bool = False
    _is_extended: bool = False
    _heard_at: float = 0.0

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
        # As `begin`, without a call on the road of every call.
        self.worked_from = began = monotonic()
        if self._asking or self.asked_s:
            self._asked_before = self._asked(began)
        self.begun_at = now = loop.time()
        self._until = now + limit
        self._ceiling = now + max(limit, longest)
        self._can_extend = longest > limit
        # It may stand still already: somebody is asked while the server of the call starts.
        self._paused_at = now

    def stop(self) -> bool:
        """End the call because a person wants it; says whether that was news."""
        if self.owner is None or self.is_stopped:
            return False
        self.is_stopped = True
        return self.owner.cancel()

    def begin(self) -> None:
        """The work begins: until now the call was on its way, or somebody was asked."""
        self.worked_from = now = monotonic()
        self._asked_before = self._asked(now)

    def times(self, since: float, now: float) -> CallTimes:
        """Where the time of a call went that came then, both by the monotonic clock."""
        asked = self.asked_s + now - self._asked_at if self._asking else self.asked_s
        if not self.worked_from:
            return CallTimes(now - since - asked, 0.0, asked)
        queued = self.worked_from - since - self._asked_before + self.queued_s
        work = now - since - queued - asked
        # What was rounded may be a trifle more than there was.
        return CallTimes(queued, work if work > 0 else 0.0, asked)

    def _asked(self, now: float) -> float:
        return self.asked_s + now - self._asked_at if self._asking else self.asked_s

    @property
    def is_asking(self) -> bool:
        """Whether the call waits for a person."""
        return bool(self._asking)

    @property
    def has_signs_of_life(self) -> bool:
        """Whether the call has shown any since its work began."""
        return self._heard_at > 0

    def silent_s(self, now: float) -> float:
        """For how long nobody has heard of it, by the clock of the loop.

        One that waits for a person is not silent: somebody knows more than us.
        """
        return 0.0 if self._asking else now - max(self._heard_at, self.begun_at)

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

    def touch(self) -> None:
        """Begin the time anew: there was a sign of life."""
        if self._loop is not None:
            self._heard_at = self._loop.time()
        if self._can_extend:
            self._extend()

    def pause(self) -> None:
        """Stop the clock while somebody is asked."""
        if not self._asking:
            self._asked_at = monotonic()
        self._asking += 1
        if self.on_asked is not None and not self.worked_from:
            self.on_asked()
        self._hold()

    def resume(self) -> None:
        """Let the clock go on, from the beginning."""
        self._asking -= 1
        if not self._asking:
            self.asked_s += monotonic() - self._asked_at
            if self._loop is not None:
                self._heard_at = self._loop.time()
        self._release()

    @contextmanager
    def in_line(self) -> Generator[None]:
        """Stop the clock while a call that has begun waits for its turn."""
        began = monotonic()
        self._hold()
        try:
            yield
        finally:
            self.queued_s += monotonic() - began
            self._release()

    def _hold(self) -> None:
        if self._loop is not None and not self._paused:
            self._paused_at = self._loop.time()
        self._paused += 1

    def _release(self) -> None:
        self._paused -= 1
        if self._loop is not None and not self._paused:
            self._ceiling += self._loop.time() - self._paused_at
            self._extend()

    def _extend(self) -> None:
        if self._loop is not None:
            self._is_extended = True
            self._until = self._loop.time() + self._limit

    def cancel(self) -> None:
        """End the call, if it has a time."""
        if self._task is not None:
            self._task.cancel()

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
