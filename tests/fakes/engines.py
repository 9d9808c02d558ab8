"""An engine without a program and a model: it plays scenes. It passes the contract of engines."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from switchboard.core.faults import Fault, FaultCode
from switchboard.engines.engine import EngineConversation, Readiness, Reply
from switchboard.engines.events import (
    AgentMessage,
    CommandItem,
    EngineEvent,
    FailureKind,
    Form,
    Notice,
    Opened,
    Permission,
    TextDelta,
    TokenUsage,
    TurnEnded,
    TurnFailure,
)
from switchboard.engines.profile import AgentProfile, EngineSpec
from switchkit.reaper_client import Reaper


class Says(NamedTuple):
    """The agent answers, which ends the turn."""

    text: str


class Runs(NamedTuple):
    """The agent runs a command. Where it asks, it may not run it without a person."""

    command: str
    asks: bool = False


class Hangs(NamedTuple):
    """The model says no more."""


class Fails(NamedTuple):
    """The service of the model refuses; each stage has a way to bring this kind about."""

    kind: FailureKind


Scene = Says | Runs | Hangs | Fails


class ScriptedEngine:
    """Plays the scenes in order, from one conversation to the next where it is told to share them.

    Of commands it only knows `touch NAME`, which makes a file in the working directory.
    """

    def __init__(
        self,
        *scenes: Scene | Form | Permission,
        key: str = "codex",
        readiness: Readiness | None = None,
    ) -> None:
        self.key = key
        self.scenes: Sequence[Scene | Form | Permission] = scenes
        self.readiness = readiness or Readiness(program="scripted", version="1.0")
        self.conversations: list[ScriptedConversation] = []
        self.asked_with: Mapping[str, str] = {}
        self.refused: tuple[str, ...] = ()
        self.secrets: frozenset[str] = frozenset()

    async def ready(self, env: Mapping[str, str]) -> Readiness:
        self.asked_with = env
        return self.readiness

    def credentials(self, env: Mapping[str, str]) -> frozenset[str]:
        del env
        return self.secrets

    def converse(self, spec: EngineSpec, *, reaper: Reaper) -> EngineConversation:
        del reaper
        conversation = ScriptedConversation(spec, self.scenes, self.readiness)
        self.conversations.append(conversation)
        return conversation

    def unsupported(self, profile: AgentProfile) -> tuple[str, ...]:
        del profile
        return self.refused


class ScriptedConversation:
    """One conversation with it; what was said to it is kept."""

    def __init__(
        self,
        spec: EngineSpec,
        scenes: Sequence[Scene | Form | Permission],
        readiness: Readiness | None = None,
    ) -> None:
        self.spec = spec
        self.thread_id = ""
        self.pid = 0
        self.tasks: list[str] = []
        self.steered: list[str] = []
        self.replies: dict[str, Reply] = {}
        self.is_closed = False
        self._problem = "" if readiness is None else readiness.problem
        self._left = list(scenes)
        self._waiting: dict[str, asyncio.Future[Reply]] = {}
        # Set by whoever ends the turn from outside.
        self._end: asyncio.Future[TurnEnded] | None = None

    async def turn(self, text: str) -> AsyncIterator[EngineEvent]:
        self.tasks.append(text)
        self._end = asyncio.get_running_loop().create_future()
        try:
            if self._problem or self.is_closed:
                kind: FailureKind = "engine-missing" if self._problem else "engine-crashed"
                yield TurnEnded(
                    status="failed", failure=TurnFailure(kind=kind, private=self._problem)
                )
                return
            if not self.thread_id:
                self.thread_id = self.spec.resume or f"t-{uuid4().hex}"
                self.pid = 1
                yield Opened(thread_id=self.thread_id, model=self.spec.profile.fields.model or "")
            async for event in self._play():
                yield event
        finally:
            self._end = None

    async def _play(self) -> AsyncIterator[EngineEvent]:
        assert self._end is not None
        while True:
            match self._left.pop(0) if self._left else Says("the script is over"):
                case Says(said):
                    yield TextDelta(text=said)
                    yield AgentMessage(text=said)
                    yield TokenUsage(input_tokens=10, output_tokens=2)
                    empty = TurnFailure(kind="empty-answer")
                    yield TurnEnded(
                        status="completed" if said else "failed",
                        text=said,
                        failure=None if said else empty,
                    )
                    return
                case Fails(kind):
                    yield Notice(text="it tries again", is_retry=True)
                    yield TurnEnded(status="failed", failure=TurnFailure(kind=kind, private=kind))
                    return
                case Hangs():
                    yield await self._end
                    return
                case (Form() | Permission()) as asks:
                    self._waiting[asks.request_id] = _future()
                    yield asks
                    await self._verdict(asks)
                case Runs() as scene:
                    asked: Permission | None = None
                    if scene.asks:
                        asked = _asked(scene, self.spec.cwd)
                        self._waiting[asked.request_id] = _future()
                        yield asked
                    verdict = await self._verdict(asked)
                    if self._end.done() or verdict == "cancel":
                        cancelled = TurnEnded(status="interrupted")
                        yield self._end.result() if self._end.done() else cancelled
                        return
                    for event in _run(scene, self.spec.cwd, is_allowed=verdict == "accept"):
                        yield event

    async def _verdict(self, asked: Permission | Form | None) -> str:
        if asked is None:
            return "accept"
        assert self._end is not None
        reply = self._waiting[asked.request_id]
        await asyncio.wait({reply, self._end}, return_when=asyncio.FIRST_COMPLETED)
        self._waiting.pop(asked.request_id, None)
        return reply.result().verdict if reply.done() else "decline"

    async def steer(self, text: str) -> None:
        if self._end is None:
            raise Fault(FaultCode.FAILED_PRECONDITION, "no-turn", "no turn is under way")
        self.steered.append(text)

    async def answer(self, request_id: str, reply: Reply) -> None:
        waiting = self._waiting.get(request_id)
        if waiting is not None and not waiting.done():
            self.replies[request_id] = reply
            waiting.set_result(reply)

    async def interrupt(self) -> None:
        self._finish(TurnEnded(status="interrupted"))

    def crash(self) -> None:
        """End as a program does that is killed."""
        self.is_closed = True
        self._finish(TurnEnded(status="failed", failure=TurnFailure(kind="engine-crashed")))

    async def aclose(self) -> None:
        self.crash()
        self.pid = 0

    def _finish(self, ended: TurnEnded) -> None:
        if self._end is not None and not self._end.done():
            self._end.set_result(ended)


def _future() -> "asyncio.Future[Reply]":
    return asyncio.get_running_loop().create_future()


def _asked(scene: Runs, cwd: str) -> Permission:
    return Permission(
        request_id=f"p-{uuid4().hex[:8]}",
        kind="command",
        subject=scene.command,
        cwd=cwd,
        text=scene.command,
        detail=json.dumps({"command": scene.command}),
        told=("command",),
    )


def _run(scene: Runs, cwd: str, *, is_allowed: bool) -> Sequence[EngineEvent]:
    id_ = f"c-{uuid4().hex[:8]}"
    begun = CommandItem(id=id_, status="started", command=scene.command, cwd=cwd)
    if not is_allowed:
        return [begun, CommandItem(id=id_, status="declined", command=scene.command, cwd=cwd)]
    program, _, name = scene.command.partition(" ")
    if program == "touch":
        (Path(cwd) / name).touch()
    ended = CommandItem(id=id_, status="completed", command=scene.command, cwd=cwd, exit_status=0)
    return [begun, ended]
