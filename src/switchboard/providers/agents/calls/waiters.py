"""Who waits for which run, so that a question of the run finds a person."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager

from msgspec import Struct

from switchboard.core.calls.call import Call
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.questions import Answer, Question
from switchboard.core.sessions import Session
from switchboard.providers.agents.calls.request_keys import owner_of
from switchboard.providers.agents.calls.task_inputs import TaskInputs

# How long it may take until a client that is gone is known to be.
_SETTLES_S = 0.2
# Runs whose beginning is remembered; those that ended long ago are the first to go.
_MOST = 4_096


class Waiter(Struct, eq=False):
    """A call that waits for a run."""

    call: Call
    ended: asyncio.Event


class Waiters:
    """Kept over reloads: a run outlives the board that it was started on."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Waiter]] = {}
        self._news: dict[str, list[asyncio.Event]] = {}
        self._starters: dict[str, Session] = {}
        self._handed_out: dict[str, None] = {}
        # What they are asked that were handed a task.
        self.inputs = TaskInputs()
        self.tasks = TaskSet()
        # Who hears that the session of an owner of runs has ended.
        self.on_leave: Callable[[str], None] | None = None

    # Whoever waits

    @contextmanager
    def waiting(self, run_id: str, call: Call) -> Generator[Waiter]:
        """A call waits for the end of a run, as long as the block lasts."""
        waiter = self.add(run_id, call)
        try:
            yield waiter
        finally:
            self.drop(run_id, waiter)

    def add(self, run_id: str, call: Call) -> Waiter:
        """A call waits for the end of a run, until it is dropped."""
        waiter = Waiter(call, asyncio.Event())
        self._waiting.setdefault(run_id, []).append(waiter)
        self._tell(run_id)
        return waiter

    def drop(self, run_id: str, waiter: Waiter) -> None:
        """It waits no more."""
        waiter.ended.set()
        waiting = self._waiting.get(run_id, [])
        if waiter in waiting:
            waiting.remove(waiter)
        if not waiting:
            self._waiting.pop(run_id, None)

    def of(self, run_id: str) -> tuple[Waiter, ...]:
        """Every call that waits for a run."""
        return tuple(self._waiting.get(run_id, ()))

    async def changed(self, run_id: str) -> None:
        """Wait until somebody else waits for the run."""
        heard = asyncio.Event()
        self._news.setdefault(run_id, []).append(heard)
        try:
            await heard.wait()
        finally:
            # It may be that nobody came.
            if heard in (waiting := self._news.get(run_id, [])):
                waiting.remove(heard)
                if not waiting:
                    del self._news[run_id]

    def _tell(self, run_id: str) -> None:
        for heard in self._news.pop(run_id, ()):
            heard.set()

    # Whoever began

    def began(self, run_id: str, session: Session) -> None:
        """A session has started a run."""
        self._starters.setdefault(run_id, session)
        while len(self._starters) > _MOST:
            del self._starters[next(iter(self._starters))]

    def starter(self, run_id: str) -> Session | None:
        """The session that started a run, if that is still known."""
        return self._starters.get(run_id)

    def askable(self, run_id: str) -> tuple[Waiter, ...]:
        """Those who wait and may be asked in the name of a person: the client that began the run.

        Anybody in the workspace may wait for a run, and a shell of its own agent can, too.
        """
        starter = self._starters.get(run_id)
        if starter is None:
            return ()
        owner = owner_of(starter)
        return tuple(each for each in self.of(run_id) if owner_of(each.call.session) == owner)

    def hand_out(self, run_id: str) -> None:
        """A client was told the id: it may come back for the run."""
        self._handed_out[run_id] = None
        while len(self._handed_out) > _MOST:
            del self._handed_out[next(iter(self._handed_out))]

    def is_handed_out(self, run_id: str) -> bool:
        """Whether somebody may come back for the run."""
        return run_id in self._handed_out

    def leave(self, session_id: str) -> None:
        """A session has ended: nobody is there who could be asked, or told an answer."""
        started = [run_id for run_id, each in self._starters.items() if each.id == session_id]
        for run_id in started:
            for waiter in self.of(run_id):
                # Over HTTP a client of the modern era may come back without a session.
                if owner_of(waiter.call.session) == session_id:
                    self.drop(run_id, waiter)
        if started and self.on_leave is not None:
            self.on_leave(session_id)

    async def aclose(self) -> None:
        """End what is under way."""
        await self.tasks.aclose()


class WaitingClientAsker:
    """Asks the client that began the run, wherever it waits and can be asked, call after call.

    While it does not wait, this does; the queue may be answered meanwhile, or the client's next
    call.
    """

    def __init__(self, waiters: Waiters, run_id: str) -> None:
        self._waiters = waiters
        self._run_id = run_id

    async def ask(self, question: Question, /) -> Answer:
        asked: set[Waiter] = set()
        while True:
            waiting = [each for each in self._waiters.askable(self._run_id) if each not in asked]
            for waiter in waiting:
                asked.add(waiter)
                if (answer := await _asked(waiter, question)) is not None:
                    return answer
            if not waiting:
                await self._waiters.changed(self._run_id)


async def _asked(waiter: Waiter, question: Question) -> Answer | None:
    """The answer of a client, or nothing if it stopped waiting before there was one."""
    if waiter.call.asker is None:
        return None
    asking = asyncio.ensure_future(waiter.call.asker.ask(question))
    gone = asyncio.ensure_future(waiter.ended.wait())
    try:
        await asyncio.wait((asking, gone), return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            return None
        answer = asking.result()
        if answer is None or answer.verdict == "expired":
            # The question has a deadline of its own, and the queue can be answered until then.
            return None
        if answer.verdict == "cancelled":
            # A client that went away has not said no.
            await asyncio.wait((gone,), timeout=_SETTLES_S)
        return None if gone.done() else answer
    finally:
        asking.cancel()
        gone.cancel()
