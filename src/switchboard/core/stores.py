"""The ports that state lies behind. An engine keeps to the contract suite of its port."""

from collections.abc import AsyncGenerator, Callable
from types import TracebackType
from typing import Literal, Protocol, Self

from msgspec import Struct

from switchboard.core.audit import AuditMark, AuditRecord, AuditRow, Verification
from switchboard.core.calls.receipts import KeptOutcome
from switchboard.core.questions import Answer, Question

ApprovalState = Literal["pending", "approved", "denied", "expired", "cancelled", "consumed"]
# A record, or what makes it: made on the store's own thread, so that the caller does not wait.
Recorded = AuditRecord | Callable[[], AuditRecord]


class Posted(Struct, frozen=True, kw_only=True):
    """A question in the queue, with its answer if it has one."""

    question: Question
    state: ApprovalState
    answer: Answer | None = None


class PinKey(Struct, frozen=True):
    """Which tool a pinned definition belongs to: the name of its server says too little."""

    server: str
    fingerprint: str
    tool: str


class LastingRule(Struct, frozen=True, kw_only=True):
    """That a tool needs no further yes, as long as it and its server are as they were."""

    id: str
    key: PinKey
    # The hash of the tool's definition.
    definition: str
    # The command line, or the address of a remote server, for whoever reads the rules.
    runs: str
    made_at: float
    # The way the answer came, and the processes of whoever gave it in the queue.
    made_by: str
    chain: str = ""


class Held(Struct, frozen=True, kw_only=True):
    """A definition that was changed and that nobody has agreed to yet."""

    id: str
    server: str
    tool: str
    # JSON to read, before and after.
    before: str
    after: str
    at: float


class Owners(Protocol):
    """Knows who waits for an answer. To a store their ids are opaque."""

    def own(self) -> str:
        """The id of whoever asks here; nothing if its end could not be noticed."""
        ...

    def is_gone(self, owner: str, heard_at: float = 0.0, /) -> bool:
        """Whether an owner waits no more. False where nobody can tell.

        `heard_at` is when it last did something, for whom silence is the only sign of an end.
        """
        ...


class Subscription(Protocol):
    """Tells that something in a store has changed, for as long as its `with` lasts."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

    async def changed(self, within_s: float, /) -> bool:
        """Wait for a change since the subscription or the last call began; false if none came."""
        ...


class ApprovalStore(Protocol):
    """Questions that wait for a person, and tool definitions as they were first seen.

    Every process of a user sees the same. `pending -> approved | denied | expired | cancelled`,
    and `approved -> consumed` once. Every method raises a fault when the store cannot be used.
    """

    async def post(self, question: Question, owner: str, /) -> Posted:
        """Put a question into the queue, or find the one that is there already.

        An identical question that waits is shared, and an approval that was given meanwhile is
        found. A question with an owner is cancelled once that is gone. Raises a fault when the
        session has too many.
        """
        ...

    async def decide(self, question_id: str, answer: Answer, /) -> bool:
        """Record an answer. False when the question does not wait any more."""
        ...

    async def consume(self, question_id: str, digest: str, /) -> bool:
        """Use an approval up. True for one caller only, whatever the number of callers."""
        ...

    async def answer(self, question_id: str, /) -> Answer | None:
        """What was decided, or nothing as long as the question waits."""
        ...

    async def leave(self, session: str, /) -> None:
        """A session has ended: what it asked or was given is of no use to anybody."""
        ...

    async def waiting(self) -> list[Posted]:
        """Every question that waits, oldest first."""
        ...

    async def recent(self) -> list[Posted]:
        """Every question that is still known, oldest first."""
        ...

    async def find(self, question_id: str, /) -> Posted | None:
        """A question by its id."""
        ...

    async def pin(
        self, key: PinKey, hashed: str, definition: str, older: str = "", /
    ) -> Held | None:
        """Pin a definition at first sight; gives what is held when another one is pinned.

        `older` is its hash as older versions made it, for what they pinned.
        """
        ...

    async def pinned(self, server: str, fingerprint: str, /) -> dict[str, tuple[str, bool]]:
        """What is pinned of a server's tools: each hash, and whether it is of all of them."""
        ...

    async def wanted(self, held: Held, pid: int, began: int, /) -> None:
        """A client wanted to call a held tool: it may not agree for its user."""
        ...

    async def clients(self, held: Held, /) -> list[tuple[int, int]]:
        """The processes of those who wanted to call it, each with when it began."""
        ...

    async def held(self) -> list[Held]:
        """Every definition that waits for somebody to look at it."""
        ...

    async def accept(self, held: Held, /) -> bool:
        """From now on the changed definition is the pinned one. False if it was changed again."""
        ...

    async def refuse(self, held: Held, /) -> bool:
        """Keep the old definition. The tool goes on being held as long as it differs."""
        ...

    async def unsettled(self, key: PinKey, /) -> tuple[str, str] | None:
        """A definition when a call was last agreed to, and now, if these differ."""
        ...

    async def settle(self, key: PinKey, /) -> None:
        """Somebody has agreed to a call of this tool as it is now."""
        ...

    async def add_rule(self, rule: LastingRule, /) -> None:
        """From now on a tool needs no further yes. Takes the place of an earlier rule for it."""
        ...

    async def rule(self, key: PinKey, definition: str, /) -> LastingRule | None:
        """The rule for exactly this definition of a tool."""
        ...

    async def rules(self) -> list[LastingRule]:
        """Every rule, by server and tool."""
        ...

    async def drop_rule(self, rule_id: str, /) -> bool:
        """Take a rule back. False when there is none of that id."""
        ...

    def subscribe(self) -> Subscription:
        """Learn of changes, whichever process makes them."""
        ...

    async def aclose(self) -> None:
        """Finish what is under way, and let go of every file."""
        ...


class AuditStore(Protocol):
    """The log that tells afterwards what was done. What it holds cannot be changed unnoticed."""

    async def append(self, record: Recorded, /) -> None:
        """Write the record; it is on disk when this returns. Raises a fault if it cannot be."""
        ...

    def post(self, record: Recorded, /) -> None:
        """Write the record soon. Never raises, never waits; what finds no room is counted."""
        ...

    def fingerprint(self, payload: bytes, /) -> str:
        """A hash that only this installation can compute, for those who make records.

        To be called while a record is made; elsewhere there may be nothing, as when its salt is
        unreadable.
        """
        ...

    async def flush(self) -> None:
        """Wait until everything that was posted is on disk. Raises as `append` does."""
        ...

    def read(
        self,
        *,
        after: int = 0,
        newest_first: bool = False,
        tell: Callable[[str], None] = ...,
    ) -> AsyncGenerator[AuditRow]:
        """Every record after a number. What cannot be read is left out, and told in words."""
        ...

    async def find(self, which: str, /, *, tell: Callable[[str], None] = ...) -> list[AuditRow]:
        """The records about one call, oldest first, or the record of a number."""
        ...

    async def verify(self, *, expect: AuditMark | None = None) -> Verification:
        """Whether the log is whole: nothing changed, nothing taken away, nothing put in."""
        ...

    async def aclose(self) -> None:
        """Write what waits, and end. Bounded, whatever the disk does."""
        ...


class KeptResults(Protocol):
    """Outcomes of calls that nobody has got, for a while and within bounds.

    The methods block: call them on a thread. None of them fails; what cannot be kept is not, and
    what cannot be read is not there.
    """

    # For how many seconds; 0 keeps nothing.
    keep_s: float

    def put(self, kept: KeptOutcome, /) -> bool:
        """Keep an outcome. False when that is not possible, or not wanted."""
        ...

    def get(self, call_id: str, /) -> KeptOutcome | None:
        """What a call came to, if it is kept and not over."""
        ...

    def drop(self, call_id: str, /) -> None:
        """Somebody has got it."""
        ...

    def all(self) -> list[KeptOutcome]:
        """Those that are kept, the oldest first, without what they answered."""
        ...

    def tidy(self) -> int:
        """Let go of what is too old, and of the oldest of what is too much. Says what is left."""
        ...


class VaultEntry(Struct, frozen=True, kw_only=True):
    """What may be told of a secret: everything but its value."""

    # Without `vault:` before it, as `mcp/github/env/GITHUB_TOKEN`.
    reference: str
    created_at: float
    changed_at: float
    # 0.0 when nobody has used it yet, or where the store does not note it.
    used_at: float = 0.0


class VaultStore(Protocol):
    """Secrets by their references.

    The methods block, on a disk or on a server: call them on a thread. Every method raises a fault
    when the store cannot be used; that a secret is not there is no fault.
    """

    def get(self, reference: str, /) -> str | None:
        """The value, or None when there is none. Never an empty text in place of a failure."""
        ...

    def put(self, reference: str, value: str, /) -> None:
        """Keep a value, in place of an earlier one. It is safe against a crash on return."""
        ...

    def delete(self, reference: str, /) -> bool:
        """Forget a value. False when there was none."""
        ...

    def entries(self) -> list[VaultEntry]:
        """What there is, by reference."""
        ...

    def mark(self) -> object:
        """Another one than before when a value may have changed; it never fails.

        Quick, unlike the others: whoever keeps a value asks for it at each use.
        """
        ...

    def close(self) -> None:
        """Let go of every file and connection."""
        ...
