"""Agents as tools: `{task, cwd}` in, `{ok, output}` out, a durable run between them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.launches import Launch, task_wish
from switchboard.core.sessions import Session
from switchboard.providers.agents.calls.places import judge_cwd
from switchboard.providers.agents.calls.request_keys import asked_by
from switchboard.providers.agents.calls.run_calls import RunCalls
from switchboard.providers.agents.calls.runnable import RunnableAgent
from switchboard.providers.agents.servers.depth import check_depth
from switchboard.providers.agents.servers.known_server import Attachments
from switchboard.providers.agents.work.agent_worker import EngineTask, EngineTasks
from switchboard.providers.agents.work.engine_trust import NO_TRUST, EngineTrust, TrustedSettings
from switchboard.runs.run import Run, RunSpec

# The servers that an agent gets for a run.
AttachServers = Callable[[RunnableAgent, RunSpec], Awaitable[Attachments]]
_NAMES = {"codex": "Codex", "claude": "Claude Code"}


class AgentGround(Struct, frozen=True, kw_only=True, eq=False):
    """What every call of an agent stands on."""

    workspace: str
    # Whether no session may leave the workspace.
    is_pinned: bool = False
    programs: Mapping[str, str] = {}
    trust: EngineTrust = NO_TRUST

    def root_for(self, session: Session) -> str:
        """The folder that agents of a session may not leave; empty where there is none."""
        return self.workspace if self.is_pinned or session.is_pinned else ""

    async def check_place(self, session: Session, spec: RunSpec) -> None:
        """Refuse more work in a folder that the session may not have agents work in."""
        if root := self.root_for(session):
            await asyncio.to_thread(judge_cwd, spec.cwd, root)


class _Given(Struct):
    task: str
    cwd: str


class AgentTools(EngineTasks):
    """Every agent of a board."""

    def __init__(
        self,
        agents: Mapping[str, RunnableAgent],
        ground: AgentGround,
        calls: RunCalls,
        attach: AttachServers,
    ) -> None:
        self._agents = agents
        self._ground = ground
        self._calls = calls
        self._attach = attach

    # Calls

    async def launch(self, call: Call) -> Launch:
        """What would run, and where. Raises a fault where no agent may work."""
        given = msgspec.json.decode(call.arguments, type=_Given)
        root = self._ground.root_for(call.session)
        cwd = await asyncio.to_thread(judge_cwd, given.cwd, root)
        runnable = self._agents[call.tool.name]
        trusted = await asyncio.to_thread(self._ground.trust.of, runnable.engine, cwd)
        return launch_of(runnable, call, cwd, trusted)

    async def invoke(self, call: Call) -> Outcome:
        """Start the run, and wait for it."""
        assert call.launch is not None, "every agent has a launch"
        check_depth(call.session.depth)
        runnable = self._agents[call.tool.name]
        given = msgspec.json.decode(call.arguments, type=_Given)
        # Looked at again: a link may lead elsewhere since the call was let pass.
        root = self._ground.root_for(call.session)
        cwd = await asyncio.to_thread(judge_cwd, call.launch.cwd, root)
        spec = RunSpec(
            tool=call.tool.name,
            agent=runnable.agent.name,
            engine=runnable.engine,
            task=given.task,
            cwd=cwd,
            workspace=self._ground.workspace,
            fingerprint=runnable.fingerprint,
            may_write=runnable.may_write,
            on_crash=runnable.agent.on_crash,
            limit_s=runnable.agent.limit_s or runnable.limit_s,
            depth=call.session.depth,
            root=root,
        )
        return await self._calls.start(call, asked_by(call, spec), may_be_task=True)

    # Runs

    def takes(self, spec: RunSpec) -> bool:
        runnable = self._agents.get(spec.tool)
        return runnable is not None and runnable.fingerprint == spec.fingerprint

    async def task(self, run: Run) -> EngineTask:
        runnable = self._agents[run.spec.tool]
        attached = await self._attach(runnable, run.spec)
        trusted = await asyncio.to_thread(self._ground.trust.of, runnable.engine, run.spec.cwd)
        return EngineTask(
            profile=replace(runnable.profile, servers=attached.servers),
            notices=(*attached.notices, *trusted.notices),
            program=self._ground.programs.get(runnable.engine.partition(":")[0], ""),
            trusted_folder=trusted.folder,
        )


def launch_of(runnable: RunnableAgent, call: Call, cwd: str, trusted: TrustedSettings) -> Launch:
    """An agent as a person is asked about it: what it runs on, and what it may do at most."""
    profile = runnable.profile
    mode = profile.fields.sandbox_mode
    holds = runnable.engine == "codex" and mode != "danger-full-access"
    return Launch(
        tool=call.tool,
        server=f"agent {runnable.agent.name}",
        fingerprint=runnable.fingerprint,
        runs=trusted.added_to(_in_words(runnable)),
        cwd=cwd,
        is_foreign=False,
        sandbox=f"{_name(runnable.engine)}, {mode or 'as it is set up there'}" if holds else "none",
        side_effects=(
            "filesystem-read",
            *(("filesystem-write",) if runnable.may_write else ()),
            "network",
        ),
        writable_roots=(cwd,) if runnable.may_write else (),
        wish=task_wish(f"Agent {runnable.agent.name}", about=runnable.agent.description),
    )


def _in_words(runnable: RunnableAgent) -> str:
    fields, servers = runnable.profile.fields, runnable.profile.servers
    said = [_name(runnable.engine)]
    said.append(f"model {fields.model}" if fields.model else "its own choice of model")
    if fields.approval_policy:
        said.append(f"approvals {fields.approval_policy}")
    if servers:
        said.append("servers " + ", ".join(server.name for server in servers))
    return "; ".join(said)


def _name(engine: str) -> str:
    return _NAMES.get(engine) or engine.removeprefix("acp:")
