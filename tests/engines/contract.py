"""What every engine does, whichever program it is. A class of tests to inherit from.

An engine brings a `Stage`: the real program, whose model plays the scenes of `fakes.engines`.
"""

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

from fakes.engines import Fails, Hangs, Runs, Says, Scene
from support.processes import descendants_of, until_gone, until_true
from switchboard.core.faults import Fault
from switchboard.engines.engine import AgentEngine, EngineConversation, Reply, Verdict
from switchboard.engines.events import EngineEvent, Opened, Permission, TurnEnded
from switchboard.engines.profile import EngineSpec
from switchkit.reaper_client import Reaper

# Programs of this size take long to start where others run beside them.
PATIENCE = 120.0
# Nobody else's command has this length.
LONG = "sleep 98765"
Kind = TypeVar("Kind", bound=EngineEvent)


class Stage(Protocol):
    """One engine whose model plays scenes."""

    reaper: Reaper

    @property
    def engine(self) -> AgentEngine:
        """The engine under test."""
        ...

    def spec(self, **more: Any) -> EngineSpec:
        """A conversation in a working directory of its own, with `more` in its spec."""
        ...

    async def kill(self, conversation: EngineConversation) -> None:
        """Kill the program in the middle, as a person might."""
        ...


async def heard(
    conversation: EngineConversation,
    task: str = "Please do as the script says.",
    *,
    verdict: Verdict = "accept",
) -> list[EngineEvent]:
    """Give a task and answer every question alike; gives all events."""
    events: list[EngineEvent] = []
    async with asyncio.timeout(PATIENCE):
        async for event in conversation.turn(task):
            events.append(event)
            if isinstance(event, Permission):
                reply = Reply(verdict=verdict, reason="the test says so")
                await conversation.answer(event.request_id, reply)
    return events


def up_the_chain() -> str:
    """A command that shows the environment of each process that it came of, up to us."""
    script = (
        "import pathlib, os\n"
        "pid = os.getppid()\n"
        f"while pid not in (0, {os.getpid()}):\n"
        "    folder = pathlib.Path(f'/proc/{pid}')\n"
        "    print((folder / 'environ').read_bytes().split(b'\\0'))\n"
        "    pid = int((folder / 'stat').read_text().rpartition(')')[2].split()[1])\n"
    )
    return f"{sys.executable} -I -S -c {shlex.quote(script)}"


def ended(events: list[EngineEvent]) -> TurnEnded:
    """The last event, which is the only one of its kind."""
    last = events[-1]
    assert isinstance(last, TurnEnded), events
    assert [event for event in events if isinstance(event, TurnEnded)] == [last]
    return last


async def next_of(events: AsyncIterator[EngineEvent], kind: type[Kind]) -> Kind:
    """The next event of this kind."""
    async with asyncio.timeout(PATIENCE):
        async for event in events:
            assert not isinstance(event, TurnEnded) or kind is TurnEnded, event
            if isinstance(event, kind):
                return event
    raise AssertionError(f"no {kind.__name__} came")


class EngineContract:
    """The tests. A subclass gives `stage`."""

    # Whether a process stands behind it.
    is_real = True

    def stage(self, folder: Path, *scenes: Scene) -> AbstractAsyncContextManager[Stage]:
        raise NotImplementedError

    async def test_a_turn_opens_the_conversation_and_ends_with_the_answer(
        self, tmp_path: Path
    ) -> None:
        async with self.stage(tmp_path, Says("all done")) as stage:
            conversation = stage.engine.converse(stage.spec(), reaper=stage.reaper)
            assert conversation.pid == 0
            events = await heard(conversation)
            assert ended(events) == TurnEnded(status="completed", text="all done")
            opened = [event for event in events if isinstance(event, Opened)]
            assert [event.thread_id for event in opened] == [conversation.thread_id]
            assert conversation.thread_id
            await conversation.aclose()

    async def test_a_second_turn_goes_on_with_the_same_conversation(self, tmp_path: Path) -> None:
        async with self.stage(tmp_path, Says("one"), Says("two")) as stage:
            conversation = stage.engine.converse(stage.spec(), reaper=stage.reaper)
            assert ended(await heard(conversation)).text == "one"
            first, pid = conversation.thread_id, conversation.pid
            again = await heard(conversation, "And now the rest.")
            assert ended(again).text == "two"
            assert not [event for event in again if isinstance(event, Opened)]
            assert (conversation.thread_id, conversation.pid) == (first, pid)
            await conversation.aclose()

    @pytest.mark.parametrize(("verdict", "is_run"), [("accept", True), ("decline", False)])
    async def test_a_command_that_must_be_asked_for_waits_for_the_answer(
        self, tmp_path: Path, verdict: Verdict, is_run: bool
    ) -> None:
        async with self.stage(tmp_path, Runs("touch made", asks=True), Says("on I go")) as stage:
            spec = stage.spec()
            made = Path(spec.cwd) / "made"
            conversation = stage.engine.converse(spec, reaper=stage.reaper)
            turn = conversation.turn("Please do as the script says.")
            asked = await next_of(turn, Permission)
            assert asked.kind == "command"
            assert "touch made" in asked.subject
            assert not made.exists()
            await conversation.answer(asked.request_id, Reply(verdict=verdict))
            last = await next_of(turn, TurnEnded)
            assert (last.status, last.text) == ("completed", "on I go")
            assert made.exists() == is_run
            await conversation.aclose()

    async def test_an_answer_that_nobody_waits_for_is_ignored(self, tmp_path: Path) -> None:
        async with self.stage(tmp_path, Says("all done")) as stage:
            conversation = stage.engine.converse(stage.spec(), reaper=stage.reaper)
            await conversation.answer("nobody", Reply(verdict="accept"))
            assert ended(await heard(conversation)).text == "all done"
            await conversation.answer("nobody", Reply(verdict="accept"))
            await conversation.aclose()

    async def test_a_question_that_nobody_answers_is_declined_when_it_is_closed(
        self, tmp_path: Path
    ) -> None:
        async with self.stage(tmp_path, Runs("touch made", asks=True), Says("never")) as stage:
            spec = stage.spec()
            conversation = stage.engine.converse(spec, reaper=stage.reaper)
            turn = conversation.turn("Please do as the script says.")
            await next_of(turn, Permission)
            await conversation.aclose()
            last = await next_of(turn, TurnEnded)
            assert last.status in {"failed", "interrupted"}
            assert not (Path(spec.cwd) / "made").exists()

    async def test_an_interrupted_turn_ends_as_interrupted(self, tmp_path: Path) -> None:
        async with self.stage(tmp_path, Hangs()) as stage:
            conversation = stage.engine.converse(stage.spec(), reaper=stage.reaper)
            turn = conversation.turn("Please do as the script says.")
            await next_of(turn, Opened)
            waiting = asyncio.ensure_future(next_of(turn, TurnEnded))
            await self.until_it_hangs(stage)
            await conversation.interrupt()
            assert (await waiting).status == "interrupted"
            await conversation.aclose()

    async def until_it_hangs(self, stage: Stage) -> None:
        """Wait until the model has been asked; a stage that can tell says so here."""
        del stage
        await asyncio.sleep(0)

    async def test_a_service_that_refuses_fails_the_turn_with_its_kind(
        self, tmp_path: Path
    ) -> None:
        async with self.stage(tmp_path, Fails("not-logged-in")) as stage:
            conversation = stage.engine.converse(stage.spec(), reaper=stage.reaper)
            last = ended(await heard(conversation))
            assert last.status == "failed"
            assert last.failure is not None
            assert last.failure.kind == "not-logged-in", last
            await conversation.aclose()

    async def test_a_program_that_is_killed_fails_the_turn(self, tmp_path: Path) -> None:
        async with self.stage(tmp_path, Hangs()) as stage:
            conversation = stage.engine.converse(stage.spec(), reaper=stage.reaper)
            turn = conversation.turn("Please do as the script says.")
            await next_of(turn, Opened)
            waiting = asyncio.ensure_future(next_of(turn, TurnEnded))
            await self.until_it_hangs(stage)
            await stage.kill(conversation)
            last = await waiting
            assert last.status == "failed"
            assert last.failure is not None
            assert last.failure.kind == "engine-crashed"
            await conversation.aclose()

    async def test_nothing_can_be_added_where_no_turn_is_under_way(self, tmp_path: Path) -> None:
        async with self.stage(tmp_path, Says("all done")) as stage:
            conversation = stage.engine.converse(stage.spec(), reaper=stage.reaper)
            with pytest.raises(Fault):
                await conversation.steer("and hurry")
            await heard(conversation)
            with pytest.raises(Fault):
                await conversation.steer("and hurry")
            await conversation.aclose()

    async def test_it_can_be_closed_before_it_began_and_twice(self, tmp_path: Path) -> None:
        async with self.stage(tmp_path, Says("all done")) as stage:
            conversation = stage.engine.converse(stage.spec(), reaper=stage.reaper)
            await conversation.aclose()
            await conversation.aclose()
            late = ended(await heard(conversation))
            assert late.status == "failed"
            other = stage.engine.converse(stage.spec(), reaper=stage.reaper)
            await heard(other)
            await other.aclose()
            await other.aclose()

    async def test_closing_ends_the_program_and_what_it_runs(self, tmp_path: Path) -> None:
        async with self.stage(tmp_path, Runs(LONG, asks=True)) as stage:
            if not self.is_real:
                return
            conversation = stage.engine.converse(stage.spec(), reaper=stage.reaper)
            turn = conversation.turn("Please do as the script says.")
            asked = await next_of(turn, Permission)
            await conversation.answer(asked.request_id, Reply(verdict="accept"))
            rest = asyncio.ensure_future(next_of(turn, TurnEnded))
            pid = conversation.pid
            await until_true(lambda: any(map(_sleeps, descendants_of(pid))))
            family = [pid, *descendants_of(pid)]
            await conversation.aclose()
            await until_gone(family)
            await rest

    async def test_it_tells_its_program_and_version(self, tmp_path: Path) -> None:
        async with self.stage(tmp_path) as stage:
            spec = stage.spec()
            readiness = await stage.engine.ready(self.environment(spec))
            assert readiness.problem == ""
            assert readiness.version
            assert readiness.program

    def environment(self, spec: EngineSpec) -> Mapping[str, str]:
        return spec.env


def _sleeps(pid: int) -> bool:
    line = Path(f"/proc/{pid}/cmdline")
    try:
        return line.read_bytes().split(b"\0")[:2] == LONG.encode().split()
    except OSError:
        return False
