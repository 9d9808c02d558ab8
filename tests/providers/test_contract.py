"""What every provider of the table has to do, whatever it is made of."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from fakes.events import MemoryEvents
from providers.cases import CASES, Case, Json, Use
from support.processes import mentioning, wait_until_none_mention
from support.workspace import Workspace
from switchboard.core.bus import EventBus
from switchboard.core.calls.call import Call, Outcome, TextBlock
from switchboard.core.events import CallStarted
from switchboard.core.faults import Fault
from switchboard.core.sessions import Session
from switchboard.daemon.board.assemble import assemble
from switchboard.daemon.board.runtime import Runtime, running
from switchboard.providers.table import TABLE, configured, source_of
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Settings

PATIENCE = 60.0


class Board:
    """A board in this process on which one provider has something to do."""

    def __init__(self, key: str, workspace: Workspace) -> None:
        self.key = key
        self.case: Case = CASES[key]
        self.workspace = workspace
        self.case.configure(workspace)
        self.events = MemoryEvents()

    def settings(self) -> Settings:
        return load_settings(workspace=str(self.workspace.root), environ=self.workspace.env)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Runtime]:
        bus = EventBus(self.events.emit)
        async with (
            asyncio.timeout(PATIENCE),
            running(self.settings(), environ=self.workspace.env, events=bus) as runtime,
        ):
            yield runtime

    async def call(self, runtime: Runtime, use: Use) -> Call:
        session = Session(id="one", via="test", workspace=str(self.workspace.root))
        with runtime.boards.lease() as board:
            spec = board.catalog.tools.get(use.tool)
            if spec is None:
                assert board.directory is not None
                spec = await board.directory().tool(use.tool, session, None)
        assert spec is not None
        arguments = Raw(msgspec.json.encode(await self._with_handle(runtime, use)))
        return Call(id="c-1", session=session, tool=spec, arguments=arguments)

    async def _with_handle(self, runtime: Runtime, use: Use) -> Json:
        """The arguments, with the handle of what had to be called before."""
        if self.case.first is None or use is not self.case.right:
            return use.arguments
        outcome = await self.use(runtime, self.case.first)
        handle = outcome.meta["switchboard/result"]["handle"]
        return {key: handle if value == "HANDLE" else value for key, value in use.arguments.items()}

    async def use(self, runtime: Runtime, use: Use) -> Outcome:
        call = await self.call(runtime, use)
        with runtime.boards.lease() as board:
            return await board.pipeline(call)


def words_of(outcome: Outcome) -> str:
    own = "".join(block.text for block in outcome.blocks if isinstance(block, TextBlock))
    return own + (bytes(outcome.raw).decode() if outcome.raw is not None else "")


@pytest.fixture(params=sorted(TABLE))
def board(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Board]:
    yield Board(request.param, Workspace(tmp_path))
    wait_until_none_mention(str(tmp_path))


def test_every_provider_of_the_table_has_a_case() -> None:
    assert set(CASES) == set(TABLE)


def test_its_plug_has_the_key_and_the_section_that_the_table_says() -> None:
    for key, row in TABLE.items():
        source = source_of(key)
        assert source.key == key
        assert (source.section.name if source.section else "") == row.section


def test_it_lists_without_starting_anything(board: Board) -> None:
    settings = board.settings()
    assert board.key in {source.key for source in configured(settings)}
    assembly = assemble(settings, board.workspace.env)
    listed = assembly.listed[board.key]
    assert all(spec.provider == board.key for spec in listed.specs)
    if board.case.lists_when_running:
        assert "tools" in listed.offers
    else:
        assert board.case.right.tool in assembly.catalog.tools
    assert mentioning(str(board.workspace.root)) == []


def test_what_it_reads_of_the_configuration_can_be_compared(board: Board) -> None:
    assert board.settings() == board.settings()


async def test_it_narrows_without_an_effect(board: Board) -> None:
    async with board.running() as runtime:
        runtime.warm()
        call = await board.call(runtime, board.case.right)
        before = mentioning(str(board.workspace.root))
        built = runtime.engine.build(runtime.settings, runtime.assembly)
        narrowed = await built.providers[board.key].narrow(call)
        # What one finds is another's.
        assert board.key in {narrowed.tool.provider, "find"}
        assert narrowed.id == call.id
        if before or not runtime.settings.is_guarded:
            assert mentioning(str(board.workspace.root)) == before
        await built.aclose()


async def test_it_answers(board: Board) -> None:
    async with board.running() as runtime:
        outcome = await board.use(runtime, board.case.right)
        assert not outcome.is_error
        assert board.case.answer in words_of(outcome)


async def test_it_fails_by_a_fault_with_a_reason(board: Board) -> None:
    async with board.running() as runtime:
        with pytest.raises(Fault) as fault:
            await board.use(runtime, board.case.wrong)
        assert fault.value.reason == board.case.reason
        # It goes on answering.
        assert board.case.answer in words_of(await board.use(runtime, board.case.right))


async def test_a_call_can_be_cancelled_and_others_go_on(board: Board) -> None:
    async with board.running() as runtime:
        await board.use(runtime, board.case.right)
        use = board.case.slow or board.case.right
        task = asyncio.ensure_future(board.use(runtime, use))
        await board.events.wait_for(CallStarted, 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert board.case.answer in words_of(await board.use(runtime, board.case.right))


async def test_a_reload_keeps_calls_and_answers_on_the_new_board(board: Board) -> None:
    async with board.running() as runtime:
        await board.use(runtime, board.case.right)
        old = runtime.boards.current
        with runtime.boards.lease() as held:
            runtime.adopt(replace(runtime.settings, warnings=()))
            assert runtime.boards.current is not old
            call = await board.call(runtime, board.case.right)
            assert board.case.answer in words_of(await held.pipeline(call))
        assert board.case.answer in words_of(await board.use(runtime, board.case.right))


async def test_nothing_is_left_when_it_is_closed(board: Board) -> None:
    async with board.running() as runtime:
        await board.use(runtime, board.case.right)
        use = board.case.slow or board.case.right
        task = asyncio.ensure_future(board.use(runtime, use))
        await board.events.wait_for(CallStarted, 2)
        task.cancel()
    # The fixture waits until no process mentions the workspace.
    await asyncio.wait([task])
    assert task.done()
