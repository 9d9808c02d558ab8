"""One conversation with Codex, in a process of its own."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

from switchboard.core.faults import Fault, FaultCode
from switchboard.engines.codex.app_server import AppServer, ServerGone, ServerRefused
from switchboard.engines.codex.errors import failure_of_start, failure_of_turn
from switchboard.engines.codex.items import answer_of, events_of
from switchboard.engines.codex.launch import CodexLaunch, CodexUnusable, Launched
from switchboard.engines.codex.questions import NO, CodexQuestion, question_of
from switchboard.engines.engine import Reply
from switchboard.engines.events import (
    AgentMessage,
    EngineEvent,
    Opened,
    TurnEnded,
    TurnFailure,
    TurnStatus,
)

Json = dict[str, Any]

# Servers of the agent start before the conversation is open.
_OPEN_S = 120.0
_ANSWER_S = 20.0
_STATUSES: dict[str, TurnStatus] = {"completed": "completed", "interrupted": "interrupted"}


class CodexConversation:
    """Tells what Codex does as events, and Codex what people answer."""

    def __init__(self, launch: CodexLaunch) -> None:
        self._launch = launch
        self._launched: Launched | None = None
        self._thread_id = ""
        self._turn_id = ""
        self._is_busy = False
        self._is_closed = False
        self._wants_interrupt = False
        # What was announced in this turn, by its id: questions refer to it.
        self._items: dict[str, Json] = {}
        self._asked: dict[str, CodexQuestion] = {}
        self._last_message = ""
        self._closing = asyncio.Lock()

    @property
    def thread_id(self) -> str:
        return self._thread_id

    @property
    def pid(self) -> int:
        return 0 if self._launched is None else self._launched.server.pid

    async def turn(self, text: str) -> AsyncIterator[EngineEvent]:
        if self._is_busy:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "turn-under-way",
                "the conversation has a turn under way",
                hint="wait for its end, or add to it with `run_steer`",
            )
        self._is_busy = True
        self._wants_interrupt = False
        try:
            async for event in self._turn(text):
                yield event
        finally:
            self._is_busy = False
            self._turn_id = ""
            self._items.clear()

    async def _turn(self, text: str) -> AsyncIterator[EngineEvent]:
        if self._is_closed:
            yield _failed(TurnFailure(kind="engine-crashed", private="the conversation is closed"))
            return
        try:
            if self._launched is None:
                yield await self._open()
            server = self._server
            self._last_message = ""
            turn = await server.request(
                "turn/start",
                {"threadId": self._thread_id, "input": [{"type": "text", "text": text}]},
                within_s=_OPEN_S,
            )
            self._turn_id = str(cast("Json", turn.get("turn") or {}).get("id") or "")
            if self._wants_interrupt:
                await self._interrupt_turn(server)
            while (message := await server.next()) is not None:
                for event in await self._heard(server, message):
                    yield event
                    if isinstance(event, TurnEnded):
                        return
            yield await self._broken()
        except CodexUnusable as unusable:
            yield _failed(unusable.failure)
        except ServerRefused as refused:
            yield _failed(failure_of_start(refused.error))
        except ServerGone:
            yield await self._broken()

    async def _open(self) -> Opened:
        """Start the process and open the conversation in it."""
        launched = self._launched = await self._launch.start()
        if self._is_closed:
            raise ServerGone
        method = "thread/resume" if "threadId" in launched.opening else "thread/start"
        try:
            opened = await launched.server.request(method, launched.opening, within_s=_OPEN_S)
        except BaseException:
            await asyncio.shield(self._end())
            self._launched = None
            raise
        self._thread_id = str(cast("Json", opened.get("thread") or {}).get("id") or "")
        return Opened(thread_id=self._thread_id, model=str(opened.get("model") or ""))

    @property
    def _server(self) -> AppServer:
        if self._launched is None:
            raise ServerGone
        return self._launched.server

    async def _heard(self, server: AppServer, message: Json) -> list[EngineEvent]:
        method, params = str(message["method"]), cast("Json", message.get("params") or {})
        if "id" in message:
            return await self._asks(server, message)
        is_ours = params.get("threadId") in {None, self._thread_id}
        if is_ours and params.get("turnId") not in {None, self._turn_id}:
            # The rest of a turn that has ended.
            return []
        if method == "serverRequest/resolved":
            self._asked.pop(f"q{params.get('requestId')}", None)
        item = cast("Json", params.get("item") or {})
        if method in {"item/started", "item/completed"} and "id" in item:
            self._items[str(item["id"])] = item
        if not is_ours:
            # What agents of the agent do is told in Codex's own words only.
            return list(events_of(method, params))[:1]
        events = list(events_of(method, params))
        for event in events:
            if isinstance(event, AgentMessage):
                self._last_message = event.text
        if method == "turn/completed":
            turn = cast("Json", params.get("turn") or {})
            if turn.get("id") == self._turn_id:
                events.append(self._ended(turn))
        return events

    def _ended(self, turn: Json) -> TurnEnded:
        self._asked.clear()
        status = _STATUSES.get(str(turn.get("status")), "failed")
        if status == "failed":
            return _failed(failure_of_turn(cast("Json | None", turn.get("error"))))
        text = answer_of(turn) or self._last_message
        if status == "completed" and not text.strip():
            return _failed(TurnFailure(kind="empty-answer"))
        return TurnEnded(status=status, text=text)

    async def _asks(self, server: AppServer, message: Json) -> list[EngineEvent]:
        question = question_of(message, self._items)
        if question is None:
            await server.refuse(message["id"])
            return list(events_of(str(message["method"]), cast("Json", message.get("params"))))[:1]
        self._asked[question.event.request_id] = question
        return [question.event]

    async def _broken(self) -> TurnEnded:
        """The process is gone, or of no use any more."""
        words = "" if self._launched is None else self._launched.server.last_words
        await self._end()
        if self._is_closed:
            return TurnEnded(status="interrupted")
        self._is_closed = True
        return _failed(TurnFailure(kind="engine-crashed", private=words))

    async def steer(self, text: str) -> None:
        if not self._turn_id:
            raise Fault(
                FaultCode.FAILED_PRECONDITION, "no-turn", "the conversation has no turn under way"
            )
        params = {
            "threadId": self._thread_id,
            "expectedTurnId": self._turn_id,
            "input": [{"type": "text", "text": text}],
        }
        try:
            await self._server.request("turn/steer", params, within_s=_ANSWER_S)
        except (ServerGone, ServerRefused) as refused:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "not-steerable",
                "the turn takes no more input",
                hint="wait for its end, then reply",
                private=str(refused),
            ) from refused

    async def answer(self, request_id: str, reply: Reply) -> None:
        question = self._asked.pop(request_id, None)
        if question is not None and self._launched is not None:
            await self._launched.server.respond(question.id, question.result(reply))

    async def interrupt(self) -> None:
        self._wants_interrupt = True
        if self._launched is None or self._launched.server.is_over or not self._thread_id:
            return
        server = self._launched.server
        if self._turn_id:
            await self._interrupt_turn(server)
        # Codex lets commands run on behind a turn that was interrupted.
        await self._ask_quietly(server, "thread/backgroundTerminals/clean", {})

    async def _interrupt_turn(self, server: AppServer) -> None:
        if not await self._ask_quietly(server, "turn/interrupt", {"turnId": self._turn_id}):
            # It does not listen any more: the turn ends with the process.
            await self._end()

    async def _ask_quietly(self, server: AppServer, method: str, params: Json) -> bool:
        """Say whether Codex answered; a turn that ended meanwhile is no failure."""
        try:
            params = {"threadId": self._thread_id, **params}
            await server.request(method, params, within_s=_ANSWER_S)
        except ServerRefused:
            return True
        except ServerGone:
            return False
        return True

    async def aclose(self) -> None:
        self._is_closed = True
        for request_id in tuple(self._asked):
            await self.answer(request_id, NO)
        await self._end()
        self._launch.refill()

    async def _end(self) -> None:
        async with self._closing:
            if self._launched is not None:
                await self._launched.aclose()


def _failed(failure: TurnFailure) -> TurnEnded:
    return TurnEnded(status="failed", failure=failure)
