"""A conversation whose process stays from its first turn to an interrupt or the end.

An interrupt ends the process, with every command that it left running; the next turn starts another
one, which goes on with the same conversation. What the process speaks, its heirs know.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast, get_args

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.tasks import TaskSet
from switchboard.engines.events import EngineEvent, FailureKind, TurnEnded
from switchboard.engines.failures import kind_of_crash
from switchboard.engines.process import EngineProcess
from switchboard.engines.profile import EngineSpec
from switchboard.engines.turns import Turn
from switchkit.reaper_client import Reaper

Json = dict[str, Any]

# After it the process itself is ended.
_INTERRUPT_S = 5.0
_NOTHING: Mapping[str, str] = {}


class ProcessConversation(ABC):
    """One conversation. Only while a turn is under way somebody reads what the process says."""

    # What makes the process clean up after itself; without one its input is closed.
    ending_signal = 0

    def __init__(self, spec: EngineSpec, reaper: Reaper) -> None:
        self.spec = spec
        self._reaper = reaper
        self._process: EngineProcess | None = None
        self._turn: Turn | None = None
        self._ending = asyncio.Lock()
        self._is_closed = False
        # What works for the turn that is under way.
        self._tasks = TaskSet()

    @abstractmethod
    async def begin(self) -> None:
        """Start the process by `start` and greet it. Raises a fault, OSError or TimeoutError."""

    @abstractmethod
    async def play(self, turn: Turn, text: str) -> None:
        """Give the task and take what comes, up to the end of the turn. Raises as `begin`."""

    @abstractmethod
    async def cancel(self) -> None:
        """Ask the process to end the turn."""

    @abstractmethod
    def forget(self) -> None:
        """The process has ended, and nobody waits for answers any more."""

    @property
    def pid(self) -> int:
        return 0 if self._process is None else self._process.pid

    @property
    def process(self) -> EngineProcess:
        """The process that is there while a turn is played."""
        if self._process is None:
            raise Fault(FaultCode.UNAVAILABLE, "engine-crashed", "the engine has ended")
        return self._process

    @property
    def is_under_way(self) -> bool:
        """Whether there is a turn that could be added to."""
        return self._process is not None and self._turn is not None and not self._turn.has_ended

    async def turn(self, text: str) -> AsyncIterator[EngineEvent]:
        """Give a task, as the port says."""
        if self._turn is not None and not self._turn.has_ended:
            raise Fault(
                FaultCode.FAILED_PRECONDITION, "turn-under-way", "a turn is under way already"
            )
        turn = self._turn = Turn()
        self._tasks.start(self._work(turn, text))
        try:
            async for event in turn.events():
                yield event
        finally:
            # Whoever does not want to hear more does not want more to be done.
            is_left = not turn.has_ended
            turn.end(TurnEnded(status="interrupted"))
            await self._tasks.aclose()
            if is_left:
                await self.end_process()

    async def interrupt(self) -> None:
        """End the turn and the process with it."""
        turn = self._turn
        if turn is None or turn.has_ended:
            return
        turn.is_interrupted = True
        if self._process is not None:
            await self.cancel()
            # Its end is told once everything that it started is gone.
            await turn.wait(_INTERRUPT_S)
        await self.end_process()
        turn.end(TurnEnded(status="interrupted"))

    async def aclose(self) -> None:
        """End everything."""
        self._is_closed = True
        await self.interrupt()
        await self.end_process()

    async def start(
        self,
        argv: tuple[str, ...],
        env: Mapping[str, str],
        handed: Mapping[str, str] = _NOTHING,
    ) -> None:
        """Start the process; `handed` is as `EngineProcess.start` says. Raises a fault."""
        if self._is_closed:
            raise Fault(FaultCode.CANCELLED, "engine-crashed", "the conversation has ended")
        cwd = self.spec.cwd
        self._process = await EngineProcess.start(
            argv, cwd=cwd, env=env, reaper=self._reaper, handed=handed
        )

    async def receive(self) -> Json:
        """The next line of the process. Raises a fault when there are no more."""
        line = await self.process.receive()
        if line is not None:
            return line
        words = self.process.last_words
        raise Fault(
            FaultCode.UNAVAILABLE, kind_of_crash(words), "the engine has ended", private=words
        )

    async def end_process(self) -> None:
        """End the process with all it started; the next turn starts another."""
        async with self._ending:
            if self._process is not None:
                self.forget()
                await self._process.end(first=self.ending_signal)
                self._process = None

    async def _work(self, turn: Turn, text: str) -> None:
        try:
            if self._process is None:
                await self.begin()
            await self.play(turn, text)
        except Fault as fault:
            await self.end_process()
            turn.fail(_kind_of(fault), fault.private or fault.message)
        except TimeoutError:
            await self.end_process()
            turn.fail("engine-crashed", "it did not answer in time")
        except OSError as error:
            await self.end_process()
            turn.fail("other", str(error))
        finally:
            # Whatever else happens, nobody waits for ever.
            turn.fail("other", "it was given up")


def _kind_of(fault: Fault) -> FailureKind:
    """The reason of a fault, where it is a kind of failure itself."""
    if fault.reason == "spawn-failed":
        return "engine-missing"
    is_kind = fault.reason in get_args(FailureKind)
    return cast("FailureKind", fault.reason) if is_kind else "engine-crashed"
