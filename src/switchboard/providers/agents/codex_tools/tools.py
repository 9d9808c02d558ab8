"""`codex` and `codex-reply`: a conversation with Codex for each thread, over the same runs."""

import asyncio
import contextlib
import hashlib
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from switchboard.core.calls.call import Call, Outcome, TextBlock
from switchboard.core.calls.launches import Launch, task_wish
from switchboard.core.loop.tasks import TaskSet
from switchboard.engines.profile import AgentProfile, ApprovalPolicy, RunFields, SandboxMode
from switchboard.providers.agents.calls.agent_tools import AgentGround
from switchboard.providers.agents.calls.answers import about, going_on
from switchboard.providers.agents.calls.places import judge_cwd
from switchboard.providers.agents.calls.request_keys import asked_by
from switchboard.providers.agents.calls.run_calls import RunCalls
from switchboard.providers.agents.codex_tools.codex_events import METHOD, CodexEvents
from switchboard.providers.agents.codex_tools.specs import CODEX, CODEX_TOOLS, REPLY
from switchboard.providers.agents.run_tools.own_runs import is_own
from switchboard.providers.agents.servers.depth import check_depth
from switchboard.providers.agents.work.agent_worker import EngineTask, EngineTasks
from switchboard.runs.conversations import going_on_with
from switchboard.runs.ports import Runs
from switchboard.runs.run import Run, RunSpec

# How often events are looked for that nothing told of.
_LOOK_S = 0.25


class _Started(Struct, rename="kebab"):
    prompt: str
    cwd: str = ""
    model: str | None = None
    sandbox: SandboxMode | None = None
    approval_policy: ApprovalPolicy | None = None
    base_instructions: str = ""
    developer_instructions: str = ""
    compact_prompt: str = ""
    config: dict[str, Any] = {}


class _Replied(Struct, rename="camel"):
    prompt: str
    thread_id: str = ""
    conversation_id: str = ""


class CodexTools(EngineTasks):
    """Codex as a tool. With `is_guarded` a person is asked, and it stays in its sandbox."""

    def __init__(
        self,
        runs: Callable[[], Runs],
        calls: RunCalls,
        ground: AgentGround,
        *,
        is_guarded: bool,
        limit_s: float = 1800.0,
    ) -> None:
        self._runs = runs
        self._calls = calls
        self._ground = ground
        self._is_guarded = is_guarded
        self._limit_s = limit_s

    # Calls

    async def launch(self, call: Call) -> Launch | None:
        """What Codex would be started with, and where."""
        if call.tool.name == REPLY:
            run = await self._latest(call, _thread(call))
            if run is None:
                # A thread that nobody knows is told of by the call itself.
                return None
            await self._ground.check_place(call.session, run.spec)
            return await self._launch(call, run.spec.arguments, run.spec.cwd)
        given = msgspec.json.decode(call.arguments, type=_Started)
        base = call.session.cwd or call.session.workspace or self._ground.workspace
        cwd = os.path.join(base, given.cwd)
        root = self._ground.root_for(call.session)
        cwd = await asyncio.to_thread(judge_cwd, cwd, root)
        return await self._launch(call, bytes(call.arguments).decode(), cwd)

    async def _launch(self, call: Call, arguments: str, cwd: str) -> Launch:
        profile = self._profile(arguments)
        mode = profile.fields.sandbox_mode
        writes = mode != "read-only"
        policy = profile.fields.approval_policy or "as Codex is set up"
        runs = f"Codex; model {profile.fields.model or 'of its own choice'}; approvals {policy}"
        trusted = await asyncio.to_thread(self._ground.trust.of, CODEX, cwd)
        return Launch(
            tool=call.tool,
            server=CODEX,
            fingerprint=_fingerprint(profile),
            runs=trusted.added_to(runs),
            cwd=cwd,
            is_foreign=False,
            sandbox="none" if mode == "danger-full-access" else f"Codex, {mode or 'as set up'}",
            side_effects=(
                "filesystem-read",
                *(("filesystem-write",) if writes else ()),
                "network",
            ),
            writable_roots=(cwd,) if writes else (),
            wish=task_wish("Codex", text="prompt"),
        )

    async def invoke(self, call: Call) -> Outcome:
        """Start a thread, or go on with one, and wait for its end as Codex would."""
        check_depth(call.session.depth)
        if call.tool.name == REPLY:
            return await self._reply(call)
        assert call.launch is not None, "a new thread has a launch"
        given = msgspec.json.decode(call.arguments, type=_Started)
        profile = self._profile(bytes(call.arguments).decode())
        spec = RunSpec(
            tool=CODEX,
            agent=CODEX,
            engine="codex",
            task=given.prompt,
            cwd=call.launch.cwd,
            workspace=self._ground.workspace,
            fingerprint=_fingerprint(profile),
            may_write=profile.fields.sandbox_mode != "read-only",
            limit_s=self._limit_s,
            arguments=bytes(call.arguments).decode(),
            depth=call.session.depth,
            root=self._ground.root_for(call.session),
        )
        return await self._start(call, spec)

    async def _reply(self, call: Call) -> Outcome:
        thread_id = _thread(call)
        run = await self._latest(call, thread_id)
        if run is None:
            return _refusal(thread_id, f"Session not found for thread_id: {thread_id}")
        if not run.has_ended:
            return _refusal(thread_id, f"The thread still works on run {run.id}: wait for it.")
        given = msgspec.json.decode(call.arguments, type=_Replied)
        spec = replace(
            await going_on_with(self._runs(), run, given.prompt),
            depth=call.session.depth,
            root=self._ground.root_for(call.session) or run.spec.root,
        )
        return await self._start(call, spec)

    async def _start(self, call: Call, spec: RunSpec) -> Outcome:
        return await self._calls.start(
            call,
            asked_by(call, spec),
            codex_answer,
            beside=self._relaying,
            waits_whole=True,
            may_be_task=True,
        )

    @asynccontextmanager
    async def _relaying(self, call: Call, run: Run) -> AsyncGenerator[None]:
        """Tell the client each event of a run while the block lasts, and the rest at its end."""
        if call.channel is None:
            yield
            return
        relay = _Relay(self._runs(), call, run)
        async with TaskSet() as tasks:
            tasks.start(relay.run())
            yield
        await relay.send()

    async def _latest(self, call: Call, thread_id: str) -> Run | None:
        """The last run of a thread of whoever calls."""
        if not thread_id:
            return None
        run = await self._runs().last_of_thread(self._ground.workspace, thread_id)
        if run is None or not is_own(run, self._ground.workspace, call.session):
            return None
        return run if run.spec.tool in CODEX_TOOLS else None

    # Runs

    def takes(self, spec: RunSpec) -> bool:
        return spec.tool in CODEX_TOOLS and (
            _fingerprint(self._profile(spec.arguments)) == spec.fingerprint
        )

    async def task(self, run: Run) -> EngineTask:
        trusted = await asyncio.to_thread(self._ground.trust.of, CODEX, run.spec.cwd)
        return EngineTask(
            profile=self._profile(run.spec.arguments),
            program=self._ground.programs.get(CODEX, ""),
            notices=trusted.notices,
            trusted_folder=trusted.folder,
        )

    def _profile(self, arguments: str) -> AgentProfile:
        given = msgspec.json.decode(arguments, type=_Started)
        fields = RunFields(
            model=given.model,
            sandbox_mode=given.sandbox or ("workspace-write" if self._is_guarded else None),
            approval_policy=given.approval_policy or ("on-request" if self._is_guarded else None),
        )
        return AgentProfile(
            name=CODEX,
            fields=fields,
            base_instructions=given.base_instructions,
            developer_instructions=given.developer_instructions,
            compact_prompt=given.compact_prompt,
            config=given.config,
        )


class _Relay:
    """Sends the events of a run to its client, each once."""

    def __init__(self, runs: Runs, call: Call, run: Run) -> None:
        assert call.channel is not None
        self._runs = runs
        self._channel = call.channel
        self._run = run
        self._events = CodexEvents(run, call.channel.request_id)
        self._after = 0
        self._news = asyncio.Event()
        self._sending = asyncio.Lock()

    async def run(self) -> None:
        forget = self._runs.follow(self._run.id, lambda _: self._news.set())
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_S):
                        await self._news.wait()
                self._news.clear()
                await self.send()
        finally:
            forget()

    async def send(self) -> None:
        async with self._sending:
            for event in await self._runs.transcript(self._run.id, after=self._after):
                self._after = event.number
                for params in self._events.of((event,)):
                    self._channel.notify(METHOD, params)


def _thread(call: Call) -> str:
    given = msgspec.json.decode(call.arguments, type=_Replied)
    return given.thread_id or given.conversation_id


def codex_answer(run: Run) -> Outcome:
    """What a client of Codex is told of a run: its end, or that it goes on."""
    content = run.output if run.has_ended else going_on(run)
    is_error = run.has_ended and run.state != "completed"
    return _outcome(run.thread_id, content, is_error=is_error, meta=about(run))


def _refusal(thread_id: str, said: str) -> Outcome:
    return _outcome(thread_id, said, is_error=True, meta={})


def _outcome(thread_id: str, content: str, *, is_error: bool, meta: dict[str, Any]) -> Outcome:
    structured = Raw(msgspec.json.encode({"threadId": thread_id, "content": content}))
    return Outcome(
        blocks=(TextBlock(content),), structured=structured, is_error=is_error, meta=meta
    )


def _fingerprint(profile: AgentProfile) -> str:
    return hashlib.sha256(msgspec.json.encode((CODEX, profile))).hexdigest()
