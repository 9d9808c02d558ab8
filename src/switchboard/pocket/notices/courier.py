"""One way to tell a person, kept busy: what waits for it is bounded, and what fails is dropped.

Nobody waits for a courier. A question is posted and answered as if there were none.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable

from msgspec.structs import replace

from switchboard.control.status import NoticeStatus
from switchboard.core.events import Event, NoticeFailed
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.pocket.notices.question_notice import QuestionNotice
from switchboard.pocket.notices.senders import Sender
from switchboard.pocket.notices.ways import Way

# More than this at once are told of in one message: nobody reads two hundred.
_ONE_BY_ONE = 3
_MOST_WAITING = 1_024
# Buttons of a desktop stay until somebody presses one, and others go on meanwhile.
_AT_ONCE = {"desktop": 8}


class Courier:
    """Sends messages one after the other."""

    def __init__(self, way: Way, sender: Sender, tell: Callable[[Event], None]) -> None:
        self.way = way
        self._sender = sender
        self._tell = tell
        self._waiting: deque[QuestionNotice] = deque(maxlen=_MOST_WAITING)
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._tasks = TaskSet()
        self.status = NoticeStatus(way=way.kind, number=way.number)

    def put(self, notice: QuestionNotice) -> None:
        """Have it told of soon."""
        self._waiting.append(notice)
        self._go_on()

    def withdraw(self, question: str) -> None:
        """It was decided: nobody needs to be told any more."""
        for each in [each for each in self._waiting if each.id == question]:
            self._waiting.remove(each)
        if (sending := self._sending.get(question)) is not None and self.way.kind == "desktop":
            sending.cancel()

    async def aclose(self) -> None:
        """Tell nothing more."""
        self._waiting.clear()
        await self._tasks.aclose()
        await self._sender.aclose()

    def _go_on(self) -> None:
        while self._waiting and len(self._tasks) < _AT_ONCE.get(self.way.kind, 1):
            task = self._tasks.start(self._send(notice := self._next()))
            self._sending[notice.id] = task
            task.add_done_callback(lambda _, ended=notice.id: self._ended(ended))

    def _next(self) -> QuestionNotice:
        if len(self._waiting) > _ONE_BY_ONE:
            count = len(self._waiting)
            # As long as the last of them; what has no end waits longest.
            ends = [each.expires_at for each in self._waiting]
            self._waiting.clear()
            return QuestionNotice(count=count, expires_at=max(ends) if all(ends) else 0.0)
        return self._waiting.popleft()

    def _ended(self, notice: str) -> None:
        self._sending.pop(notice, None)
        # The set lets go of it in the same turn of the loop.
        asyncio.get_running_loop().call_soon(self._go_on)

    async def _send(self, notice: QuestionNotice) -> None:
        if notice.expires_at and notice.expires_at <= time.time():
            return
        try:
            await self._sender.send(notice)
        except Fault as fault:
            self._failed(fault.reason, fault.message)
        except Exception as error:  # noqa: BLE001 - whatever it is, questions go on without it
            self._failed("notice-failed", f"it failed ({type(error).__name__})")
        else:
            self.status = replace(self.status, sent=self.status.sent + 1, is_failing=False)

    def _failed(self, reason: str, message: str) -> None:
        self.status = replace(
            self.status,
            failed=self.status.failed + 1,
            is_failing=True,
            last_error=message,
            last_error_at=time.time(),
        )
        self._tell(
            NoticeFailed(way=self.way.kind, number=self.way.number, reason=reason, message=message)
        )
