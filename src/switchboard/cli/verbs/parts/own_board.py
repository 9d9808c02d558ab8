"""A board in this process, for one command; its children end with it."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from switchboard.cli.printer import Talk
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.asking import Terminal
from switchboard.cli.verbs.parts.board import progress_of
from switchboard.cli.verbs.parts.loading import settings_of_trees, usable_for
from switchboard.control.api import Hear
from switchboard.control.requests import BoardRequest, CallRequest, IntrospectRequest
from switchboard.core.bus import EventBus
from switchboard.core.calls.call_steps import CallStep
from switchboard.core.events import ApprovalAsked
from switchboard.core.questions import BY_CLIENT, Answer, Question
from switchboard.daemon.board.reload import LoadTree
from switchboard.daemon.board.runtime import running
from switchboard.daemon.caller import Caller, open_caller
from switchboard.settings.sections import Settings
from switchboard.settings.validate import shown_name
from switchkit.cli.columns import counted

T = TypeVar("T", bound=Struct)


def ask_own_board(
    request: CommandRequest, wanted: BoardRequest, kind: type[T], hear: Hear, why: str = ""
) -> T:
    """What a board of this process answers; `why` says what is wrong with the daemon, if anything.

    Ctrl-C cancels the work, which ends its children.
    """
    settings = usable_for(request)
    if why:
        request.talk.say(f"warning: {why}; running in this process instead")
    answer = asyncio.run(_answer(request, settings, wanted, hear))
    assert isinstance(answer, kind)
    return answer


async def _answer(
    request: CommandRequest, settings: Settings, wanted: BoardRequest, hear: Hear
) -> Struct:
    request.talk.progress(_progress(settings, wanted))
    async with own_caller(
        settings,
        request.environ,
        is_pinned=request.is_pinned,
        load_tree=settings_of_trees(request),
    ) as caller:
        if isinstance(wanted, CallRequest):
            return await _called(caller, wanted, request.talk, hear)
        if isinstance(wanted, IntrospectRequest):
            return await caller.introspect(wanted, hear=hear)
        return await caller.tokens(wanted, hear=hear)


async def _called(caller: Caller, wanted: CallRequest, talk: Talk, hear: Hear) -> Struct:
    runs: list[str] = []

    def heard(news: ApprovalAsked | CallStep, /) -> None:
        if isinstance(news, CallStep) and news.run_id:
            runs.append(news.run_id)
        hear(news)

    asker = TerminalAsker(talk) if wanted.asks else None
    try:
        return await caller.call(wanted, asker=asker, hear=heard)
    except asyncio.CancelledError:
        if runs:
            # Before the board ends: that would interrupt the run, which is another thing.
            arguments = Raw(msgspec.json.encode({"run_id": runs[-1]}))
            await caller.call(CallRequest(name="run_cancel", arguments=arguments))
        raise


def _progress(settings: Settings, wanted: BoardRequest) -> str:
    names = {shown_name(entry, settings.suites): entry.name for entry in settings.servers}
    if isinstance(wanted, IntrospectRequest):
        for suite, server in names.items():
            if wanted.name in {suite, server}:
                return f"starting the server of {suite} …"
    if isinstance(wanted, CallRequest):
        return progress_of(wanted)
    return f"starting {counted(len(names), 'server')} …"


@asynccontextmanager
async def own_caller(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    is_pinned: bool = False,
    load_tree: LoadTree | None = None,
    events: EventBus | None = None,
) -> AsyncGenerator[Caller]:
    """This command as the only client of a board."""
    heard = events or EventBus()
    async with (
        running(settings, environ=environ, events=heard, load_tree=load_tree) as runtime,
        open_caller(runtime, cwd=os.getcwd(), pid=os.getpid(), is_pinned=is_pinned) as caller,
    ):
        yield caller


class TerminalAsker:
    """Asks at the terminal of the command itself."""

    def __init__(self, talk: Talk) -> None:
        self._terminal = Terminal(talk)

    async def ask(self, question: Question, /) -> Answer:
        self._terminal.show(question)
        await _typed()
        return Answer(verdict=self._terminal.take(), by=BY_CLIENT, at=time.time())


async def _typed() -> None:
    """Wait until a line was typed. A thread that reads could not be stopped when time is up."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(sys.stdin.fileno(), lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(sys.stdin.fileno())
