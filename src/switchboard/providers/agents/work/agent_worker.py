"""The work of runs: one conversation with an engine each, and what a person is asked on the way."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from switchboard.children.environment import searched
from switchboard.children.inbound.attribution import marked_input
from switchboard.config.itself import is_switchboard
from switchboard.config.locate import WORKSPACE_VARIABLE
from switchboard.core.channels.channel import Input
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.privacy.cleaning import cleaned_line
from switchboard.core.privacy.redacting_events import discreet_fault
from switchboard.core.privacy.secrets import Redact
from switchboard.core.questions import ASKING
from switchboard.core.sessions import Session
from switchboard.engines.engine import AgentEngine, EngineConversation, Reply
from switchboard.engines.events import (
    EngineEvent,
    Form,
    Notice,
    Permission,
    ToolItem,
    TurnEnded,
    TurnFailure,
)
from switchboard.engines.profile import AgentProfile, AttachedServer, EngineSpec
from switchboard.ipc.environment import DEPTH_VARIABLE
from switchboard.providers.agents.calls.places import check_unmoved
from switchboard.providers.agents.calls.waiters import Waiters, WaitingClientAsker
from switchboard.providers.agents.servers.depth import check_depth
from switchboard.providers.agents.work.conversation_folders import ConversationFolders
from switchboard.providers.agents.work.engine_approvals import EngineApprovals
from switchboard.providers.agents.work.engine_environment import engine_environment
from switchboard.runs.conversations import begun_with
from switchboard.runs.ports import Asking, Runs
from switchboard.runs.run import Run, RunSpec
from switchkit.platform.paths import true_path
from switchkit.processes import is_gone
from switchkit.reaper_client import Reaper

# What an engine is told whose process was killed in the middle of a task.
_GO_ON = "You were interrupted. Look at what is done already, and finish the task."
# How long somebody may take to fill in a form.
_FORM_S = 300.0
# No question of the gate waits longer.
_DECISION_S = 3_600.0
_LONGEST_NAME = 200
_encode = msgspec.json.Encoder().encode


class EngineTask(Struct, frozen=True, kw_only=True):
    """What a run asks of its engine."""

    profile: AgentProfile
    # The program of the engine, where the user named one.
    program: str = ""
    # The folder whose own settings of the engine the user has trusted, if any.
    trusted_folder: str = ""
    # What whoever follows the run should know, before anything else.
    notices: tuple[str, ...] = ()


class EngineTasks:
    """Who knows what runs are about: agents, and tools that are an engine themselves."""

    def takes(self, spec: RunSpec) -> bool:
        """Whether a run is still what it was when it was started."""
        raise NotImplementedError

    async def task(self, run: Run) -> EngineTask:
        """What its engine is told. Raises a fault."""
        raise NotImplementedError


class WorkPlace(Struct, frozen=True, kw_only=True, eq=False):
    """What all work of a board shares."""

    runs: Callable[[], Runs]
    # An engine by its key. Raises a fault where there is none.
    engines: Callable[[str], AgentEngine]
    approvals: EngineApprovals
    waiters: Waiters
    folders: ConversationFolders
    environ: Mapping[str, str]
    reaper: Reaper
    # Takes secrets out of what is kept, and is told which there are.
    hide: Redact
    learn: Callable[[Iterable[str]], None]
    # Further variables that engines may see.
    pass_env: tuple[str, ...] = ()


class _Filled(Struct):
    action: str = ""
    content: dict[str, Any] | None = None


class AgentWorker:
    """Takes the runs of one workspace."""

    def __init__(self, workspace: str, tasks: EngineTasks, place: WorkPlace) -> None:
        self.workspace = workspace
        self._tasks = tasks
        self._place = place

    def takes(self, spec: RunSpec, /) -> bool:
        return spec.workspace == self.workspace and self._tasks.takes(spec)

    def work(self, run: Run, asking: Asking, /) -> "AgentWork":
        return AgentWork(run, asking, self._tasks, self._place)


class AgentWork:
    """One attempt at a run."""

    def __init__(self, run: Run, asking: Asking, tasks: EngineTasks, place: WorkPlace) -> None:
        self._run = run
        self._asking = asking
        self._tasks = tasks
        self._place = place
        self._conversation: EngineConversation | None = None
        self._under_way = TaskSet()
        self._is_cancelled = False
        # Set by the next call of a tool that ends.
        self._call_ended = asyncio.Event()
        self._is_gated = False

    @property
    def pid(self) -> int:
        return self._conversation.pid if self._conversation is not None else 0

    async def events(self) -> AsyncIterator[str]:
        """Each event as JSON. The last one is a `turn-ended`, or a fault is raised."""
        try:
            async with contextlib.aclosing(self._events()) as events:
                async for event in events:
                    yield self._place.hide(_encode(event).decode())
        except Fault as fault:
            raise discreet_fault(fault, self._place.hide) from fault

    async def _events(self) -> AsyncGenerator[EngineEvent]:
        task = await self._task()
        for notice in task.notices:
            yield Notice(text=notice)
        conversation, text = await self._begin(task)
        if self._is_cancelled:
            yield TurnEnded(status="interrupted")
            return
        async for event in conversation.turn(text):
            match event:
                case Permission():
                    self._start(self._decide(conversation, event))
                case Form():
                    self._start(self._fill(conversation, event))
                case ToolItem() if event.status != "started":
                    self._call_ended.set()
                case TurnEnded(failure=TurnFailure() as failure):
                    await self._explain(failure)
                case _:
                    pass
            yield event

    async def steer(self, text: str, /) -> None:
        if self._conversation is None:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "run-not-begun",
                "the run has not begun to work",
                hint="try again in a moment",
            )
        await self._conversation.steer(text)

    async def cancel(self) -> None:
        self._is_cancelled = True
        # Nobody needs to decide any more.
        await self._under_way.aclose()
        if self._conversation is not None:
            await self._conversation.interrupt()

    async def aclose(self) -> None:
        try:
            await self._under_way.aclose()
        finally:
            self._place.approvals.leave(self._run)
            if self._conversation is not None:
                await self._conversation.aclose()

    # The beginning

    async def _task(self) -> EngineTask:
        spec = self._run.spec
        check_depth(spec.depth)
        # Right before it starts: it may have waited for hours.
        await asyncio.to_thread(check_unmoved, spec.cwd, spec.root)
        return await self._tasks.task(self._run)

    async def _begin(self, task: EngineTask) -> tuple[EngineConversation, str]:
        run, place = self._run, self._place
        spec = run.spec
        engine = place.engines(spec.engine)
        earlier = await self._earlier()
        folder = await asyncio.to_thread(place.folders.make, earlier[0])
        start = await asyncio.to_thread(place.folders.make_start, earlier[0])
        env = engine_environment(place.environ, spec.engine, depth=spec.depth, more=place.pass_env)
        place.learn(await asyncio.to_thread(engine.credentials, env))
        resumed = run.thread_id if run.attempts > 1 and spec.on_crash == "resume" else ""
        engine_spec = EngineSpec(
            profile=_placed(task.profile, spec, start, env.get("PATH", "")),
            cwd=spec.cwd,
            env=env,
            folder=folder,
            trusted_folder=task.trusted_folder,
            resume=resumed or earlier[1],
            program=task.program,
            depth=spec.depth,
        )
        self._is_gated = any(server.is_gated for server in task.profile.servers)
        self._conversation = engine.converse(engine_spec, reaper=place.reaper)
        return self._conversation, _GO_ON if resumed else spec.task

    async def _earlier(self) -> tuple[str, str]:
        """The run that the conversation began with, and what the engine calls it."""
        run, runs = self._run, self._place.runs()
        thread = run.spec.resumes
        if run.spec.replies_to and not thread:
            # A reply of an earlier version.
            thread = (await runs.get(run.spec.replies_to)).thread_id
        return await begun_with(runs, run), thread

    async def _explain(self, failure: TurnFailure) -> None:
        """Raise a fault where the engine itself can say what is missing."""
        if failure.kind not in {"engine-missing", "engine-version"}:
            return
        spec = self._run.spec
        place = self._place
        env = engine_environment(place.environ, spec.engine, depth=spec.depth, more=place.pass_env)
        ready = await place.engines(spec.engine).ready(env)
        if ready.problem:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                failure.kind,
                ready.problem,
                hint=ready.hint,
                private=failure.private,
            )

    # Questions

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._under_way.start(work)

    async def _decide(self, conversation: EngineConversation, permission: Permission) -> None:
        run = self._run
        await self._place.approvals.decide(
            run,
            permission,
            conversation,
            session=self._session(conversation),
            asker=WaitingClientAsker(self._place.waiters, run.id),
            while_asked=self._asking,
        )

    def _is_of_our_gate(self, form: Form) -> bool:
        return self._is_gated and form.message.startswith(ASKING)

    async def _until_decided(self) -> None:
        """Wait while our own gate asks at the queue, too: it ends the call that it asks about."""
        self._call_ended.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DECISION_S):
                await self._call_ended.wait()

    def _session(self, conversation: EngineConversation) -> Session:
        """Who asks: the run itself, which outlives the session that started it."""
        run = self._run
        starter = self._place.waiters.starter(run.id)
        by = f" for {starter.client}" if starter is not None and starter.client else ""
        return Session(
            id=run.id,
            via="run",
            workspace=run.spec.workspace,
            cwd=run.spec.cwd,
            client=f"agent {run.spec.agent}, run {run.id}{by}",
            person=run.spec.person,
            started_at=run.created_at,
            # A shell of the agent could type what a person types, and so could its client.
            client_pid=conversation.pid,
            on_behalf_of=tuple(
                pid for pid, since in run.spec.on_behalf_of if not is_gone(pid, since)
            ),
        )

    async def _fill(self, conversation: EngineConversation, form: Form) -> None:
        """Have the client that waits fill in a form; where none can, the answer is no."""
        reply = Reply(verdict="decline", reason="nobody who could fill it in waits for this run")
        calls = [waiter.call for waiter in self._place.waiters.askable(self._run.id)]
        with self._asking(""):
            if self._is_of_our_gate(form) and not any(call.asker for call in calls):
                await self._until_decided()
                calls = []
            for channel in filter(None, (call.channel for call in calls)):
                with contextlib.suppress(Fault, TimeoutError, msgspec.MsgspecError):
                    wanted = {"form": _wanted(form, f"agent {self._run.spec.agent}")}
                    async with asyncio.timeout(_FORM_S):
                        reply = _reply((await channel.ask(wanted))["form"])
                    break
        await conversation.answer(form.request_id, reply)


def _placed(profile: AgentProfile, spec: RunSpec, start: str, path: str) -> AgentProfile:
    """The profile with servers that know how deep they stand, and start where nobody else wrote.

    Engines would start them in the folder of the task, which may be anybody's: interpreters and
    package runners take modules and settings from there.
    """
    own = searched(path, true_path(spec.root or spec.cwd)) if path else ""
    return replace(
        profile,
        servers=tuple(
            # Nor do they find their programs in it.
            _placed_server(
                server, spec, start, {} if server.start_in or own == path else {"PATH": own}
            )
            for server in profile.servers
        ),
    )


def _placed_server(
    server: AttachedServer, spec: RunSpec, start: str, more: Mapping[str, str]
) -> AttachedServer:
    env = {**more, **server.env, DEPTH_VARIABLE: str(spec.depth + 1)}
    if spec.root and is_switchboard(server.name, server.command, server.args):
        # Agents of an agent are held to the same project.
        env[WORKSPACE_VARIABLE] = spec.root
    return replace(server, env=env, start_in=server.start_in or start)


def _wanted(form: Form, agent: str) -> Input:
    """A form under the name of who wants it filled in. Raises a fault for what nobody may open."""
    members: dict[str, Any] = {"mode": "form", "message": form.message}
    if form.url:
        if not form.url.startswith(("https://", "http://")):
            raise Fault(FaultCode.INVALID_ARGUMENT, "page-refused", "only pages of the web open")
        members = {"mode": "url", "message": form.message, "url": form.url}
    else:
        schema = Raw(form.schema.encode() or b'{"type":"object","properties":{}}')
        members["requestedSchema"] = schema
    asks = f"{form.server} of {agent}" if form.server else agent
    name = cleaned_line(asks, _LONGEST_NAME)
    return marked_input(name, "elicitation/create", Raw(_encode(members)))


def _reply(raw: Raw) -> Reply:
    try:
        read = msgspec.json.decode(raw, type=_Filled)
    except msgspec.MsgspecError:
        return Reply(verdict="decline")
    if read.action == "accept":
        return Reply(verdict="accept", content=read.content)
    return Reply(verdict="cancel" if read.action == "cancel" else "decline")
