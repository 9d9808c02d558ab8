"""One turn of a conversation: what is told of it, in order, up to its end, which comes once."""

import asyncio
from collections.abc import AsyncIterator

from switchboard.engines.events import EngineEvent, FailureKind, TurnEnded, TurnFailure

# A reader that is slower than the engine holds it up; nothing piles up here.
_WAITING = 1000


class Turn:
    """What one turn tells. The end is told once, however many reasons there are for it."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[EngineEvent] = asyncio.Queue(_WAITING)
        self._ended: asyncio.Future[TurnEnded] = asyncio.get_running_loop().create_future()
        # Whether somebody asked for its end.
        self.is_interrupted = False

    @property
    def has_ended(self) -> bool:
        return self._ended.done()

    async def tell(self, event: EngineEvent) -> None:
        """Add an event; one that comes after the end is dropped."""
        if isinstance(event, TurnEnded):
            self.end(event)
            return
        putting = asyncio.ensure_future(self._queue.put(event))
        try:
            # Who has left does not read any more: the end lets the engine go on.
            await asyncio.wait((putting, self._ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            putting.cancel()

    def end(self, event: TurnEnded) -> None:
        """Say how it ended. Only the first one to say so is heard."""
        if not self._ended.done():
            self._ended.set_result(event)

    def fail(self, kind: FailureKind, private: str = "", status: int | None = None) -> None:
        """End it with a failure, unless its end was asked for."""
        if self.is_interrupted:
            self.end(TurnEnded(status="interrupted"))
        else:
            failure = TurnFailure(kind=kind, private=private, http_status=status)
            self.end(TurnEnded(status="failed", failure=failure))

    async def wait(self, patience_s: float) -> bool:
        """Wait for the end. Says whether it came."""
        await asyncio.wait((self._ended,), timeout=patience_s)
        return self._ended.done()

    async def events(self) -> AsyncIterator[EngineEvent]:
        """Everything that was told, and then the end."""
        while True:
            getting = asyncio.ensure_future(self._queue.get())
            try:
                await asyncio.wait((getting, self._ended), return_when=asyncio.FIRST_COMPLETED)
                if not getting.done():
                    break
                event = getting.result()
            finally:
                getting.cancel()
            yield event
        # What was told before the end is read before it.
        while not self._queue.empty():
            yield self._queue.get_nowait()
        yield self._ended.result()
