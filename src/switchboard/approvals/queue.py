"""The queue of questions that wait for a person, as the approval gate uses it."""

import secrets
import time
from collections.abc import Set as AbstractSet
from math import inf

from msgspec.structs import replace

from switchboard.core.questions import BY_CLIENT, USED, Answer, Question, Verdict
from switchboard.core.stores import ApprovalStore, Owners, Posted

# How long a question waits unless somebody says otherwise, and how long an approval may then be
# used: the client may have given up waiting, and has to call again.
WAIT_S = 120.0
TTL_S = 300.0
PENDING_PER_SESSION = 3
# Over HTTP a client chooses its name, and how many sessions it opens: all that come with one token
# from one address have so many together, and all such clients so many in a workspace. The rest of
# its places is for those who are attached to it.
PENDING_PER_ENTRANCE = 16
PENDING_OVER_HTTP = 48
PENDING_PER_WORKSPACE = 64
PENDING_IN_ALL = 1_024
# A question that waits so long gives way to another where there is no room for both.
STALE_S = 30.0
_NOS: frozenset[Verdict] = frozenset({"denied", "cancelled", "expired"})
# Time decides without telling anybody; looked at this much later, it has.
_AFTER_S = 0.02
# No letter that could be taken for another one.
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_ID_CHARS = 8


def new_id() -> str:
    """A short name that a person can type."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_ID_CHARS))


class ApprovalQueue:
    """Puts questions into a store, waits for what becomes of them, and lets each yes count once."""

    def __init__(self, store: ApprovalStore, owners: Owners) -> None:
        self.store = store
        self._owner = owners.own()

    async def post(self, question: Question) -> Posted:
        """Put a question into the queue, or find the one that is there. Raises a fault."""
        # A client without a session may be gone before the answer, and come again for it.
        owner = "" if question.offers == ("once",) else self._owner
        return await self.store.post(question, owner)

    async def answer(self, question: Question, *, within_s: float = inf) -> Answer | None:
        """What is decided, or nothing if that takes longer."""
        return await self._look(question, time.time() + within_s, {"approved", *_NOS})

    async def end(self, question: Question) -> Answer | None:
        """How a question ended that nobody waits for; nothing if its approval was used."""
        # An approval that is not used by then has expired.
        return await self._look(question, question.expires_at + TTL_S + 2 * _AFTER_S, _NOS)

    async def settle(self, question: Question, answer: Answer) -> Answer:
        """What counts is what the store holds, not what an asker says; and an approval once."""
        store = self.store
        await store.decide(question.id, answer)
        is_used = await store.consume(question.id, question.digest)
        if answer.verdict != "approved":
            # Of a yes and a no at the same moment the no counts, and the yes not later either.
            return answer
        recorded = await store.answer(question.id)
        if is_used:
            return recorded or answer
        if recorded is None or recorded.verdict == "approved":
            return replace(answer, verdict="cancelled", by=USED)
        return recorded

    async def withdraw(self, question_id: str) -> None:
        """Nobody waits for the answer any more."""
        answer = Answer(verdict="cancelled", by=BY_CLIENT, at=time.time())
        await self.store.decide(question_id, answer)

    async def _look(
        self, question: Question, until: float, wanted: AbstractSet[Verdict]
    ) -> Answer | None:
        with self.store.subscribe() as news:
            while True:
                answer = await self.store.answer(question.id)
                if answer is not None and answer.verdict in wanted:
                    return answer
                now = time.time()
                if now >= until:
                    return None
                expires = question.expires_at if answer is None else answer.at + TTL_S
                await news.changed(min(max(expires + _AFTER_S - now, _AFTER_S), until - now))
