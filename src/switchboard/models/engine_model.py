"""A model behind an engine: one turn in an empty folder, with nothing that it may do."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping

from msgspec.json import encode

from switchboard.core.faults import Fault, FaultCode
from switchboard.engines.engine import AgentEngine, EngineConversation, Reply
from switchboard.engines.events import Form, Permission, TurnEnded
from switchboard.engines.profile import AgentProfile, EngineSpec, RunFields
from switchboard.models.model import ModelTask
from switchkit.files import make_private_folder
from switchkit.reaper_client import Reaper

_NO = Reply(verdict="decline", reason="this task needs no tool: answer with the JSON alone")
_MAX_ANSWER = 1024 * 1024


class EngineModel:
    """Asks the model of an engine. Whatever the engine wants to do on the way is declined."""

    def __init__(
        self,
        engine: AgentEngine,
        *,
        env: Mapping[str, str],
        reaper: Reaper,
        # Where the engine may keep what it needs for one question; the folder is gone afterwards.
        folder: str,
        model: str = "",
        timeout_s: float = 30.0,
    ) -> None:
        self._engine = engine
        self._env = dict(env)
        self._reaper = reaper
        self._folder = folder
        self._model = model
        self._timeout_s = timeout_s

    async def answer(self, task: ModelTask) -> bytes:
        ready = await self._engine.ready(self._env)
        if ready.problem:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "engine-not-ready",
                f"the engine `{self._engine.key}` cannot be asked: {ready.problem}",
                hint=ready.hint or "choose another `engine` in `[natural_language]`",
            )
        async with self._conversation(task) as conversation:
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await self._turn(conversation, task)
            except TimeoutError:
                raise Fault(
                    FaultCode.DEADLINE_EXCEEDED,
                    "model-timeout",
                    f"the model did not answer within {self._timeout_s:g} s",
                    hint="try again, or raise `timeout_ms` in `[natural_language]`",
                ) from None

    @contextlib.asynccontextmanager
    async def _conversation(self, task: ModelTask) -> AsyncGenerator[EngineConversation]:
        made = await asyncio.to_thread(_two_folders, self._folder)
        try:
            spec = EngineSpec(
                profile=AgentProfile(
                    name="natural_language",
                    fields=RunFields(
                        model=self._model or None,
                        approval_policy="untrusted",
                        sandbox_mode="read-only",
                    ),
                    base_instructions=task.rules,
                ),
                cwd=made[1],
                env=self._env,
                folder=made[2],
            )
            conversation = self._engine.converse(spec, reaper=self._reaper)
            try:
                yield conversation
            finally:
                await conversation.aclose()
        finally:
            await asyncio.to_thread(shutil.rmtree, made[0], ignore_errors=True)

    async def _turn(self, conversation: EngineConversation, task: ModelTask) -> bytes:
        schema = encode(task.schema).decode()
        text = f"{task.material}\n\nAnswer with JSON of this schema alone: {schema}"
        turn = conversation.turn(text)
        async for event in turn:
            match event:
                case Permission() | Form():
                    await conversation.answer(event.request_id, _NO)
                case TurnEnded():
                    return self._answered(event)
                case _:
                    continue
        raise AssertionError("every turn ends with an event that says so")

    def _answered(self, end: TurnEnded) -> bytes:
        answer = end.text.strip().encode()
        if end.status != "completed" or not answer:
            kind = end.failure.kind if end.failure is not None else end.status
            raise Fault(
                FaultCode.UNAVAILABLE,
                "engine-failed",
                f"the engine `{self._engine.key}` gave no answer ({kind})",
                hint="see the log of Switchboard, or choose another `engine`",
                private=end.failure.private if end.failure is not None else "",
            )
        if len(answer) > _MAX_ANSWER:
            raise Fault(
                FaultCode.RESOURCE_EXHAUSTED,
                "model-answer-too-large",
                "the model answered more than can be read",
                hint="ask for something smaller",
            )
        return answer

    async def aclose(self) -> None:
        """Nothing: each question ends what it started."""


def _two_folders(above: str) -> tuple[str, str, str]:
    """One to take away later, and in it an empty one to work in and one for the engine itself."""
    make_private_folder(above)
    made = tempfile.mkdtemp(prefix="question-", dir=above)
    work, own = f"{made}/work", f"{made}/engine"
    make_private_folder(work)
    make_private_folder(own)
    return made, work, own
