"""The smaller of the client's and the tool's limit."""

import asyncio
from typing import cast

from msgspec.json import encode

from switchboard.core.calls.call import Call, Interrupted, Outcome
from switchboard.core.calls.clock import Clock
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.timers import EARLY_S, Timers
from switchboard.core.ports import Next

# So long a client hears nothing before it is told that we still wait. Hosts give up after 60 s.
SILENCE_S = 15.0
_PROGRESS = "notifications/progress"


class DeadlineGate:
    """Cancels a call that takes too long; what it was doing is told by the cancellation.

    A call that reports progress gets its time anew, up to a ceiling. While somebody is asked, the
    clock stands still. Of a call that falls silent the client is told that it goes on: it has its
    own patience, which begins anew with every word.
    """

    def __init__(self, silence_s: float = SILENCE_S) -> None:
        self._loop = asyncio.get_running_loop()
        self._running = Timers(self._loop, Clock.ring)
        self._silence_s = silence_s
        self._silent = Timers(self._loop, self._tell_silence)

    def _tell_silence(self, call: Call) -> None:
        assert call.channel is not None, "only a call with a client waits here"
        clock, now = call.clock, self._loop.time()
        silent_s = clock.silent_s(now)
        if silent_s + EARLY_S >= self._silence_s:
            said = "reported nothing" if clock.has_signs_of_life else "not answered"
            words = f"`{call.tool.name}` has {said} for {silent_s:.0f} s"
            call.channel.notify(_PROGRESS, encode({"message": words}))
        # Whatever it has shown so far: who falls silent later is waited for just so.
        self._silent[self._silence_s][call] = now + self._silence_s

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        limit = call.tool.policy.timeout_s if call.client_timeout_s is None else limit_of(call)
        if limit is None:
            call.clock.begin()
            return await proceed(call)
        # What `asyncio.timeout` does, without an object and three calls on the road of every call.
        clock = call.clock
        task = clock.owner or cast("asyncio.Task[Outcome]", asyncio.current_task(self._loop))
        begun = task.cancelling()
        # Who says how long it waits is not helped by signs of life after that.
        longest = call.tool.policy.longest_s if call.client_timeout_s is None else None
        clock.start(task, self._loop, limit, longest or limit)
        clocks = self._running[limit]
        clocks[clock] = clock.begun_at + limit
        silent = None
        if call.channel is not None:
            # The same one until the end: none is given up while somebody is in it.
            silent = self._silent[self._silence_s]
            silent[call] = clock.begun_at + self._silence_s
        try:
            return await proceed(call)
        except asyncio.CancelledError as cancelled:
            # Cancelled by the clock and by nobody else: that is a deadline, not a cancellation.
            if not clock.has_rung or task.cancelling() > begun + 1:
                raise
            fault = too_late(call, clock.allowed_s, hit_ceiling=clock.hit_ceiling)
            if isinstance(cancelled, Interrupted):
                fault.details = cancelled.details
            raise fault from None
        finally:
            clocks.pop(clock, None)
            if silent is not None:
                silent.pop(call, None)
            if clock.handle is not None:
                clock.handle.cancel()
            if clock.has_rung:
                task.uncancel()


def limit_of(call: Call) -> float | None:
    """How long it may take."""
    limit = call.tool.policy.timeout_s
    if call.client_timeout_s is None:
        return limit
    return call.client_timeout_s if limit is None else min(limit, call.client_timeout_s)


def too_late(call: Call, allowed_s: float, *, hit_ceiling: bool = False) -> Fault:
    """What a call ends with that took longer than it may."""
    hint = f"raise `{_setting(call, hit_ceiling=hit_ceiling)}`, or ask for less"
    receipt = call.channel.receipt if call.channel is not None else None
    keeps = (
        receipt is not None and receipt.book is not None and receipt.book.lets_go_on("timed-out")
    )
    if keeps and _has_server(call):
        hint += (
            f"; what its server still answers is kept for a person: switchboard result {call.id}"
        )
    return Fault(
        FaultCode.DEADLINE_EXCEEDED,
        "tool-timeout",
        f"`{call.tool.name}` did not finish within {allowed_s:g} s",
        hint=hint,
    )


def _has_server(call: Call) -> bool:
    """Whether somebody else works on it, who may not stop when asked to."""
    return call.launch is not None and call.launch.is_foreign


def _setting(call: Call, *, hit_ceiling: bool) -> str:
    """What would have let it run longer."""
    own, theirs = call.tool.policy.timeout_s, call.client_timeout_s
    if theirs is not None and (own is None or theirs < own):
        return "switchboard/timeout_ms"
    return "timeouts.longestMs" if hit_ceiling else call.tool.policy.timeout_key
