"""Questions that wait for a person, and what was decided. Every process of a user sees the same.

`pending -> approved | denied | expired | cancelled`, and `approved -> consumed` once.
"""

import os
import secrets
import sqlite3
import time
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct

from switchboard.approvals.database import Database
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import Answer, Question
from switchkit.platform.system import process_namespace
from switchkit.processes import is_gone, living

State = Literal["pending", "approved", "denied", "expired", "cancelled", "consumed"]

# How long a question waits, and how long an approval may then be used.
TTL_S = 300.0
PENDING_PER_SESSION = 3
PENDING_IN_ALL = 64
_KEPT_S = 24 * 3600.0
# No letter that could be taken for another one.
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_ID_CHARS = 8

_read_question = msgspec.json.Decoder(Question).decode


class Posted(Struct, frozen=True, kw_only=True):
    """A question as it lies on the desk."""

    question: Question
    state: State
    answer: Answer | None = None


def new_id() -> str:
    """A short name that a person can type."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_ID_CHARS))


class Desk:
    """Takes questions in, gives answers out, and lets each approval be used once."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._namespace = process_namespace()

    # What the gate does

    def post(self, question: Question, /) -> Posted:
        """Put a question on the desk, or find the one that is there already.

        An identical question that waits is shared, and an approval that was given meanwhile is
        found. Raises a fault when the session has too many.
        """
        # A client without a session may be gone before the answer, and come again for it.
        owner = living(os.getpid()) if "session" in question.offers else None
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
            self._check_room(question.session_id)
            self._database.change(
                "INSERT INTO questions"
                " (id, session, digest, question, asked_at, expires_at,"
                " owner, owner_began, owner_namespace) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                question.id,
                question.session_id,
                question.digest,
                msgspec.json.encode(question),
                question.asked_at,
                question.expires_at,
                owner.pid if owner else 0,
                owner.began if owner else 0,
                self._namespace,
            )
        return Posted(question=question, state="pending")

    def decide(self, question_id: str, answer: Answer) -> bool:
        """Note an answer. False when the question does not wait any more."""
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

    def consume(self, question_id: str, digest: str) -> bool:
        """Use an approval up. True for one caller only, whatever the number of callers."""
        changed = self._database.change(
            "UPDATE questions SET state = 'consumed', used = 1"
            " WHERE id = ? AND digest = ? AND state = 'approved' AND used = 0 AND expires_at > ?",
            question_id,
            digest,
            self._clock(),
        )
        return changed == 1

    def answer(self, question_id: str) -> Answer | None:
        """What was decided, or nothing as long as the question waits."""
        found = self._database.rows("SELECT * FROM questions WHERE id = ?", question_id)
        if not found:
            return Answer(verdict="expired", by="time", at=self._clock())
        row = found[0]
        is_open = row["state"] in {"pending", "approved"}
        if is_open and row["expires_at"] <= self._clock():
            return Answer(verdict="expired", by="time", at=row["expires_at"])
        return _posted(row).answer

    def withdraw(self, question_id: str) -> None:
        """Nobody waits for the answer any more."""
        now = self._clock()
        self.decide(question_id, Answer(verdict="cancelled", by="client", at=now))

    def leave(self, session: str) -> None:
        """A session has ended: what it asked or was given is of no use to anybody."""
        self._database.change(
            "UPDATE questions SET state = 'cancelled', decided_by = 'session', decided_at = ?"
            " WHERE session = ? AND (state = 'pending' OR (state = 'approved' AND used = 0))",
            self._clock(),
            session,
        )

    # What a person does

    def waiting(self) -> list[Posted]:
        """Every question that waits, oldest first."""
        with self._database.together():
            self._sweep()
        return self._select("state = 'pending'")

    def recent(self) -> list[Posted]:
        """Every question that is still known, oldest first."""
        with self._database.together():
            self._sweep()
        return self._select("1")

    def find(self, question_id: str) -> Posted | None:
        """A question by its id."""
        with self._database.together():
            self._sweep()
        found = self._database.rows("SELECT * FROM questions WHERE id = ?", question_id)
        return _posted(found[0]) if found else None

    # How it is kept

    def _select(self, condition: str) -> list[Posted]:
        rows = self._database.rows(
            f"SELECT * FROM questions WHERE {condition} ORDER BY asked_at"  # noqa: S608 - ours
        )
        return [_posted(row) for row in rows]

    def _check_room(self, session: str) -> None:
        [row] = self._database.rows(
            "SELECT count(*) AS all_of_them, count(*) FILTER (WHERE session = ?) AS own"
            " FROM questions WHERE state = 'pending'",
            session,
        )
        if row["own"] >= PENDING_PER_SESSION or row["all_of_them"] >= PENDING_IN_ALL:
            raise Fault(
                FaultCode.RESOURCE_EXHAUSTED,
                "too-many-questions",
                f"{row['own']} questions of this session wait for an answer already",
                hint="have them answered first: switchboard approvals list",
            )

    def _sweep(self) -> None:
        """Close what nobody can answer or use any more, and forget what is old."""
        now = self._clock()
        self._database.change(
            "UPDATE questions SET state = 'expired', decided_by = 'time', decided_at = expires_at"
            " WHERE (state = 'pending' OR state = 'approved') AND expires_at <= ?",
            now,
        )
        owners = self._database.rows(
            "SELECT DISTINCT owner, owner_began FROM questions"
            " WHERE owner != 0 AND owner_namespace = ?"
            " AND (state = 'pending' OR state = 'approved')",
            self._namespace,
        )
        for owner, began in owners:
            if is_gone(owner, began):
                self._database.change(
                    "UPDATE questions SET state = 'cancelled', decided_by = 'exit', decided_at = ?"
                    " WHERE owner = ? AND owner_began = ? AND owner_namespace = ?"
                    " AND (state = 'pending' OR state = 'approved')",
                    now,
                    owner,
                    began,
                    self._namespace,
                )
        self._database.change(
            "DELETE FROM questions WHERE state NOT IN ('pending', 'approved') AND asked_at < ?",
            now - _KEPT_S,
        )


def _posted(row: sqlite3.Row) -> Posted:
    state: State = row["state"]
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
