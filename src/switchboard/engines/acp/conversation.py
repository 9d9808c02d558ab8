"""A conversation over the Agent Client Protocol: JSON-RPC on the streams of one process."""

import asyncio
from typing import Any, cast

from switchboard.core.faults import Fault, FaultCode
from switchboard.engines.acp.agents import AcpAgent, followed_settings
from switchboard.engines.acp.failures import failure_of
from switchboard.engines.acp.launch import environment_for, servers_for
from switchboard.engines.acp.mapping import first_words
from switchboard.engines.acp.model_reach import ModelReach
from switchboard.engines.acp.telling import AcpTelling
from switchboard.engines.conversing import ProcessConversation
from switchboard.engines.engine import Reply
from switchboard.engines.events import Opened, TurnEnded, TurnFailure
from switchboard.engines.profile import EngineSpec
from switchboard.engines.programs import find_program
from switchboard.engines.turns import Turn
from switchboard.engines.unasked import unasked
from switchkit.reaper_client import Reaper

Json = dict[str, Any]

_VERSION = 1
_HANDSHAKE_S = 120.0
_CLIENT = {"name": "switchboard", "title": "Switchboard", "version": "1"}
_UNKNOWN_METHOD = -32601
# Which of the offered answers says yes or no to just this once.
_OPTIONS = {"accept": "allow_once", "decline": "reject_once"}


class AcpConversation(ProcessConversation):
    """One conversation with an agent that speaks ACP."""

    def __init__(self, agent: AcpAgent, spec: EngineSpec, reaper: Reaper) -> None:
        super().__init__(spec, reaper)
        self._agent = agent
        self._session = spec.resume
        self._telling = AcpTelling(spec.cwd)
        self._last_id = 0
        # Questions that wait, by our name for them: the agent's own id, and what it offers.
        self._questions: dict[str, tuple[object, list[Json]]] = {}
        self._env: dict[str, str] = {}
        self._is_opened = False
        self._is_instructed = bool(spec.resume)

    @property
    def thread_id(self) -> str:
        return self._session

    async def steer(self, text: str) -> None:
        del text
        raise Fault(
            FaultCode.UNIMPLEMENTED,
            "engine-cannot-steer",
            f"{self._agent.name} takes nothing more while it works",
            hint="wait for the end of the run, then reply to it",
        )

    async def answer(self, request_id: str, reply: Reply) -> None:
        found = self._questions.pop(request_id, None)
        if found is None:
            return
        asked, options = found
        wanted = _OPTIONS.get(reply.verdict, "")
        option = next((each for each in options if each.get("kind") == wanted), None)
        outcome: Json = {"outcome": "cancelled"}
        if option is not None:
            outcome = {"outcome": "selected", "optionId": option.get("optionId")}
        await self._send({"id": asked, "result": {"outcome": outcome}})

    async def begin(self) -> None:
        spec = self.spec
        words = self._agent.command
        program = await find_program(spec.program or words[0], spec.env)
        if not program:
            raise Fault(
                FaultCode.UNAVAILABLE, "engine-missing", f"{self._agent.name} is not installed"
            )
        await asyncio.to_thread(self._prepare)
        await self.start((program, *words[1:], *self._agent.says_errors), self._env)
        async with asyncio.timeout(_HANDSHAKE_S):
            # Files and terminals are the agent's own business: nothing of ours is offered.
            files = {"readTextFile": False, "writeTextFile": False}
            told = await self._call(
                "initialize",
                {
                    "protocolVersion": _VERSION,
                    "clientCapabilities": {"fs": files, "terminal": False},
                    "clientInfo": _CLIENT,
                },
            )
            if told.get("protocolVersion") != _VERSION:
                raise Fault(
                    FaultCode.FAILED_PRECONDITION,
                    "engine-version",
                    f"{self._agent.name} speaks another version of the protocol",
                )
            await self._open_session(cast("Json", told.get("agentCapabilities") or {}))

    async def play(self, turn: Turn, text: str) -> None:
        self._telling.begin()
        if not self._is_opened:
            self._is_opened = True
            model = self.spec.profile.fields.model or ""
            await turn.tell(Opened(thread_id=self._session, model=model))
        before = "" if self._is_instructed else first_words(self.spec.profile)
        self._is_instructed = True
        texts = [{"type": "text", "text": part} for part in (before, text) if part]
        asked = await self._request("session/prompt", {"sessionId": self._session, "prompt": texts})
        reach = ModelReach(self._agent, self.process)
        # It ends with the turn.
        self._tasks.start(reach.until_lost(self.end_process))
        while not turn.has_ended:
            try:
                line = await self.receive()
            except Fault as fault:
                raise reach.explained(fault) from None
            reach.heard(line)
            if "method" in line:
                await self._heard(turn, line)
            elif line.get("id") == asked:
                await self._end(turn, line)

    async def cancel(self) -> None:
        for name in tuple(self._questions):
            await self.answer(name, Reply(verdict="cancel"))
        await self._send({"method": "session/cancel", "params": {"sessionId": self._session}})

    def forget(self) -> None:
        self._questions.clear()

    def _prepare(self) -> None:
        """Look at the workspace and write what the agent needs. Blocks."""
        spec = self.spec
        found = ""
        if not spec.is_trusted:
            found = followed_settings(self._agent, spec.cwd, spec.env.get("HOME", ""))
        if found:
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "workspace-untrusted",
                f"the workspace has settings that make {self._agent.name} run programs",
                private=found,
            )
        self._env = environment_for(self._agent, spec)

    async def _open_session(self, abilities: Json) -> None:
        place: Json = {"cwd": self.spec.cwd, "mcpServers": servers_for(self.spec, self._env)}
        if not self._session:
            opened = await self._call("session/new", place)
            self._session = str(opened.get("sessionId", ""))
        elif abilities.get("loadSession"):
            # It tells all that was said before, which nobody needs to hear again.
            opened = await self._call("session/load", {**place, "sessionId": self._session})
        else:
            raise Fault(
                FaultCode.UNIMPLEMENTED,
                "engine-version",
                f"{self._agent.name} cannot go on with an earlier conversation",
            )
        model = self.spec.profile.fields.model
        if model:
            await self._choose_model(model, opened)

    async def _choose_model(self, model: str, opened: Json) -> None:
        options = cast("list[Json]", opened.get("configOptions") or [])
        option = next((each for each in options if each.get("category") == "model"), None)
        offered = cast("list[Json]", (option or {}).get("options") or [])
        values = [str(each.get("value", "")) for each in offered]
        same = [value for value in values if value == model]
        value = next(iter(same or (v for v in values if v.endswith(f"/{model}"))), "")
        if option is None or not value:
            raise Fault(
                FaultCode.NOT_FOUND,
                "model-unknown",
                f"{self._agent.name} does not offer the model",
                private=f"{model} is not one of {', '.join(values)}",
            )
        if value != option.get("currentValue"):
            chosen = {"sessionId": self._session, "configId": option.get("id"), "value": value}
            await self._call("session/set_config_option", chosen)

    async def _heard(self, turn: Turn, line: Json) -> None:
        params = cast("Json", line.get("params") or {})
        match line.get("method"):
            case "session/update":
                for event in self._telling.events(cast("Json", params.get("update") or {})):
                    await turn.tell(event)
            case "session/request_permission":
                await self._asked(turn, line.get("id"), params)
            case _ if "id" in line:
                error = {"code": _UNKNOWN_METHOD, "message": "this is not offered"}
                await self._send({"id": line["id"], "error": error})
            case _:
                return

    async def _asked(self, turn: Turn, asked: object, params: Json) -> None:
        self._last_id += 1
        name = f"ask-{self._last_id}"
        call = cast("Json", params.get("toolCall") or {})
        permission = self._telling.permission(name, call)
        self._questions[name] = (asked, cast("list[Json]", params.get("options") or []))
        if turn.is_interrupted:
            await self.answer(name, Reply(verdict="cancel"))
            return
        decided = unasked(self.spec.profile.fields, permission)
        if decided is None:
            await turn.tell(permission)
        else:
            await self.answer(name, Reply(verdict="accept" if decided else "decline"))

    async def _end(self, turn: Turn, line: Json) -> None:
        answer = self._telling.answer
        for event in self._telling.rest():
            await turn.tell(event)
        result = cast("Json", line.get("result") or {})
        if result:
            await turn.tell(self._telling.used(result))
        if turn.is_interrupted:
            await self.end_process()
            turn.end(TurnEnded(status="interrupted", text=answer))
            return
        failure = failure_of(line, answer)
        turn.end(
            TurnEnded(
                status="completed" if failure is None else "failed", text=answer, failure=failure
            )
        )

    async def _call(self, method: str, params: Json) -> Json:
        """Ask the agent something between turns. Raises a fault."""
        asked = await self._request(method, params)
        while True:
            line = await self.receive()
            if "method" in line or line.get("id") != asked:
                continue
            if "error" not in line:
                return cast("Json", line.get("result") or {})
            failure = failure_of(line, "") or TurnFailure(kind="other")
            raise Fault(
                FaultCode.UNAVAILABLE,
                failure.kind,
                f"{self._agent.name} refused a request",
                private=failure.private,
            )

    async def _request(self, method: str, params: Json) -> int:
        self._last_id += 1
        name = self._last_id
        await self._send({"id": name, "method": method, "params": params})
        return name

    async def _send(self, message: Json) -> None:
        await self.process.send({"jsonrpc": "2.0", **message})
