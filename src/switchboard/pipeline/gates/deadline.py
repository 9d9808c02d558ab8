"""The smaller of the client's and the tool's limit."""

import asyncio
from typing import cast

from switchboard.core.calls import Call, Interrupted, Outcome
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Next

# A loop may ring a moment early.
_EARLY_S = 0.001


class Deadline:
    """Cancels a call that takes too long; what it was doing is told by the cancellation.

    A call that reports progress gets its time anew, up to a ceiling. While somebody is asked, the
    clock stands still.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        # Alarms by their limit: those with the same are due in the order in which they were set,
        # so one timer serves them all. A limit is here as long as its timer runs.
        self._set: dict[float, dict[_Alarm, None]] = {}

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        limit = call.tool.policy.timeout_s
        if call.client_timeout_s is not None:
            limit = call.client_timeout_s if limit is None else min(limit, call.client_timeout_s)
        if limit is None:
            return await proceed(call)
        # What `asyncio.timeout` does, without an object and three calls on the road of every call.
        task = cast("asyncio.Task[Outcome]", asyncio.current_task(self._loop))
        begun = task.cancelling()
        # Who says how long it waits is not helped by signs of life after that.
        longest = call.tool.policy.longest_s if call.client_timeout_s is None else None
        alarm = _Alarm(task, self._loop, limit, longest or limit)
        alarms = self._set.get(limit)
        if alarms is None:
            alarms = self._set[limit] = {}
            self._loop.call_later(limit, self._look, limit)
        alarms[alarm] = None
        if call.channel is not None:
            call.channel.alarm = alarm
        try:
            return await proceed(call)
        except asyncio.CancelledError as cancelled:
            # Cancelled by the alarm and by nobody else: that is a deadline, not a cancellation.
            if not alarm.has_rung or task.cancelling() > begun + 1:
                raise
            raise Fault(
                FaultCode.DEADLINE_EXCEEDED,
                "tool-timeout",
                f"`{call.tool.name}` did not finish within {alarm.allowed_s:g} s",
                hint=f"raise `{_setting(call, alarm)}`, or ask for less",
                details=cancelled.details if isinstance(cancelled, Interrupted) else None,
            ) from None
        finally:
            alarms.pop(alarm, None)
            if alarm.handle is not None:
                alarm.handle.cancel()
            if alarm.has_rung:
                task.uncancel()

    def _look(self, limit: float) -> None:
        """Ring what is due, and look again when the next one is."""
        alarms = self._set[limit]
        now = self._loop.time()
        while alarms:
            first = next(iter(alarms))
            due = first.begun_at + limit
            if due - now > _EARLY_S:
                self._loop.call_at(due, self._look, limit)
                return
            del alarms[first]
            first.ring()
        del self._set[limit]


def _setting(call: Call, alarm: "_Alarm") -> str:
    """What would have let it run longer."""
    own, theirs = call.tool.policy.timeout_s, call.client_timeout_s
    if theirs is not None and (own is None or theirs < own):
        return "switchboard/timeout_ms"
    return "timeouts.longestMs" if alarm.hit_ceiling else call.tool.policy.timeout_key


class _Alarm:
    """Is set once: signs of life only move the time that it looks at when it rings."""

    __slots__ = (
        *("_ceiling", "_has_snoozed", "_limit", "_loop", "_paused", "_paused_at"),
        *("_task", "_until", "begun_at", "handle", "has_rung"),
    )

    def __init__(
        self,
        task: "asyncio.Task[Outcome]",
        loop: asyncio.AbstractEventLoop,
        limit: float,
        longest: float,
    ) -> None:
        self._task = task
        self._loop = loop
        self._limit = limit
        now = self._loop.time()
        self._until = now + limit
        self._ceiling = now + max(limit, longest)
        self._paused = 0
        self._paused_at = 0.0
        self.begun_at = now
        self._has_snoozed = False
        self.has_rung = False
        # Of its own once it has rung too early.
        self.handle: asyncio.TimerHandle | None = None

    @property
    def allowed_s(self) -> float:
        """How long the call was let run."""
        return self._limit if not self._has_snoozed else round(self._loop.time() - self.begun_at)

    @property
    def hit_ceiling(self) -> bool:
        """Whether no sign of life could have helped any more."""
        return self._until > self._ceiling

    def snooze(self) -> None:
        self._has_snoozed = True
        self._until = self._loop.time() + self._limit

    def pause(self) -> None:
        if not self._paused:
            self._paused_at = self._loop.time()
        self._paused += 1

    def resume(self) -> None:
        self._paused -= 1
        if not self._paused:
            self._ceiling += self._loop.time() - self._paused_at
            self.snooze()

    def ring(self) -> None:
        """End the call, unless it got more time."""
        now = self._loop.time()
        until = now + self._limit if self._paused else min(self._until, self._ceiling)
        if until - now > _EARLY_S:
            self.handle = self._loop.call_at(until, self.ring)
            return
        self.has_rung = True
        self._task.cancel()
