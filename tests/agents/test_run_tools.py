"""The tools and the resource that lead to runs."""

import asyncio
import json
import os
import time
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.ground import AgentBoard, board, text_of
from fakes.engines import Hangs, Runs, Says
from fakes.runs import MemoryRuns
from support.processes import until_true
from switchboard.core.calls.contents import Reading
from switchboard.core.sessions import Session
from switchboard.providers.agents.run_tools.specs import run_specs
from switchboard.providers.agents.work.conversation_folders import ConversationFolders
from switchboard.runs.run import Run, RunState

DAY_S = 86_400.0
SESSION = Session(id="session", via="stdio", workspace="/workspace")


async def test_a_run_that_was_left_is_waited_for_and_delivered(home: Path) -> None:
    async with board(home, Runs("touch a", asks=True), Says("done"), patience=1) as desk:
        await desk.ask_agent()
        waiting = asyncio.ensure_future(desk.outcome("run_wait", {"run_id": desk.run.id}))
        await desk.decide(await desk.until_asked())
        assert text_of(await waiting) == {"ok": True, "output": "done"}
        assert desk.run.is_delivered


async def test_a_wait_is_no_longer_than_it_is_told(home: Path) -> None:
    async with board(home, Hangs(), patience=1) as desk:
        await desk.ask_agent()
        outcome = await desk.outcome("run_wait", {"run_id": desk.run.id, "timeout_s": 0})
        assert "goes on" in text_of(outcome)["output"]


async def test_the_status_tells_what_a_run_does(home: Path) -> None:
    async with board(home, Runs("touch a"), Hangs(), patience=1) as desk:
        await desk.ask_agent()
        told = text_of(await desk.outcome("run_status", {"run_id": desk.run.id}))
        assert told["ok"] is True
        assert told["run"]["state"] == "working"
        assert told["run"]["doing"] == "runs touch a"


async def test_the_output_goes_on_where_it_stopped(home: Path) -> None:
    async with board(home, Runs("touch a"), Says("done")) as desk:
        await desk.ask_agent()
        first = text_of(await desk.outcome("run_output", {"run_id": desk.run.id}))
        assert "$ touch a (exit status 0)" in first["output"]
        assert first["output"].endswith("done")
        rest = text_of(
            await desk.outcome("run_output", {"run_id": desk.run.id, "after": first["after"]})
        )
        assert rest["output"] == ""


async def test_a_run_is_cancelled_once(home: Path) -> None:
    async with board(home, Hangs(), patience=1) as desk:
        await desk.ask_agent()
        told = text_of(await desk.outcome("run_cancel", {"run_id": desk.run.id}))
        assert told["run"]["state"] == "cancelled"
        again = text_of(await desk.outcome("run_cancel", {"run_id": desk.run.id}))
        assert "had ended already" in again["output"]
        assert len(desk.runs.cancelled) == 1


async def test_a_cancelled_run_is_told_of_as_what_became_of_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with board(home, Hangs(), patience=1) as desk:
        await desk.ask_agent()
        run = desk.run

        async def cancel(_: str, state: RunState) -> Run:
            return replace(run, state=state)

        became: dict[RunState, str] = {
            "working": "was told to end, and has not yet: working.",
            "completed": "ended before it could be cancelled: completed.",
        }
        for state, said in became.items():
            monkeypatch.setattr(desk.runs, "cancel", partial(cancel, state=state))
            told = text_of(await desk.outcome("run_cancel", {"run_id": run.id}))
            assert told["output"] == f"Run {run.id} {said}"
            assert told["run"]["state"] == state


async def test_a_run_that_works_is_told_more(home: Path) -> None:
    async with board(home, Hangs(), patience=1) as desk:
        await desk.ask_agent()
        await desk.outcome("run_steer", {"run_id": desk.run.id, "text": "faster"})
        assert desk.conversation.steered == ["faster"]


async def test_a_reply_goes_on_with_the_conversation_in_its_folder(home: Path) -> None:
    async with board(home, Says("done")) as desk:
        await desk.ask_agent()
        first = desk.run
        outcome = await desk.outcome("run_reply", {"run_id": first.id, "task": "and now?"})
        assert text_of(outcome)["ok"] is True
        one, two = desk.engine.conversations
        assert two.spec.resume == first.thread_id == two.thread_id
        assert two.spec.folder == one.spec.folder
        assert two.tasks == ["and now?"]
        assert len(desk.runs.runs) == 2


async def test_a_reply_needs_no_run_but_the_one_before_it(home: Path) -> None:
    async with board(home, Says("done")) as desk:
        await desk.ask_agent()
        first = desk.run
        await desk.outcome("run_reply", {"run_id": first.id, "task": "two"})
        second = _latest(desk)
        del desk.runs.runs[first.id]
        await desk.outcome("run_reply", {"run_id": second.id, "task": "three"})
        third = _latest(desk)
        assert third.state == "completed"
        # The folder bears the name of the first run, and stays with the last one alone.
        del desk.runs.runs[second.id]
        assert _outlives_sweep(desk, await desk.runs.conversations())
        await desk.outcome("run_reply", {"run_id": third.id, "task": "four"})
        assert _latest(desk).state == "completed"
        assert len(desk.engine.conversations) == 4
        assert len({each.spec.folder for each in desk.engine.conversations}) == 1
        assert {each.thread_id for each in desk.engine.conversations} == {first.thread_id}


async def test_a_reply_that_an_earlier_version_wrote_down_is_gone_on_with(home: Path) -> None:
    async with board(home, Says("done")) as desk:
        await desk.ask_agent()
        first = desk.run
        await desk.outcome("run_reply", {"run_id": first.id, "task": "two"})
        second = _latest(desk)
        # It named the run before it, and no more.
        spec = replace(second.spec, conversation="", resumes="")
        desk.runs.runs[second.id] = replace(second, spec=spec)
        again = await desk.runs.start(replace(spec, request_key="again"))
        assert (await desk.runs.wait(again.id, within_s=10)).state == "completed"
        del desk.runs.runs[first.id]
        await desk.outcome("run_reply", {"run_id": second.id, "task": "three"})
        assert _latest(desk).state == "completed"
        assert len({each.spec.folder for each in desk.engine.conversations}) == 1
        assert {each.thread_id for each in desk.engine.conversations} == {first.thread_id}


async def test_one_conversation_is_gone_on_with_once_at_a_time(home: Path) -> None:
    async with board(home, Says("done"), patience=1) as desk:
        await desk.ask_agent()
        first = desk.run
        await desk.outcome("run_reply", {"run_id": first.id, "task": "two"})
        second = _latest(desk)
        desk.engine.scenes = (Hangs(),)
        await desk.outcome("run_reply", {"run_id": second.id, "task": "three"})
        for earlier in (first, second):
            fault = await desk.refusal("run_reply", {"run_id": earlier.id, "task": "four"})
            assert fault.reason == "run-goes-on"
            assert _latest(desk).id in fault.message


async def test_a_reply_to_a_run_that_works_is_refused(home: Path) -> None:
    async with board(home, Hangs(), patience=1) as desk:
        await desk.ask_agent()
        fault = await desk.refusal("run_reply", {"run_id": desk.run.id, "task": "x"})
        assert fault.reason == "run-not-ended"
        assert "run_steer" in fault.hint


async def test_a_session_sees_no_run_of_another_workspace(home: Path) -> None:
    runs = MemoryRuns()
    async with board(home, Hangs(), patience=1, runs=runs) as desk:
        await desk.ask_agent()
        other = AgentBoard(home, runs=runs, workspace="/elsewhere")
        for tool, more in {
            "run_wait": {},
            "run_status": {},
            "run_output": {},
            "run_cancel": {},
            "run_steer": {"text": "x"},
            "run_reply": {"task": "x"},
        }.items():
            fault = await other.refusal(tool, {"run_id": desk.run.id, **more})
            missing = await other.refusal(tool, {"run_id": "r-nothing", **more})
            assert fault.reason == missing.reason == "unknown-run"
        uri = f"run://{desk.run.id}"
        assert await other.provider.offers("resources", SESSION, None, uri) == ()
        assert not desk.run.has_ended
        await other.guard.aclose()


async def test_a_long_run_is_listed_however_many_ended_after_it(home: Path) -> None:
    async with board(home, Hangs(), patience=1) as desk:
        await desk.ask_agent()
        long = desk.run
        for number in range(60):
            desk.runs.runs[f"r-{number}"] = replace(long, id=f"r-{number}", state="completed")
        [offer] = await desk.provider.offers("resources", SESSION, None)
        assert offer.name == f"run://{long.id}"


async def test_a_run_is_a_resource_that_is_told_of(home: Path) -> None:
    async with board(home, Runs("touch a", asks=True), Says("done"), patience=1) as desk:
        await desk.ask_agent()
        [offer] = await desk.provider.offers("resources", SESSION, None)
        uri = f"run://{desk.run.id}"
        assert offer.name == uri
        told: list[str] = []
        stop = await desk.provider.follow(offer, SESSION, told.append)
        await desk.decide(await desk.until_asked())
        await until_true(lambda: desk.run.state == "completed")
        stop()
        assert set(told) == {uri}
        call = desk.a_call("run_status", {"run_id": desk.run.id})
        outcome = await desk.provider.fetch(call, offer, Reading(uri))
        assert outcome.raw is not None
        [content] = json.loads(bytes(outcome.raw))["contents"]
        read = json.loads(content["text"])
        assert read["state"] == "completed"
        assert read["output"] == "done"


def test_only_what_reads_says_so() -> None:
    reads = {spec.name for spec in run_specs() if spec.effects.read_only}
    assert reads == {"run_wait", "run_status", "run_output"}


def _latest(desk: AgentBoard) -> Run:
    return list(desk.runs.runs.values())[-1]


def _outlives_sweep(desk: AgentBoard, known: set[str]) -> bool:
    """Whether the folder of the latest conversation, were it old, would be kept."""
    folder = Path(desk.conversation.spec.folder)
    old = time.time() - 10 * DAY_S
    os.utime(folder, (old, old))
    ConversationFolders(str(desk.home)).sweep(known)
    return folder.is_dir()
