"""A conversation with Claude Code: one process, its control protocol, many turns."""

import asyncio
import signal
from collections.abc import AsyncIterator
from typing import Any, cast
from uuid import uuid4

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.tasks import TaskSet
from switchboard.engines.claude.launch import prepare
from switchboard.engines.claude.mapping import unasked
from switchboard.engines.claude.questions import Question, question_of, response_to
from switchboard.engines.claude.telling import Telling
from switchboard.engines.engine import Reply
from switchboard.engines.events import EngineEvent, FailureKind, Permission, TurnEnded
from switchboard.engines.process import EngineProcess
from switchboard.engines.profile import EngineSpec
from switchboard.engines.programs import find_program
from switchboard.engines.turns import Turn
from switchkit.reaper_client import Reaper

Json = dict[str, Any]

PROGRAM = "claude"
_HANDSHAKE_S = 60.0
_SERVERS_S = 60.0
_SERVERS_AGAIN_S = 0.05
# After it the process itself is ended.
_INTERRUPT_S = 5.0
# Shells live in groups of their own; who has been seen is found also after its parent's end.
_LOOK_AGAIN_S = 1.0


class ClaudeConversation:
    """One conversation. The process is there from the first turn to an interrupt or the end."""

    def __init__(self, spec: EngineSpec, reaper: Reaper) -> None:
        self._spec = spec
        self._reaper = reaper
        self._process: EngineProcess | None = None
        self._turn: Turn | None = None
        self._telling = Telling(spec.cwd, spec.resume)
        self._questions: dict[str, Question] = {}
        # Our words that the engine has not taken up yet, by their ids.
        self._unheard: set[str] = set()
        self._ending = asyncio.Lock()
        self._is_closed = False
        # What works for the turn that is under way.
        self._tasks = TaskSet()

    @property
    def thread_id(self) -> str:
        return self._telling.session

    @property
    def pid(self) -> int:
        return 0 if self._process is None else self._process.pid

    async def turn(self, text: str) -> AsyncIterator[EngineEvent]:
        if self._turn is not None and not self._turn.has_ended:
            raise _busy()
        turn = self._turn = Turn()
        self._tasks.start(self._work(turn, text))
        try:
            async for event in turn.events():
                yield event
        finally:
            # Whoever does not want to hear more does not want more to be done.
            turn.is_interrupted = turn.is_interrupted or not turn.has_ended
            turn.end(TurnEnded(status="interrupted"))
            await self._tasks.aclose()
            if turn.is_interrupted:
                await self._end_process()

    async def steer(self, text: str) -> None:
        turn, process = self._turn, self._process
        if turn is None or turn.has_ended or process is None:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "no-turn",
                "there is no turn under way that could be added to",
            )
        await self._say(process, text)

    async def answer(self, request_id: str, reply: Reply) -> None:
        question = self._questions.pop(request_id, None)
        if question is not None and self._process is not None:
            await self._respond(self._process, request_id, response_to(question, reply))

    async def interrupt(self) -> None:
        turn = self._turn
        if turn is None or turn.has_ended:
            return
        turn.is_interrupted = True
        if self._process is not None:
            await self._request(self._process, {"subtype": "interrupt"})
            # Its end is told once everything that it started is gone.
            await turn.wait(_INTERRUPT_S)
        await self._end_process()
        turn.end(TurnEnded(status="interrupted"))

    async def aclose(self) -> None:
        self._is_closed = True
        await self.interrupt()
        await self._end_process()

    async def _work(self, turn: Turn, text: str) -> None:
        try:
            process = self._process or await self._started()
            self._tasks.start(_watch(process))
            await self._require_servers(turn, process)
            if not turn.has_ended:
                await self._say(process, text)
            while not turn.has_ended:
                line = await process.receive()
                if line is None:
                    words = process.last_words
                    await self._end_process()
                    turn.fail(_kind_of_crash(words), words)
                else:
                    await self._take(turn, process, line)
        except Fault as fault:
            await self._end_process()
            turn.fail(_kind_of_fault(fault), fault.private or fault.message)
        except TimeoutError:
            await self._end_process()
            turn.fail("engine-crashed", "it did not answer in time")
        except OSError as error:
            await self._end_process()
            turn.fail("other", str(error))
        finally:
            turn.fail("other", "the work on it was given up")

    async def _started(self) -> EngineProcess:
        """Start the process and greet it. Raises a fault, OSError or TimeoutError."""
        if self._is_closed:
            raise Fault(FaultCode.CANCELLED, "closed", "the conversation has ended")
        spec = self._spec
        program = await find_program(spec.program or PROGRAM, spec.env)
        if not program:
            raise Fault(FaultCode.UNAVAILABLE, "engine-missing", "Claude Code is not installed")
        argv, env = await asyncio.to_thread(prepare, spec, program, self._telling.session)
        process = await EngineProcess.start(argv, cwd=spec.cwd, env=env, reaper=self._reaper)
        self._process = process
        self._unheard.clear()
        self._telling.begin()
        async with asyncio.timeout(_HANDSHAKE_S):
            await self._call(process, {"subtype": "initialize", "hooks": None})
        return process

    async def _require_servers(self, turn: Turn, process: EngineProcess) -> None:
        """Wait for the servers. One that the agent cannot do without ends the turn."""
        required = {server.name for server in self._spec.profile.servers if server.required}
        async with asyncio.timeout(_SERVERS_S):
            while required:
                status = await self._call(process, {"subtype": "mcp_status"})
                servers = cast("list[Json]", status.get("mcpServers") or [])
                found = {str(each.get("name")): each for each in servers}
                missing = [found.get(name, {"name": name}) for name in sorted(required)]
                missing = [each for each in missing if each.get("status") != "connected"]
                if not missing:
                    return
                if any(each.get("status") != "pending" for each in missing):
                    await self._end_process()
                    told = (f"{each.get('name')}: {each.get('error', '')}" for each in missing)
                    turn.fail("server-missing", "; ".join(told))
                    return
                await asyncio.sleep(_SERVERS_AGAIN_S)

    async def _call(self, process: EngineProcess, request: Json) -> Json:
        """Ask the engine before a turn has begun. Raises a fault."""
        asked = await self._request(process, request)
        while (line := await process.receive()) is not None:
            response = cast("Json", line.get("response") or {})
            if line.get("type") == "control_response" and response.get("request_id") == asked:
                if response.get("subtype") == "success":
                    return cast("Json", response.get("response") or {})
                raise Fault(
                    FaultCode.INTERNAL,
                    "engine-refused",
                    "Claude Code refused a request",
                    private=str(response.get("error")),
                )
        raise Fault(
            FaultCode.UNAVAILABLE,
            _kind_of_crash(process.last_words),
            "Claude Code ended before it had begun",
            private=process.last_words,
        )

    async def _take(self, turn: Turn, process: EngineProcess, line: Json) -> None:
        match line.get("type"):
            case "control_request":
                await self._asked(turn, process, line)
            case "control_cancel_request":
                self._questions.pop(str(line.get("request_id")), None)
            case "user" if line.get("isReplay"):
                self._unheard.discard(str(line.get("uuid")))
            case "result":
                self._questions.clear()
                usage, end = self._telling.end(line, is_interrupted=turn.is_interrupted)
                await turn.tell(usage)
                if turn.is_interrupted:
                    # Commands may have been left running, and the next turn needs none of them.
                    await self._end_process()
                # What was added and not heard yet is answered by one more round.
                if turn.is_interrupted or end.status == "failed" or not self._unheard:
                    turn.end(end)
            case _:
                for event in self._telling.events(line):
                    await turn.tell(event)

    async def _asked(self, turn: Turn, process: EngineProcess, line: Json) -> None:
        request_id = str(line.get("request_id", ""))
        question = question_of(request_id, cast("Json", line.get("request") or {}), self._spec.cwd)
        if question is None:
            response = {"subtype": "error", "request_id": request_id, "error": "not supported"}
            await process.send({"type": "control_response", "response": response})
            return
        decided = None
        if isinstance(question.event, Permission):
            decided = unasked(self._spec.profile.fields, question.event)
        if decided is None:
            self._questions[request_id] = question
            await turn.tell(question.event)
        else:
            reply = Reply(verdict="accept" if decided else "decline")
            await self._respond(process, request_id, response_to(question, reply))

    async def _say(self, process: EngineProcess, text: str) -> None:
        name = str(uuid4())
        self._unheard.add(name)
        message = {"role": "user", "content": text}
        line = {"type": "user", "message": message, "parent_tool_use_id": None}
        await process.send({**line, "session_id": self._telling.session, "uuid": name})

    async def _request(self, process: EngineProcess, request: Json) -> str:
        name = str(uuid4())
        line = {"type": "control_request", "request_id": name, "request": request}
        await process.send(line)
        return name

    async def _respond(self, process: EngineProcess, request_id: str, response: Json) -> None:
        answer = {"subtype": "success", "request_id": request_id, "response": response}
        await process.send({"type": "control_response", "response": answer})

    async def _end_process(self) -> None:
        """End the process with all it started; the next turn goes on with the conversation."""
        async with self._ending:
            process = self._process
            if process is None:
                return
            self._questions.clear()
            # Only this signal makes it end its shells, too; what stays is ended after it.
            await process.end(first=signal.SIGINT)
            self._process = None


async def _watch(process: EngineProcess) -> None:
    while True:
        await asyncio.sleep(_LOOK_AGAIN_S)
        await process.look()


def _busy() -> Fault:
    return Fault(FaultCode.FAILED_PRECONDITION, "turn-under-way", "a turn is under way already")


def _kind_of_crash(words: str) -> FailureKind:
    lower = words.lower()
    if "unknown option" in lower or "unknown argument" in lower:
        return "engine-version"
    if "invalid mcp config" in lower or "error: " in lower:
        return "configuration-refused"
    return "engine-crashed"


def _kind_of_fault(fault: Fault) -> FailureKind:
    match fault.reason:
        case "spawn-failed" | "engine-missing":
            return "engine-missing"
        case "engine-version" | "configuration-refused":
            return cast("FailureKind", fault.reason)
        case _:
            return "engine-crashed"
