"""Asks at the desk: the call waits while somebody decides there, and not for ever."""

import asyncio

from switchboard.approvals.desk import Desk
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import Answer, Question

# Most clients give up on a call after a minute.
HOLD_S = 50.0
_LOOK_S = 0.05


class DeskAsker:
    """For clients that cannot ask, and for what they may not answer themselves."""

    def __init__(self, desk: Desk, *, hold_s: float = HOLD_S) -> None:
        self._desk = desk
        self._hold_s = hold_s

    async def ask(self, question: Question, /) -> Answer:
        loop = asyncio.get_running_loop()
        until = loop.time() + min(self._hold_s, question.patience_s)
        while (answer := self._desk.answer(question.id)) is None:
            left = until - loop.time()
            if left <= 0:
                raise _approval_required(question)
            # Whoever answers is another process, and tells nobody: looking is what there is. It
            # costs some microseconds.
            await asyncio.sleep(min(_LOOK_S, left))
        return answer


def _approval_required(question: Question) -> Fault:
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "approval-required",
        f"`{question.tool}` needs the approval of a person, who has not decided yet",
        hint=(
            f"the user can type `switchboard approvals approve {question.id}` in a terminal;"
            " then make the same call again"
        ),
        details={"approval_id": question.id, "expires_at": question.expires_at},
    )
