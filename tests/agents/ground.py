"""Agents on the whole road with everything real but engines and runs: those are played."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from approvals.ground import ScriptedAsker
from fakes.calls import raw
from fakes.engines import Scene, ScriptedConversation, ScriptedEngine
from fakes.events import MemoryEvents
from fakes.runs import MemoryRuns
from support.processes import until_true
from switchboard.core.calls.call import Call, Outcome, TextBlock
from switchboard.core.calls.receipts import Receipt
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.channels.channel import Ask, Input
from switchboard.core.faults import Fault
from switchboard.core.ports import Next, Provider
from switchboard.core.privacy.secrets import NO_SECRETS, SecretBook
from switchboard.core.questions import Answer, Asker, Extent, Verdict
from switchboard.core.sessions import Session
from switchboard.core.stores import Posted
from switchboard.daemon.board.guard import Guard
from switchboard.engines.events import Form, Permission
from switchboard.engines.profile import AgentProfile, AttachedServer, RunFields
from switchboard.pipeline.gates.placement import PlacementGate
from switchboard.pipeline.order import build_road
from switchboard.providers.agents.agent import Agent
from switchboard.providers.agents.calls.agent_tools import AgentGround
from switchboard.providers.agents.calls.answers import fault_text
from switchboard.providers.agents.calls.runnable import RunnableAgent
from switchboard.providers.agents.calls.waiters import Waiters
from switchboard.providers.agents.codex_tools.specs import codex_specs
from switchboard.providers.agents.provider import AgentsProvider, RoadOptions
from switchboard.providers.agents.run_tools.specs import run_specs
from switchboard.providers.agents.servers.known_server import Attachments
from switchboard.providers.agents.work.agent_worker import WorkPlace
from switchboard.providers.agents.work.conversation_folders import ConversationFolders
from switchboard.providers.agents.work.engine_approvals import EngineActions, EngineApprovals
from switchboard.providers.context import GuardedRoad
from switchboard.runs.run import Run, RunSpec
from switchkit.reaper_client import Reaper

PATIENCE = 10.0
SCHEMA = {
    "type": "object",
    "properties": {"task": {"type": "string"}, "cwd": {"type": "string"}},
    "required": ["task", "cwd"],
    "additionalProperties": False,
}


def an_agent(name: str = "reviewer", *, fields: RunFields | None = None) -> RunnableAgent:
    """Give an agent that runs on Codex, with as little said as there can be."""
    spec = ToolSpec(name=name, provider="agents", input_schema=raw(SCHEMA), fault_text=fault_text)
    return RunnableAgent(
        agent=Agent(name=name, safe_name=name, tool=name, format="codex", fingerprint=f"f-{name}"),
        spec=spec,
        engine="codex",
        profile=AgentProfile(name=name, fields=fields or RunFields()),
    )


class HeardChannel:
    """A channel to a client that hears progress, and fills in forms if it is told how."""

    def __init__(self, reply: Any = None) -> None:
        self.session_id = self.holder = "session"
        self.declared = b"{}"
        self.meta = b""
        self.log_level = ""
        self.is_pressed = False
        self.request_id: Any = 7
        self.receipt: Receipt | None = None
        self.notified: list[tuple[str, Any]] = []
        self.told: list[tuple[float, str]] = []
        self.asked: list[Any] = []
        self.reply = reply

    def hold(self, receipt: Receipt) -> None:
        self.receipt = receipt

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        del total
        self.told.append((done, message))

    def progress(self, params: Raw) -> None:
        del params

    def log(self, level: str, params: bytes) -> None:
        del level, params

    def notify(self, method: str, params: bytes) -> None:
        self.notified.append((method, json.loads(params)))

    def visited(self, params: Raw) -> None:
        del params

    async def relieved(self) -> None:
        """It always reads."""

    async def ask(self, wanted: Mapping[str, Input]) -> Mapping[str, Raw]:
        self.asked += [json.loads(bytes(each.params)) for each in wanted.values()]
        return {key: raw(self.reply) for key in wanted}

    def ask_elsewhere(self, ask: Ask) -> None:
        raise AssertionError(f"a task was made: {ask}")


class AgentBoard:
    """One board: a road to agents, and a desk where their questions wait."""

    def __init__(
        self,
        home: Path,
        *agents: RunnableAgent,
        engine: ScriptedEngine | None = None,
        root: str = "",
        depth: int = 0,
        patience: int = 10,
        is_guarded: bool = False,
        approval_timeout: float = 60.0,
        runs: MemoryRuns | None = None,
        workspace: str = "/workspace",
        environ: Mapping[str, str] | None = None,
        pass_env: tuple[str, ...] = (),
        servers: tuple[AttachedServer, ...] = (),
    ) -> None:
        self.home = home
        self.engine = engine or ScriptedEngine()
        self.runs = runs or MemoryRuns()
        self.events = MemoryEvents()
        self.guard = Guard(str(home), self.events)
        self.waiters = Waiters()
        self.book = SecretBook()
        self._reaper = Reaper()
        self._calls = 0
        self._depth = depth
        runnable = {each.spec.name: each for each in agents or (an_agent(),)}

        async def attach(_: RunnableAgent, __: RunSpec) -> Attachments:
            return Attachments(servers=servers)

        def guarded(actions: EngineActions) -> GuardedRoad:
            return GuardedRoad(self._road(actions, approval_timeout), self.guard.leave)

        self.provider = AgentsProvider(
            (*(each.spec for each in runnable.values()), *run_specs(), *codex_specs()),
            runnable,
            ground=AgentGround(workspace=root or workspace, is_pinned=bool(root)),
            place=WorkPlace(
                runs=lambda: self.runs,
                engines=lambda _: self.engine,
                approvals=EngineApprovals(guarded),
                waiters=self.waiters,
                folders=ConversationFolders(str(home)),
                environ=environ or {"PATH": "/usr/bin:/bin"},
                reaper=self._reaper,
                hide=self.book,
                learn=self.book.learn,
                pass_env=pass_env,
            ),
            attach=attach,
            options=RoadOptions(patience={"default": patience}, is_guarded=is_guarded),
            has_codex=True,
        )
        self.specs = {spec.name: spec for spec in self.provider.specs()}
        self.road = self._road(self.provider, None, is_guarded=is_guarded)

    def _road(self, provider: Provider, ttl_s: float | None, *, is_guarded: bool = True) -> Next:
        providers = {provider.key: provider}
        if not is_guarded:
            return build_road(providers, Visibility(), self.events)
        gates = self.guard.gates(
            PlacementGate(providers).launch, self.events, "any", NO_SECRETS, ttl_s=ttl_s
        )
        return build_road(
            providers, Visibility(), self.events, approval=gates.approval, audit=gates.audit
        )

    # Calls

    def a_call(
        self,
        tool: str,
        arguments: Any,
        *,
        session: Session | None = None,
        asker: Asker | None = None,
        channel: HeardChannel | None = None,
        client_timeout_s: float | None = None,
    ) -> Call:
        self._calls += 1
        return Call(
            id=f"call-{self._calls}",
            session=session
            or Session(id="session", via="stdio", workspace="/workspace", depth=self._depth),
            tool=self.specs[tool],
            arguments=raw(arguments),
            asker=asker,
            channel=channel,
            client_timeout_s=client_timeout_s,
        )

    async def outcome(self, tool: str, arguments: Any, **more: Any) -> Outcome:
        call = self.a_call(tool, arguments, **more)
        return await received(await asyncio.wait_for(self.road(call), PATIENCE))

    async def ask_agent(self, task: str = "look", *, tool: str = "reviewer", **more: Any) -> Any:
        """Call an agent, and give what its one text block says."""
        outcome = await self.outcome(tool, {"task": task, "cwd": str(self.home)}, **more)
        return text_of(outcome)

    def begin(self, task: str = "look", *, tool: str = "reviewer", **more: Any) -> Any:
        """Call an agent, and do not wait."""
        call = self.a_call(tool, {"task": task, "cwd": str(self.home)}, **more)
        return asyncio.ensure_future(self.road(call))

    async def refusal(self, tool: str, arguments: Any, **more: Any) -> Fault:
        try:
            await self.outcome(tool, arguments, **more)
        except Fault as fault:
            return fault
        raise AssertionError("the call did not fail")

    # What became of it

    @property
    def run(self) -> Run:
        """The only run."""
        [run] = self.runs.runs.values()
        return run

    @property
    def conversation(self) -> ScriptedConversation:
        """The latest conversation with the engine."""
        return self.engine.conversations[-1]

    async def until_asked(self) -> Posted:
        """Wait until one question waits at the desk."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if waiting := await self.guard.approvals.waiting():
                [posted] = waiting
                return posted
            await asyncio.sleep(0.005)
        raise AssertionError("nobody asked")

    async def until_working(self) -> None:
        """Wait until the engine has begun."""
        await until_true(lambda: bool(self.engine.conversations and self.conversation.tasks))

    async def decide(
        self, posted: Posted, verdict: Verdict = "approved", extent: Extent = "once"
    ) -> None:
        answer = Answer(verdict=verdict, extent=extent, by="cli", at=time.time())
        assert await self.guard.approvals.decide(posted.question.id, answer)

    async def aclose(self) -> None:
        await self.waiters.aclose()
        await self.runs.aclose()
        await self.provider.aclose()
        await self.guard.aclose()
        self._reaper.close()


async def received(outcome: Outcome) -> Outcome:
    """Take an answer as a client does that reads it."""
    if outcome.on_delivered is not None:
        outcome.on_delivered()
        await asyncio.sleep(0)
    return outcome


@asynccontextmanager
async def board(
    home: Path, *scenes: Scene | Form | Permission, **more: Any
) -> AsyncGenerator[AgentBoard]:
    """Open a board whose engine plays these scenes."""
    made = AgentBoard(home, engine=ScriptedEngine(*scenes), **more)
    try:
        yield made
    finally:
        await made.aclose()


def text_of(outcome: Outcome) -> Any:
    """Read the one text block of an answer."""
    [block] = outcome.blocks
    assert isinstance(block, TextBlock)
    return msgspec.json.decode(block.text)


__all__ = ["AgentBoard", "HeardChannel", "ScriptedAsker", "an_agent", "board", "text_of"]
