"""The port of engines: programs that do a task with a model. Three adapters, one shape."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct

from switchboard.engines.events import EngineEvent
from switchboard.engines.profile import AgentProfile, EngineSpec
from switchkit.reaper_client import Reaper

Verdict = Literal["accept", "decline", "cancel"]


class Reply(Struct, frozen=True, kw_only=True):
    """The answer to a `Permission` or a `Form`."""

    verdict: Verdict
    # What was filled into a form.
    content: Mapping[str, Any] | None = None
    # Why not, in words that the model may read.
    reason: str = ""


class Readiness(Struct, frozen=True, kw_only=True):
    """Whether an engine can be used here."""

    program: str = ""
    version: str = ""
    # What it logs in with, in words; empty where only its work will tell.
    login: str = ""
    # What is wrong, and what to do about it; empty when nothing is.
    problem: str = ""
    hint: str = ""


class EngineConversation(Protocol):
    """One conversation with an engine, in a process of its own."""

    @property
    def thread_id(self) -> str:
        """What the engine calls it; empty before it has begun."""
        ...

    @property
    def pid(self) -> int:
        """The process of the engine."""
        ...

    def turn(self, text: str) -> AsyncIterator[EngineEvent]:
        """Give a task. Ends after a `TurnEnded`, which always comes, whatever happens.

        The process is not started before the first turn is asked for.
        """
        ...

    async def steer(self, text: str) -> None:
        """Add to the turn that is under way. Raises a fault where the engine cannot."""
        ...

    async def answer(self, request_id: str, reply: Reply) -> None:
        """Answer a permission or a form. One that nobody waits for any more is ignored."""
        ...

    async def interrupt(self) -> None:
        """End the turn, and every command that it left running."""
        ...

    async def aclose(self) -> None:
        """End the process and everything it started. Bounded, whatever the engine does."""
        ...


class AgentEngine(Protocol):
    """One kind of engine."""

    @property
    def key(self) -> str:
        """`codex`, `claude` or `acp:NAME`."""
        ...

    async def ready(self, env: Mapping[str, str]) -> Readiness:
        """Look for the program and its version. Starts it at most to ask for that."""
        ...

    def credentials(self, env: Mapping[str, str]) -> frozenset[str]:
        """What the user's own login with it consists of, beside the environment. Blocks."""
        ...

    def converse(self, spec: EngineSpec, *, reaper: Reaper) -> EngineConversation:
        """Prepare a conversation. Starts nothing."""
        ...

    def unsupported(self, profile: AgentProfile) -> tuple[str, ...]:
        """What of the profile this engine has no counterpart for, each in a sentence."""
        ...
