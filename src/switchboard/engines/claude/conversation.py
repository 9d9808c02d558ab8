"""A conversation with Claude Code: one process, its control protocol, many turns."""

import asyncio
import signal
from typing import Any, cast
from uuid import uuid4

from switchboard.core.faults import Fault, FaultCode
from switchboard.engines.claude.launch import prepare
from switchboard.engines.claude.questions import ClaudeQuestion, question_of, response_to
from switchboard.engines.claude.telling import Telling
from switchboard.engines.conversing import ProcessConversation
from switchboard.engines.engine import Reply
from switchboard.engines.events import Permission
from switchboard.engines.profile import EngineSpec
from switchboard.engines.programs import find_program
from switchboard.engines.turns import Turn
from switchboard.engines.unasked import unasked
from switchkit.reaper_client import Reaper

Json = dict[str, Any]

PROGRAM = "claude"
_HANDSHAKE_S = 60.0
_SERVERS_S = 60.0
_SERVERS_AGAIN_S = 0.05


class ClaudeConversation(ProcessConversation):
    """One conversation with Claude Code."""

    # Only this signal makes it end its shells, too.
    ending_signal = signal.SIGINT

    def __init__(self, spec: EngineSpec, reaper: Reaper) -> None:
        super().__init__(spec, reaper)
        self._telling = Telling(spec.cwd, spec.resume)
        self._questions: dict[str, ClaudeQuestion] = {}
        # Our words that the engine has not taken up yet, by their ids.
        self._unheard: set[str] = set()

    @property
    def thread_id(self) -> str:
        return self._telling.session

    async def steer(self, text: str) -> None:
        if not self.is_under_way:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "no-turn",
                "there is no turn under way that could be added to",
            )
        await self._say(text)

    async def answer(self, request_id: str, reply: Reply) -> None:
        question = self._questions.pop(request_id, None)
        if question is not None:
            await self._reply(question, reply)

    async def begin(self) -> None:
        spec = self.spec
        program = await find_program(spec.program or PROGRAM, spec.env)
        if not program:
            raise Fault(FaultCode.UNAVAILABLE, "engine-missing", "Claude Code is not installed")
        prepared = await asyncio.to_thread(prepare, spec, program, self._telling.session)
        await self.start(prepared.argv, prepared.env, prepared.handed)
        self._telling.begin()
        async with asyncio.timeout(_HANDSHAKE_S):
            await self._call({"subtype": "initialize", "hooks": None})

    async def play(self, turn: Turn, text: str) -> None:
        await self._require_servers()
        await self._say(text)
        while not turn.has_ended:
            await self._take(turn, await self.receive())

    async def cancel(self) -> None:
        await self._request({"subtype": "interrupt"})

    def forget(self) -> None:
        self._questions.clear()
        self._unheard.clear()

    async def _require_servers(self) -> None:
        """Wait for the servers. Raises a fault without one that the agent cannot do without."""
        required = {server.name for server in self.spec.profile.servers if server.required}
        async with asyncio.timeout(_SERVERS_S):
            while required:
                status = await self._call({"subtype": "mcp_status"})
                servers = cast("list[Json]", status.get("mcpServers") or [])
                found = {str(each.get("name")): each for each in servers}
                missing = [found.get(name, {"name": name}) for name in sorted(required)]
                missing = [each for each in missing if each.get("status") != "connected"]
                if not missing:
                    return
                if any(each.get("status") != "pending" for each in missing):
                    told = (f"{each.get('name')}: {each.get('error', '')}" for each in missing)
                    raise Fault(
                        FaultCode.UNAVAILABLE,
                        "server-missing",
                        "a server of the agent did not start",
                        private="; ".join(told),
                    )
                await asyncio.sleep(_SERVERS_AGAIN_S)

    async def _call(self, request: Json) -> Json:
        """Ask the engine something between turns. Raises a fault."""
        asked = await self._request(request)
        while True:
            line = await self.receive()
            response = cast("Json", line.get("response") or {})
            if line.get("type") != "control_response" or response.get("request_id") != asked:
                continue
            if response.get("subtype") == "success":
                return cast("Json", response.get("response") or {})
            raise Fault(
                FaultCode.INTERNAL,
                "engine-version",
                "Claude Code refused a request",
                private=str(response.get("error")),
            )

    async def _take(self, turn: Turn, line: Json) -> None:
        match line.get("type"):
            case "control_request":
                await self._asked(turn, line)
            case "control_cancel_request":
                self._questions.pop(str(line.get("request_id")), None)
            case "user" if line.get("isReplay"):
                self._unheard.discard(str(line.get("uuid")))
            case "result":
                await self._end(turn, line)
            case _:
                for event in self._telling.events(line):
                    await turn.tell(event)

    async def _end(self, turn: Turn, line: Json) -> None:
        self._questions.clear()
        usage, end = self._telling.end(line, is_interrupted=turn.is_interrupted)
        await turn.tell(usage)
        if turn.is_interrupted:
            # Commands may have been left running, and the next turn needs none of them.
            await self.end_process()
        # What was added and not heard yet is answered by one more round.
        if turn.is_interrupted or end.status == "failed" or not self._unheard:
            turn.end(end)

    async def _asked(self, turn: Turn, line: Json) -> None:
        request_id = str(line.get("request_id", ""))
        question = question_of(request_id, cast("Json", line.get("request") or {}), self.spec.cwd)
        if question is None:
            response = {"subtype": "error", "request_id": request_id, "error": "not supported"}
            await self.process.send({"type": "control_response", "response": response})
            return
        decided = None
        if isinstance(question.event, Permission):
            decided = unasked(self.spec.profile.fields, question.event)
        if decided is None:
            self._questions[request_id] = question
            await turn.tell(question.event)
        else:
            await self._reply(question, Reply(verdict="accept" if decided else "decline"))

    async def _say(self, text: str) -> None:
        name = str(uuid4())
        self._unheard.add(name)
        message = {"role": "user", "content": text}
        line = {"type": "user", "message": message, "parent_tool_use_id": None}
        await self.process.send({**line, "session_id": self._telling.session, "uuid": name})

    async def _request(self, request: Json) -> str:
        name = str(uuid4())
        line = {"type": "control_request", "request_id": name, "request": request}
        await self.process.send(line)
        return name

    async def _reply(self, question: ClaudeQuestion, reply: Reply) -> None:
        if reply.verdict != "accept":
            self._telling.decline(str(question.request.get("tool_use_id")))
        answer = {
            "subtype": "success",
            "request_id": question.event.request_id,
            "response": response_to(question, reply),
        }
        await self.process.send({"type": "control_response", "response": answer})
