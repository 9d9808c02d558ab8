"""Agents, the runs that they work in, and the tools that are an engine themselves."""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.contents import ContentRequest
from switchboard.core.calls.launches import Launch
from switchboard.core.calls.task import Task
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.tools import Policy, ToolSpec
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault
from switchboard.core.sessions import Session
from switchboard.providers.agents.calls.agent_tools import AgentGround, AgentTools, AttachServers
from switchboard.providers.agents.calls.answers import answer
from switchboard.providers.agents.calls.run_calls import OnDisconnect, RunCalls
from switchboard.providers.agents.calls.runnable import RunnableAgent
from switchboard.providers.agents.codex_tools.specs import CODEX_TOOLS
from switchboard.providers.agents.codex_tools.tools import CodexTools, codex_answer
from switchboard.providers.agents.run_tools.resources import RunResources
from switchboard.providers.agents.run_tools.run_tasks import TASK_ACTS, RunTasks
from switchboard.providers.agents.run_tools.tools import RUN_TOOLS, RunTools
from switchboard.providers.agents.work.agent_worker import (
    AgentWorker,
    EngineTask,
    EngineTasks,
    WorkPlace,
)
from switchboard.runs.run import Run, RunSpec

PROVIDER = "agents"


class RoadOptions(Struct, frozen=True, kw_only=True):
    """How clients of runs are treated."""

    # Seconds, by the name of the client.
    patience: Mapping[str, int] = {}
    on_disconnect: OnDisconnect = "auto"
    # Whether calls are judged, and the tools of Codex are kept in a sandbox unless told otherwise.
    is_guarded: bool = False
    limit_s: float = 1800.0
    # How long a run is kept after its end.
    kept_s: float = 30 * 86_400.0


class AgentsProvider:
    """Every agent of a board as a tool, with the tools that lead to runs."""

    key = PROVIDER
    owners: Collection[str] = ()
    content_policy = Policy()

    def __init__(
        self,
        specs: Sequence[ToolSpec],
        agents: Mapping[str, RunnableAgent],
        *,
        ground: AgentGround,
        place: WorkPlace,
        attach: AttachServers,
        options: RoadOptions,
        # Whether the tools that are Codex itself are there.
        has_codex: bool = False,
    ) -> None:
        self._specs = tuple(specs)
        self._place = place
        calls = RunCalls(
            place.runs,
            place.waiters,
            patience=options.patience,
            on_disconnect=options.on_disconnect,
        )
        self._agents = AgentTools(agents, ground, calls, attach)
        self._runs = RunTools(place.runs, calls, ground)
        self._codex = CodexTools(
            place.runs,
            calls,
            ground,
            is_guarded=options.is_guarded,
            limit_s=options.limit_s,
        )
        parts = (self._agents, *((self._codex,) if has_codex else ()))
        self._resources = RunResources(place.runs, ground.workspace)
        self._tasks = RunTasks(
            place.runs, place.waiters, ground.workspace, kept_s=options.kept_s, say=_said
        )
        self._worker = AgentWorker(ground.workspace, _AllTasks(parts), place)
        self._detach: Callable[[], None] | None = None

    def attach(self) -> None:
        """Take the runs of this board, those too that a process before us left."""
        if self._detach is None:
            self._detach = self._place.runs().attach(self._worker)
            self._place.waiters.tasks.start(self._sweep())

    async def _sweep(self) -> None:
        # What cannot be removed now can be later.
        with contextlib.suppress(Fault, OSError):
            known = await self._place.runs().conversations()
            await asyncio.to_thread(self._place.folders.sweep, known)

    # Tools

    def specs(self) -> Sequence[ToolSpec]:
        return self._specs

    async def narrow(self, call: Call) -> Call:
        return call

    async def launch(self, call: Call) -> Launch | None:
        return await self._part(call).launch(call)

    async def invoke(self, call: Call) -> Outcome:
        self.attach()
        return await self._part(call).invoke(call)

    def _part(self, call: Call) -> AgentTools | RunTools | CodexTools | RunTasks:
        if call.tool.name in TASK_ACTS and not call.tool.is_tool:
            return self._tasks
        if call.tool.name in RUN_TOOLS:
            return self._runs
        return self._codex if call.tool.name in CODEX_TOOLS else self._agents

    # Tasks

    async def task(self, task_id: str, session: Session) -> Task:
        self.attach()
        return await self._tasks.task(task_id, session)

    def task_act(self, method: str) -> ToolSpec:
        return TASK_ACTS[method]

    async def follow_task(
        self, task_id: str, session: Session, tell: Callable[[], None]
    ) -> Callable[[], None]:
        self.attach()
        return await self._tasks.follow(task_id, session, tell)

    # Resources

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        del channel
        return await self._resources.offers(kind, session, wanted)

    def unlisted(self, session: Session) -> Sequence[str]:
        """It lists all that it has."""
        del session
        return ()

    def awaits(self, kind: Kind) -> bool:
        """It knows what it has."""
        del kind
        return False

    async def fetch(self, call: Call, offer: Offer, request: ContentRequest) -> Outcome:
        return await self._resources.fetch(call, offer, request)

    async def follow(
        self, offer: Offer, session: Session, tell: Callable[[str], None]
    ) -> Callable[[], None]:
        return await self._resources.follow(offer, session, tell)

    def pass_on(self, method: str, session: Session) -> None:
        """Runs do not hear what clients say."""
        del method, session

    async def aclose(self) -> None:
        """Take no more runs. Those under way go on: they belong to the daemon."""
        if self._detach is not None:
            self._detach()
            self._detach = None


def _said(run: Run) -> Outcome:
    """What the call that started a run would have answered."""
    return codex_answer(run) if run.spec.called in CODEX_TOOLS else answer(run)


class _AllTasks(EngineTasks):
    """Several who know what runs are about."""

    def __init__(self, parts: Sequence[EngineTasks]) -> None:
        self._parts = parts

    def takes(self, spec: RunSpec) -> bool:
        return any(part.takes(spec) for part in self._parts)

    async def task(self, run: Run) -> EngineTask:
        part = next(part for part in self._parts if part.takes(run.spec))
        return await part.task(run)
