"""Asks through the queue: the call waits while somebody decides there, and not for ever."""

from switchboard.approvals.queue import ApprovalQueue
from switchboard.approvals.refusals import undecided
from switchboard.core.questions import Answer, Question

# Most clients give up on a call after a minute.
HOLD_S = 50.0


class QueueAsker:
    """For clients that cannot ask, and for what they may not answer themselves."""

    def __init__(self, queue: ApprovalQueue, *, hold_s: float = HOLD_S) -> None:
        self._queue = queue
        self._hold_s = hold_s

    async def ask(self, question: Question, /) -> Answer:
        within_s = min(self._hold_s, question.patience_s)
        answer = await self._queue.answer(question, within_s=within_s)
        if answer is None:
            raise undecided(question)
        return answer
