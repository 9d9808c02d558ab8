"""Calls that start a run, or wait for one."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Literal

from msgspec.structs import replace

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.faults import Fault
from switchboard.core.sessions import Session
from switchboard.providers.agents.calls.answers import answer
from switchboard.providers.agents.calls.deliveries import with_receipt
from switchboard.providers.agents.calls.patience import LONGEST_S, patience_of
from switchboard.providers.agents.calls.run_watch import IN_LINE, watched
from switchboard.providers.agents.calls.waiters import Waiters
from switchboard.runs.ports import Runs
from switchboard.runs.run import Run, RunSpec
from switchkit.processes import began

# What becomes of a run when the only call that waited for it was cancelled, or lost its client.
# `auto`: it goes on if a client was told its id, and may come back for it.
OnDisconnect = Literal["auto", "keep", "cancel"]
# A client that hears nothing for long gives up, whatever the run does.
_PULSE_S = 5.0

# How long a client that can come back for the answer is kept from knowing that it has to.
_MOMENT_S = 1.0

# What goes on while a call waits for a run.
Beside = Callable[[Call, Run], AbstractAsyncContextManager[None]]
# What is made of a run for the client: its end, or that it goes on.
Answering = Callable[[Run], Outcome]


class RunCalls:
    """Starts runs for calls, and keeps their clients waiting as long as these can bear it."""

    def __init__(
        self,
        runs: Callable[[], Runs],
        waiters: Waiters,
        *,
        patience: Mapping[str, int],
        on_disconnect: OnDisconnect = "auto",
    ) -> None:
        self._runs = runs
        self._waiters = waiters
        self._patience = patience
        self._on_disconnect: OnDisconnect = on_disconnect
        waiters.on_leave = self._left

    async def start(
        self,
        call: Call,
        spec: RunSpec,
        say: Answering = answer,
        *,
        beside: Beside | None = None,
        waits_whole: bool = False,
        may_be_task: bool = False,
    ) -> Outcome:
        """Start a run, then wait for it. The same request sent again finds the run it started.

        `beside` goes on while it waits. With `waits_whole` a client that does not say otherwise
        waits for the end. With `may_be_task` one that takes tasks is soon told of one.
        """
        spec = replace(spec, on_behalf_of=_principals(call.session))
        # Once it is on disk it has to be known here: a client that leaves now leaves a run.
        starting = self._waiters.tasks.start(self._runs().start(spec))
        try:
            run = await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(self._started_for_nobody)
            raise
        self._waiters.began(run.id, call.session)
        async with beside(call, run) if beside is not None else contextlib.nullcontext():
            if may_be_task and call.takes_tasks:
                return await self._as_task(call, run, say)
            whole = LONGEST_S if waits_whole else None
            return await self.wait(call, run, say, whole=whole)

    async def wait(
        self,
        call: Call,
        run: Run,
        say: Answering = answer,
        *,
        within_s: float | None = None,
        whole: float | None = None,
    ) -> Outcome:
        """Wait for the end of a run, or until the client's patience is over."""
        patience = patience_of(call, self._patience, otherwise=whole)
        within_s = patience if within_s is None else min(within_s, patience)
        try:
            with self._waiters.waiting(run.id, call):
                run = await self._watched(call, run, within_s)
        except asyncio.CancelledError:
            self._let_go(run.id)
            raise
        return self._told(run, say)

    async def _as_task(self, call: Call, run: Run, say: Answering) -> Outcome:
        """Wait for a moment; then the run is a task, and its questions wait there."""
        if call.channel is not None:
            # From the start: a question must not have two ways to its answer.
            call.channel.ask_elsewhere(partial(self._waiters.inputs.ask, run.id))
        drop = self._kept_until_end(run.id, call)
        try:
            run = await self._watched(call, run, _MOMENT_S)
        except asyncio.CancelledError:
            drop()
            self._let_go(run.id)
            raise
        if run.has_ended:
            drop()
            return self._told(run, say)
        return replace(self._told(run, say), task_id=run.id)

    def _kept_until_end(self, run_id: str, call: Call) -> Callable[[], None]:
        """The client comes back as it likes, and is asked by what it finds in its task."""
        waiter = self._waiters.add(run_id, call)

        def drop() -> None:
            if not waiter.ended.is_set():
                forget()
                self._waiters.drop(run_id, waiter)

        def hear(run: Run) -> None:
            if run.has_ended:
                drop()
                self._waiters.inputs.forget(run_id)

        forget = self._runs().follow(run_id, hear)
        return drop

    async def _watched(self, call: Call, run: Run, within_s: float) -> Run:
        async with watched(self._runs(), run, call.tell):
            run = await self._with_progress(call, run, within_s)
        _count_line(call, run)
        return run

    def _told(self, run: Run, say: Answering) -> Outcome:
        """What the client is about to be told: the end of the run, or its id."""
        if not run.has_ended:
            self._waiters.hand_out(run.id)
            return say(run)
        return with_receipt(say(run), run, self._runs, self._waiters.tasks)

    async def _with_progress(self, call: Call, run: Run, within_s: float) -> Run:
        pulse = _Pulse(call)
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        while not run.has_ended and (left := until - loop.time()) > 0:
            run = await self._runs().wait(run.id, within_s=min(left, _PULSE_S), tell=pulse.tell)
            pulse.beat(run)
        return run

    def _left(self, owner: str) -> None:
        """A client is gone that started runs; it may come back with its request."""
        self._waiters.tasks.start(self._orphan(owner))

    async def _orphan(self, owner: str) -> None:
        # Whoever could be told that this failed is gone.
        with contextlib.suppress(Fault):
            await self._runs().left(owner)

    def _started_for_nobody(self, starting: "asyncio.Task[Run]") -> None:
        if not starting.cancelled() and starting.exception() is None:
            self._let_go(starting.result().id)

    def _let_go(self, run_id: str) -> None:
        """The client waits no more."""
        is_kept = self._waiters.is_handed_out(run_id) and self._on_disconnect == "auto"
        if is_kept or self._on_disconnect == "keep" or self._waiters.of(run_id):
            return
        self._waiters.tasks.start(self._abandon(run_id))

    async def _abandon(self, run_id: str) -> None:
        # Whoever could be told that this failed is gone.
        with contextlib.suppress(Fault):
            await self._runs().cancel(run_id)
            # Whoever sends it again wants it done, not to hear that it was cancelled.
            await self._runs().delivered(run_id)


def _count_line(call: Call, run: Run) -> None:
    """What of the call's time was the run waiting for its turn."""
    now = time.time()
    began = now - (time.monotonic() - call.clock.worked_from)
    call.clock.queued_s += max((run.started_at or now) - max(run.created_at, began), 0.0)


def _principals(session: Session) -> tuple[tuple[int, int], ...]:
    """Who has it done: the client, and those that it acts for."""
    pids = (session.client_pid, *session.on_behalf_of)
    return tuple((pid, began(pid)) for pid in pids if pid > 0)


class _Pulse:
    """Tells the client what the agent does, and that it is still at it. It has to rise."""

    def __init__(self, call: Call) -> None:
        self._channel = call.channel
        self._count = 0
        self._said = ""

    def tell(self, run: Run) -> None:
        """Something has changed."""
        if self._is_new(run):
            self._report()

    def beat(self, run: Run) -> None:
        """Nothing may have."""
        if not run.has_ended:
            self._is_new(run)
            self._report()

    def _is_new(self, run: Run) -> bool:
        said = run.doing or (IN_LINE if run.state == "queued" else run.state)
        is_new = said != self._said
        self._said = said
        return is_new

    def _report(self) -> None:
        if self._channel is not None and not self._channel.is_pressed:
            self._count += 1
            self._channel.report(self._count, message=self._said)
