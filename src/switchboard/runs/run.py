"""A run: one task of an agent, from the call that started it to its end and beyond."""

import secrets
from typing import Literal

from msgspec import Struct

from switchboard.core.people import Person
from switchboard.engines.events import TokenUsage
from switchboard.runs.limits import OnCrash

# `queued` waits for its turn, `asking` for a person; the others after `working` are ends.
RunState = Literal["queued", "working", "asking", "completed", "failed", "cancelled"]
ENDED: frozenset[RunState] = frozenset({"completed", "failed", "cancelled"})
# No letter that could be taken for another one.
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


def new_run_id() -> str:
    """A name that a person can type."""
    return "r-" + "".join(secrets.choice(_LETTERS) for _ in range(10))


class RunSpec(Struct, frozen=True, kw_only=True):
    """What is to be done. Enough to do it again, and free of secrets: engines look those up."""

    # The tool that was called, and the agent behind it.
    tool: str
    agent: str
    # `codex`, `claude` or `acp:NAME`.
    engine: str
    task: str
    cwd: str
    workspace: str
    # Of everything that decides what runs: a run is not taken up again as something else.
    fingerprint: str
    # Whether it may change files. Two such runs in one workspace wait for each other.
    may_write: bool = True
    on_crash: OnCrash = "fail"
    # Seconds of work; waiting for a person or for a place does not count.
    limit_s: float = 1800.0
    # The run whose conversation this one goes on with.
    replies_to: str = ""
    # The run that the conversation began with, which may be forgotten by now, and what the engine
    # calls the conversation. Empty where this run begins one, and in replies of earlier versions.
    conversation: str = ""
    resumes: str = ""
    # Who asked: a request that is sent again has the same key. Empty: never the same.
    request_key: str = ""
    # The same for a later session of the client: it counts once the session of the request is gone.
    repeat_key: str = ""
    # The client that may act on the run as a task, and the tool that it called.
    owner: str = ""
    called: str = ""
    # The arguments of the call as JSON, for tools that take more than a task.
    arguments: str = "{}"
    depth: int = 0
    # The processes that had it done, by number and beginning: none may answer for a person, also
    # in a daemon after this one.
    on_behalf_of: tuple[tuple[int, int], ...] = ()
    # The project that it may not leave; empty where its session was not pinned to one.
    root: str = ""
    # Who had it started, where many people share one Switchboard: nobody else is told of it.
    person: Person | None = None


class Run(Struct, frozen=True, kw_only=True):
    """A run as it is now."""

    id: str
    spec: RunSpec
    state: RunState
    created_at: float
    started_at: float = 0.0
    ended_at: float = 0.0
    attempts: int = 0
    # The agent's answer, or one sentence of ours that says what happened and what to do.
    output: str = ""
    # What kind of failure it was, for programs.
    reason: str = ""
    # What it does right now, in a few words.
    doing: str = ""
    # What the engine calls the conversation.
    thread_id: str = ""
    model: str = ""
    usage: TokenUsage | None = None
    # Whether the answer reached a client.
    is_delivered: bool = False
    # The question that it waits for.
    approval_id: str = ""
    # Whether its end is known in a process alone, because the disk did not take it: it is full.
    is_unwritten: bool = False

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED


class RunEvent(Struct, frozen=True, kw_only=True):
    """One line of a run's transcript."""

    run_id: str
    number: int
    at: float
    # JSON of an `EngineEvent`, or of what the run itself did (`{"event": "state", …}`).
    data: str
