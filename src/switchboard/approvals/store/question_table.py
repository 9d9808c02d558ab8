"""The table of questions. Its methods are those of `core.stores.ApprovalStore`, on its thread."""

from collections import Counter
from collections.abc import Callable

import msgspec

from switchboard.approvals.queue import (
    PENDING_IN_ALL,
    PENDING_OVER_HTTP,
    PENDING_PER_ENTRANCE,
    PENDING_PER_SESSION,
    PENDING_PER_WORKSPACE,
    STALE_S,
    TTL_S,
)
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import Answer, Question
from switchboard.core.sql import Sql, SqlRow
from switchboard.core.stores import ApprovalState, Owners, Posted

_KEPT_S = 24 * 3600.0
# Clocks are adjusted by so much all the time.
_SKEW_S = 5.0
_read_question = msgspec.json.Decoder(Question).decode


class _Waiting(msgspec.Struct, frozen=True):
    """What counts of a question that waits."""

    id: str
    session_id: str
    asked_at: float
    workspace: str = ""
    entrance: str = ""

    @property
    def asker(self) -> str:
        """Who asks, under no name that a client could choose."""
        return self.entrance or self.session_id


_read_waiting = msgspec.json.Decoder(_Waiting).decode


class QuestionTable:
    """Takes questions in, gives answers out, and lets each approval be used once."""

    def __init__(self, database: Sql, owners: Owners, *, clock: Callable[[], float]) -> None:
        self._database = database
        self._owners = owners
        self._clock = clock

    def post(self, question: Question, owner: str, /) -> Posted:
        with self._database.together():
            self._sweep()
            found = self._database.rows(
                "SELECT * FROM questions WHERE session = ? AND digest = ?"
                " AND (state = 'pending' OR (state = 'approved' AND used = 0))"
                " ORDER BY asked_at DESC LIMIT 1",
                question.session_id,
                question.digest,
            )
            if found:
                return _posted(found[0])
            self._make_room(question)
            self._database.change(
                "INSERT INTO questions"
                " (id, session, digest, question, asked_at, expires_at, owner_id, workspace)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                question.id,
                question.session_id,
                question.digest,
                msgspec.json.encode(question),
                question.asked_at,
                question.expires_at,
                owner,
                question.workspace,
            )
        return Posted(question=question, state="pending")

    def decide(self, question_id: str, answer: Answer, /) -> bool:
        now = self._clock()
        expires_at = now + TTL_S if answer.verdict == "approved" else now
        changed = self._database.change(
            "UPDATE questions SET state = ?, extent = ?, decided_by = ?, decided_at = ?, chain = ?,"
            " expires_at = ? WHERE id = ? AND state = 'pending' AND expires_at > ?",
            answer.verdict,
            answer.extent,
            answer.by,
            answer.at,
            answer.chain,
            expires_at,
            question_id,
            now,
        )
        return changed == 1

    def consume(self, question_id: str, digest: str, /) -> bool:
        changed = self._database.change(
            "UPDATE questions SET state = 'consumed', used = 1"
            " WHERE id = ? AND digest = ? AND state = 'approved' AND used = 0 AND expires_at > ?"
            " AND decided_at <= ?",
            question_id,
            digest,
            self._clock(),
            self._clock() + _SKEW_S,
        )
        return changed == 1

    def answer(self, question_id: str, /) -> Answer | None:
        found = self._database.rows("SELECT * FROM questions WHERE id = ?", question_id)
        if not found:
            return Answer(verdict="expired", by="time", at=self._clock())
        row = found[0]
        is_open = row["state"] in {"pending", "approved"}
        if is_open and row["expires_at"] <= self._clock():
            return Answer(verdict="expired", by="time", at=row["expires_at"])
        return _posted(row).answer

    def leave(self, session: str, /) -> None:
        self._database.change(
            "UPDATE questions SET state = 'cancelled', decided_by = 'session', decided_at = ?"
            " WHERE session = ? AND (state = 'pending' OR (state = 'approved' AND used = 0))",
            self._clock(),
            session,
        )

    def waiting(self) -> list[Posted]:
        with self._database.together():
            self._sweep()
        return self._select("state = 'pending'")

    def recent(self) -> list[Posted]:
        with self._database.together():
            self._sweep()
        return self._select("TRUE")

    def find(self, question_id: str, /) -> Posted | None:
        with self._database.together():
            self._sweep()
        found = self._database.rows("SELECT * FROM questions WHERE id = ?", question_id)
        return _posted(found[0]) if found else None

    def _select(self, condition: str) -> list[Posted]:
        rows = self._database.rows(
            f"SELECT * FROM questions WHERE {condition} ORDER BY asked_at"  # noqa: S608 - ours
        )
        return [_posted(row) for row in rows]

    def _make_room(self, question: Question) -> None:
        """Raises a fault where there is none: nobody keeps others from asking.

        A client without a session may never come back for what it asked, so its oldest question
        gives way after a while. In a workspace whose queue is full it is the oldest question of
        whoever asks most.
        """
        rows = self._database.rows(
            "SELECT question FROM questions WHERE state = 'pending' ORDER BY asked_at"
        )
        waiting = [_read_waiting(row["question"]) for row in rows]
        own = [each for each in waiting if each.session_id == question.session_id]
        if len(own) >= PENDING_PER_SESSION:
            if "session" in question.offers or not self._is_stale(own[0]):
                raise _too_many(len(own), "of this session")
            waiting.remove(self._give_way(own[0]))
        beside = [each for each in waiting if each.workspace == question.workspace]
        if question.entrance:
            same = [each for each in waiting if each.entrance == question.entrance]
            if len(same) >= PENDING_PER_ENTRANCE:
                beside = self._without_stale(beside, same, "of clients with this token and address")
            web = [each for each in beside if each.entrance]
            if len(web) >= PENDING_OVER_HTTP:
                whose = "of HTTP clients of this workspace"
                # Where people have names, nobody is more than one of them.
                if question.person:
                    gone = self._without_most(web, question, whose)
                    beside = [each for each in beside if each is not gone]
                else:
                    beside = self._without_stale(beside, web, whose)
        if len(beside) >= PENDING_PER_WORKSPACE:
            self._without_most(beside, question, "of this workspace")
        elif len(waiting) >= PENDING_IN_ALL:
            raise _too_many(len(waiting), "of all workspaces")

    def _without_most(self, crowd: list[_Waiting], question: Question, whose: str) -> _Waiting:
        """Have the oldest of whoever asks most give way. Raises a fault where that is no more."""
        [(most, count)] = Counter(each.asker for each in crowd).most_common(1)
        oldest = next(each for each in crowd if each.asker == most)
        asker = question.entrance or question.session_id
        mine = sum(each.asker == asker for each in crowd)
        if count <= mine + 1 and not self._is_stale(oldest):
            raise _too_many(len(crowd), whose)
        return self._give_way(oldest)

    def _without_stale(
        self, beside: list[_Waiting], crowd: list[_Waiting], whose: str
    ) -> list[_Waiting]:
        """Those who are left once the oldest of a crowd has given way. Raises a fault."""
        if not self._is_stale(crowd[0]):
            raise _too_many(len(crowd), whose)
        gone = self._give_way(crowd[0])
        return [each for each in beside if each is not gone]

    def _is_stale(self, question: _Waiting) -> bool:
        return question.asked_at <= self._clock() - STALE_S

    def _give_way(self, question: _Waiting) -> _Waiting:
        self._database.change(
            "UPDATE questions SET state = 'cancelled', decided_by = 'queue', decided_at = ?"
            " WHERE id = ? AND state = 'pending'",
            self._clock(),
            question.id,
        )
        return question

    def _sweep(self) -> None:
        """Close what nobody can answer or use any more, and forget what is old."""
        now = self._clock()
        self._database.change(
            "UPDATE questions SET state = 'expired', decided_by = 'time', decided_at = expires_at"
            # What was decided in the future was decided before the clock was set back.
            " WHERE ((state = 'pending' OR state = 'approved') AND expires_at <= ?)"
            " OR (state = 'approved' AND decided_at > ?)",
            now,
            now + _SKEW_S,
        )
        owners = self._database.rows(
            "SELECT owner_id, max(asked_at) AS asked_at FROM questions"
            " WHERE owner_id != '' AND (state = 'pending' OR state = 'approved')"
            " GROUP BY owner_id"
        )
        for row in owners:
            owner: str = row["owner_id"]
            if self._owners.is_gone(owner, row["asked_at"]):
                self._database.change(
                    "UPDATE questions SET state = 'cancelled', decided_by = 'exit', decided_at = ?"
                    " WHERE owner_id = ? AND (state = 'pending' OR state = 'approved')",
                    now,
                    owner,
                )
        self._database.change(
            "DELETE FROM questions WHERE state NOT IN ('pending', 'approved') AND asked_at < ?",
            now - _KEPT_S,
        )


def _too_many(waiting: int, whose: str) -> Fault:
    return Fault(
        FaultCode.RESOURCE_EXHAUSTED,
        "too-many-questions",
        f"{waiting} questions {whose} are already waiting for an answer",
        hint="have them answered first: switchboard approvals list",
    )


def _posted(row: SqlRow) -> Posted:
    state: ApprovalState = row["state"]
    answer = None
    if state != "pending":
        answer = Answer(
            verdict="approved" if state == "consumed" else state,
            extent=row["extent"],
            by=row["decided_by"],
            at=row["decided_at"],
            chain=row["chain"],
        )
    question = _read_question(row["question"])
    return Posted(question=question, state=state, answer=answer)
