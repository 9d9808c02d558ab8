"""A command as a client of a board: its calls pass the same gates as those of other clients.

A command shows every server as a suite, and passes results on as the server wrote them. So it has
a view of its own on the board, over the same children.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from switchboard import __version__
from switchboard.children.exposure import SuiteSettings
from switchboard.control.api import Hear
from switchboard.control.requests import USAGE, CallRequest, IntrospectRequest, TokensRequest
from switchboard.control.tools import (
    CallAnswer,
    Failure,
    IntrospectAnswer,
    IntrospectedSuite,
    ServerTools,
    Subtool,
    TokensAnswer,
)
from switchboard.control.typed_arguments import typed_arguments
from switchboard.core.board import Board
from switchboard.core.calls.call import Call, Outcome, TextBlock
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.events import ApprovalAsked, Event, SessionClosed, SessionOpened
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import Asker
from switchboard.core.sessions import ChosenAccount, Era, Session
from switchboard.daemon.ancestors import NOBODY, Acting, runs_above
from switchboard.daemon.board.assemble import usable_here
from switchboard.daemon.board.runtime import Runtime
from switchboard.daemon.desk.plain_views import as_suites, in_full, unopened
from switchboard.daemon.desk.preset_listings import preset_listings
from switchboard.daemon.desk.start_news import telling_starts
from switchboard.daemon.sessions.client_programs import asking_program
from switchboard.providers.table import only_leads
from switchboard.settings.sections import Settings
from switchboard.settings.server_names import server_left_out, suite_for
from switchboard.settings.validate import shown_name
from switchboard.surface.results import outcome_parts


class _Introspection(Struct):
    tools: tuple[Subtool, ...]
    instructions: str = ""


class Caller:
    """One command, for as long as its session is open."""

    def __init__(self, runtime: Runtime, session: Session) -> None:
        self._runtime = runtime
        self._session = session
        self._calls = 0

    async def call(
        self, request: CallRequest, *, asker: Asker | None = None, hear: Hear | None = None
    ) -> CallAnswer:
        """Call one tool. Raises a fault, which names the call if there was one."""
        settings = self._runtime.settings
        # A question at the terminal counts where any answer of a client does.
        asker = asker if settings.approval_channel == "any" else None
        settings = unopened(as_suites(settings))

        asked: Hear = hear if hear is not None and asker is None else lambda _: None

        def notice(event: Event, /) -> None:
            if isinstance(event, ApprovalAsked) and event.session_id == self._session.id:
                asked(event)

        self._runtime.events.subscribe(notice)
        try:
            async with (
                telling_starts(self._runtime.reachable, hear),
                self._runtime.view(settings) as board,
            ):
                suite, tool, _ = _wanted(board, settings, request)
                self._use(request, suite, tool)
                # Nobody is asked about a call that cannot work.
                if request.pairs or (asker is not None and suite and tool):
                    request = await self._typed(board, suite, tool, request)
                _, _, arguments = _wanted(board, settings, request)
                with self._attended(settings, suite, tool, asker, hear):
                    outcome = await self._call(board, suite or tool, arguments, asker, hear)
        except Fault as fault:
            if self._calls:
                fault.details = {**fault.details, "call_id": self._call_id}
            raise
        finally:
            self._runtime.events.unsubscribe(notice)
        result = Raw(b"".join(bytes(part) for part in outcome_parts(outcome, Era.HANDSHAKE)))
        if outcome.on_delivered is not None:
            # A command does not call a second time: each is a session of its own.
            outcome.on_delivered()
        return CallAnswer(suite=suite, tool=tool, result=result, call_id=self._call_id)

    async def introspect(
        self, request: IntrospectRequest, *, hear: Hear | None = None
    ) -> IntrospectAnswer:
        """The tools of one suite, or everything there is to call. Raises a fault."""
        settings = as_suites(self._runtime.settings)
        if request.full:
            settings = in_full(settings)
        async with (
            telling_starts(self._runtime.reachable, hear),
            self._runtime.view(settings) as board,
        ):
            suites, others = _divided(board, settings)
            if spec := others.get(request.name):
                _refuse_subtool(request.name, request.subtool)
                self._use(request, "", request.name)
                return IntrospectAnswer(tools=(_described(spec, self._session),), tool=request.name)
            if request.name:
                suite = suite_for(settings, request.name)
                self._use(request, suite, request.subtool)
                # A single failure is the command's own, and is raised.
                asked = await self._subtools(board, suite, request.subtool)
                return IntrospectAnswer(suites=(asked,), tool=request.subtool)
            return IntrospectAnswer(
                suites=(
                    *await self._introspected(board, suites),
                    *await asyncio.to_thread(_unusable, settings),
                ),
                tools=tuple(_described(spec, self._session) for spec in _plain(others)),
            )

    async def tokens(self, request: TokensRequest, *, hear: Hear | None = None) -> TokensAnswer:
        """Every server with its own tools, and with what clients are shown instead."""
        settings = self._runtime.settings
        entries = {shown_name(entry, settings.suites): entry for entry in settings.servers}
        # Direct connections know no `expose` lists, so the count does without them.
        unlisted = {
            name: replace(suite, allow=None, deny=()) for name, suite in settings.suites.items()
        }
        # Nor do they know of sentences.
        plain = tuple(replace(entry, natural_language=False) for entry in settings.servers)
        view = in_full(as_suites(replace(settings, suites=unlisted, servers=plain)))
        async with telling_starts(self._runtime.reachable, hear), self._runtime.view(view) as board:
            suites, _ = _divided(board, view)
            # As clients see them: what a list hides is not told in a description either.
            listed = self._runtime.assembly.catalog.tools
            servers: list[ServerTools] = []
            for each in await self._introspected(board, suites, request.patience_s):
                entry = entries[each.suite]
                lists = settings.suites.get(entry.name, SuiteSettings())
                visible = Visibility(lists.allow, lists.deny)
                shown = (
                    (_described(listed.get(each.suite, suites[each.suite]), self._session),)
                    if entry.expose == "suite"
                    else tuple(
                        replace(tool, name=entry.tool_prefix + tool.name)
                        for tool in each.tools
                        if visible.shows(tool.name)
                    )
                )
                servers.append(
                    ServerTools(
                        server=entry.name,
                        suite=each.suite,
                        tools=each.tools,
                        shown=shown,
                        failure=each.failure,
                    )
                )
        presets = preset_listings(settings, self._runtime.assemble, self._session)
        return TokensAnswer(servers=tuple(servers), presets=await asyncio.to_thread(tuple, presets))

    @contextmanager
    def _attended(
        self, settings: Settings, suite: str, tool: str, asker: Asker | None, hear: Hear | None
    ) -> Generator[None]:
        """Have this command told of hosts that what it calls wants to reach."""
        name, asks = tool, True
        if suite:
            named = (
                each for each in settings.servers if shown_name(each, settings.suites) == suite
            )
            entry = next(named, None)
            name, asks = (entry.name, entry.egress_ask) if entry is not None else ("", False)
        if hear is None or not asks:
            yield
            return
        # Few have hosts that are asked about.
        from switchboard.daemon.board.egress_questions import Attendant  # noqa: PLC0415

        with self._runtime.engine.egress.attended(name, Attendant(hear, asker)):
            yield

    def _use(self, request: CallRequest | IntrospectRequest, suite: str, tool: str) -> None:
        """Use the login or the worktree that is named. Raises a fault for what is no server's."""
        account, worktree = request.account, request.worktree
        if (account or worktree) and not suite:
            has = "accounts" if account else "worktrees"
            message = f"`{tool}` is not of a server, so it has no {has}"
            raise Fault(FaultCode.INVALID_ARGUMENT, USAGE, message)
        if account:
            self._session = replace(self._session, account=ChosenAccount(account))
        if worktree:
            self._session = replace(self._session, worktree=worktree)

    async def _typed(
        self, board: Board, suite: str, tool: str, request: CallRequest
    ) -> CallRequest:
        """The request with its pairs read by the schema of the tool. Raises a fault."""
        if suite:
            (found,) = (await self._subtools(board, suite, tool)).tools
            raw = found.input_schema
        else:
            raw = board.catalog.tools[tool].input_schema
        schema: dict[str, Any] = msgspec.json.decode(raw)
        given: dict[str, Any] = msgspec.json.decode(request.arguments)
        typed = typed_arguments(request.pairs, schema, tool, given)
        return replace(request, arguments=Raw(msgspec.json.encode(typed)))

    @property
    def _call_id(self) -> str:
        return f"{self._session.id}-{self._calls}"

    async def _call(
        self,
        board: Board,
        tool: str,
        arguments: Mapping[str, Any] | Raw,
        asker: Asker | None = None,
        tell: Hear | None = None,
    ) -> Outcome:
        spec = board.catalog.tools.get(tool)
        if spec is None:
            # A server that cannot run here says so itself.
            await asyncio.to_thread(lambda: suite_for(usable_here(self._runtime.settings), tool))
            raise Fault(
                FaultCode.NOT_FOUND,
                "unknown-tool",
                f"the tool `{tool}` is not shown to clients",
                hint="switchboard config explain tools.deny",
            )
        self._calls += 1
        call = Call(
            id=self._call_id,
            session=self._session,
            tool=spec,
            arguments=Raw(msgspec.json.encode(arguments)),
            asker=asker,
            tell=tell,
        )
        return await board.pipeline(call)

    async def _introspected(
        self, board: Board, suites: Mapping[str, ToolSpec], patience_s: float = 0.0
    ) -> tuple[IntrospectedSuite, ...]:
        """Ask every suite at once; one that fails, or takes long, does not hide the others."""

        async def one(suite: str) -> IntrospectedSuite:
            try:
                async with asyncio.timeout(patience_s or None):
                    return await self._subtools(board, suite)
            except TimeoutError:
                fault = Fault(FaultCode.UNAVAILABLE, "server-starting", f"`{suite}` still starts")
            except Fault as refused:
                fault = refused
            return IntrospectedSuite(suite=suite, failure=Failure.of(fault))

        return tuple(await asyncio.gather(*map(one, suites)))

    async def _subtools(self, board: Board, suite: str, subtool: str = "") -> IntrospectedSuite:
        arguments = {"action": "introspect", **({"subtool": subtool} if subtool else {})}
        outcome = await self._call(board, suite, arguments)
        text = "".join(block.text for block in outcome.blocks if isinstance(block, TextBlock))
        told = msgspec.json.decode(text, type=_Introspection)
        return IntrospectedSuite(suite=suite, tools=told.tools, instructions=told.instructions)


@asynccontextmanager
async def open_caller(
    runtime: Runtime,
    *,
    cwd: str,
    via: str = "cli",
    pid: int = 0,
    acting: Acting = NOBODY,
    is_pinned: bool = False,
) -> AsyncGenerator[Caller]:
    """A command's session on a board, which ends with the block."""
    session = Session(
        # Of this command alone: two of them are two in the log, also at the same time.
        id=os.urandom(5).hex(),
        via=via,
        workspace=runtime.settings.workspace,
        cwd=cwd,
        started_in=cwd,
        client=f"switchboard {__version__}",
        started_at=time.time(),
        client_pid=asking_program(pid),
        on_behalf_of=acting.pids,
        acts_for=acting.words,
        depth=runs_above(pid) if pid else 0,
        is_pinned=is_pinned,
    )
    runtime.events.emit(SessionOpened(session_id=session.id, via=session.via))
    try:
        yield Caller(runtime, session)
    finally:
        runtime.events.emit(SessionClosed(session_id=session.id, reason="the command ended"))


def _wanted(
    board: Board, settings: Settings, request: CallRequest
) -> tuple[str, str, Mapping[str, Any] | Raw]:
    """The suite, the tool and the arguments of a call; a tool that is in none has no suite."""
    if request.name in _divided(board, settings)[1]:
        _refuse_subtool(request.name, request.subtool)
        return "", request.name, request.arguments
    suite = suite_for(settings, request.name)
    if not request.subtool:
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            USAGE,
            f"`{request.name}` is a suite: say which of its tools",
            hint=f"switchboard introspect {request.name}",
        )
    arguments = {"action": "call", "subtool": request.subtool, "args": request.arguments}
    return suite, request.subtool, arguments


def _unusable(settings: Settings) -> tuple[IntrospectedSuite, ...]:
    """The servers that cannot run on this machine, with the reason."""
    here = usable_here(settings)
    return tuple(
        IntrospectedSuite(
            suite=shown_name(each.entry, settings.suites),
            failure=Failure.of(server_left_out(each.entry.name, each.reason, each.hint)),
        )
        for each in here.omitted[len(settings.omitted) :]
    )


def _refuse_subtool(tool: str, subtool: str) -> None:
    """A tool that is in no suite has no tools of its own."""
    if subtool:
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            USAGE,
            f"`{tool}` is not a suite, so it has no tool `{subtool}`",
            hint=f'switchboard call {tool} --args \'{{"name": "value"}}\'',
        )


def _divided(
    board: Board, settings: Settings
) -> tuple[Mapping[str, ToolSpec], Mapping[str, ToolSpec]]:
    """The tools that stand for a server each, and those that stand for themselves."""
    names = {shown_name(entry, settings.suites) for entry in settings.servers}
    tools = board.catalog.tools
    return (
        {name: spec for name, spec in tools.items() if name in names},
        {name: spec for name, spec in tools.items() if name not in names},
    )


def _plain(tools: Mapping[str, ToolSpec]) -> list[ToolSpec]:
    """Without those by which models reach what is told of anyway."""
    specs = (spec for spec in tools.values() if spec.behind is None)
    return [spec for spec in specs if not only_leads(spec.provider)]


def _described(spec: ToolSpec, session: Session) -> Subtool:
    text = spec.described_to(session)
    return Subtool(name=spec.name, summary=text, input_schema=spec.input_schema)
