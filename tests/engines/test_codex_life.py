"""How a conversation with the real Codex goes on, is steered and ends, and what is left of it."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from engines.codex_stage import ASKING, FIELDS, CodexStage, codex_stage
from engines.contract import ended, heard
from support.hosts import codex_program
from support.models.script import say, shell
from support.processes import alive, descendants_of, program_below, until_gone, until_true
from switchboard.engines.codex.engine import CodexEngine
from switchboard.engines.codex.spare import Spares
from switchboard.engines.engine import EngineConversation
from switchboard.engines.events import TurnEnded
from switchboard.engines.profile import AgentProfile, RunFields

# A shell, its child and its grandchild.
FAMILY = "sh -c 'sh -c \"touch up; sleep 87654; true\" & wait'"
KINDS = {"sandboxed": {}, "free": ASKING}


async def with_family(stage: CodexStage, conversation: EngineConversation) -> tuple[Any, list[int]]:
    """Let the family of the script run; gives the end of the turn to come, and the processes."""
    ending = asyncio.ensure_future(heard(conversation))
    await until_true((stage.cwd / "up").exists)
    family = [conversation.pid, *descendants_of(conversation.pid)]
    assert len(family) > 3
    return ending, family


@pytest.mark.parametrize("kind", KINDS)
async def test_an_interrupt_ends_every_command_and_the_next_turn_works(
    tmp_path: Path, kind: str
) -> None:
    steps = [shell(FAMILY, **KINDS[kind]), say("still here")]
    async with codex_stage(tmp_path, steps) as stage:
        conversation = stage.converse()
        ending, family = await with_family(stage, conversation)
        await conversation.interrupt()
        assert ended(await ending).status == "interrupted"
        codex = {conversation.pid, program_below(conversation.pid)}
        await until_gone({*family} - codex, patience=20)
        assert alive(conversation.pid)
        assert ended(await heard(conversation, "Go on.")).text == "still here"
        await conversation.aclose()


@pytest.mark.parametrize("kind", KINDS)
async def test_closing_in_the_middle_leaves_no_process(tmp_path: Path, kind: str) -> None:
    async with codex_stage(tmp_path, [shell(FAMILY, **KINDS[kind])]) as stage:
        conversation = stage.converse()
        ending, family = await with_family(stage, conversation)
        await conversation.aclose()
        assert [pid for pid in family if alive(pid)] == []
        assert ended(await ending) == TurnEnded(status="interrupted")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_killed_codex_leaves_no_command_behind(tmp_path: Path, kind: str) -> None:
    async with codex_stage(tmp_path, [shell(FAMILY, **KINDS[kind])]) as stage:
        conversation = stage.converse()
        ending, family = await with_family(stage, conversation)
        await stage.kill(conversation)
        last = ended(await ending)
        assert last.failure is not None
        assert last.failure.kind == "engine-crashed"
        assert [pid for pid in family if alive(pid)] == []
        await conversation.aclose()


async def test_a_killed_keeper_leaves_no_command_behind(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [shell(FAMILY, **KINDS["free"])]) as stage:
        conversation = stage.converse()
        ending, family = await with_family(stage, conversation)
        os.kill(conversation.pid, signal.SIGKILL)
        last = ended(await ending)
        assert last.failure is not None
        assert last.failure.kind == "engine-crashed"
        await until_gone(family)
        await conversation.aclose()


async def test_a_frozen_codex_is_ended_all_the_same(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [shell(FAMILY, **ASKING)]) as stage:
        conversation = stage.converse()
        ending, family = await with_family(stage, conversation)
        os.kill(program_below(conversation.pid), signal.SIGSTOP)
        await conversation.aclose()
        assert [pid for pid in family if alive(pid)] == []
        assert ended(await ending).status == "interrupted"


async def test_what_is_added_to_a_turn_reaches_the_model_before_it_ends(tmp_path: Path) -> None:
    steps = [shell("touch up; while ! test -e go; do sleep 0.05; done"), say("all done")]
    async with codex_stage(tmp_path, steps) as stage:
        conversation = stage.converse()
        ending = asyncio.ensure_future(heard(conversation))
        await until_true((stage.cwd / "up").exists)
        await conversation.steer("And look at the tests, too.")
        (stage.cwd / "go").touch()
        assert ended(await ending).status == "completed"
        said = [json.dumps(request.body) for request in stage.model.requests]
        assert "look at the tests" not in said[0]
        assert "look at the tests" in said[-1]
        await conversation.aclose()


@pytest.mark.parametrize("spares", [False, True])
async def test_a_conversation_goes_on_in_another_process(tmp_path: Path, spares: bool) -> None:
    async with codex_stage(tmp_path, [say("one"), say("two")], spares=spares) as stage:
        if stage.spares is not None:
            await heard_and_closed(stage)
            await until_true(lambda: bool(stage.spares and stage.spares.pids))
        spec = stage.spec()
        first = stage.engine.converse(spec, reaper=stage.reaper)
        assert ended(await heard(first, "The first task.")).text == "one"
        await first.aclose()
        again = stage.converse(folder=spec.folder, resume=first.thread_id)
        assert ended(await heard(again, "The second task.")).text == "two"
        assert again.thread_id == first.thread_id
        assert "The first task." in json.dumps(stage.model.conversation)
        await again.aclose()


async def heard_and_closed(stage: CodexStage) -> None:
    conversation = stage.converse()
    await heard(conversation)
    await conversation.aclose()


async def test_a_conversation_that_is_not_there_fails_the_turn(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [say("never")]) as stage:
        conversation = stage.converse(resume="01a1e67c-0000-7742-8fa4-51506ff0f6fc")
        assert ended(await heard(conversation)).status == "failed"
        await conversation.aclose()


async def test_a_spare_waits_only_after_the_first_run_and_is_used_by_the_next(
    tmp_path: Path,
) -> None:
    async with codex_stage(tmp_path, [say("all done")], spares=True) as stage:
        spares = stage.spares
        assert spares is not None
        assert spares.pids == ()
        await heard_and_closed(stage)
        await until_true(lambda: len(spares.pids) == 1)
        waiting = spares.pids[0]
        conversation = stage.converse()
        assert ended(await heard(conversation)).text == "all done"
        assert conversation.pid == waiting
        # The next one is started when nobody waits for an answer.
        assert spares.pids == ()
        await conversation.aclose()
        await until_true(lambda: len(spares.pids) == 1)
        other = spares.pids[0]
        assert other != waiting
        await spares.aclose()
        assert not alive(other)
        assert list((tmp_path / "spares").iterdir()) == []


async def test_a_spare_of_another_environment_is_not_used_and_a_dead_one_neither(
    tmp_path: Path,
) -> None:
    async with codex_stage(tmp_path, [say("all done")], spares=True) as stage:
        spares = stage.spares
        assert spares is not None
        await heard_and_closed(stage)
        await until_true(lambda: len(spares.pids) == 1)
        waiting = spares.pids[0]
        other = stage.converse(env={**stage.env, "OTHER": "1"})
        await heard(other)
        assert other.pid != waiting
        await other.aclose()
        os.kill(program_below(waiting), signal.SIGKILL)
        await until_gone([waiting])
        conversation = stage.converse()
        assert ended(await heard(conversation)).text == "all done"
        assert conversation.pid != waiting
        await conversation.aclose()


async def test_no_more_spares_wait_than_two_and_the_oldest_makes_way(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [say("all done")], spares=True) as stage:
        spares = stage.spares
        assert spares is not None
        seen: list[int] = []
        for number in range(3):
            conversation = stage.converse(env={**stage.env, "NUMBER": str(number)})
            await heard(conversation)
            await conversation.aclose()
            known = frozenset(seen)
            await until_true(lambda known=known: bool(set(spares.pids) - known))
            seen += [pid for pid in spares.pids if pid not in known]
        await until_gone(seen[:1])
        assert list(spares.pids) == seen[1:]


async def test_a_spare_that_nobody_takes_ends_by_itself(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [say("all done")]) as stage:
        spares = Spares(str(tmp_path / "spares"), most_age_s=0.2)
        engine = CodexEngine(reaper=stage.reaper, program=str(codex_program()), spares=spares)
        conversation = engine.converse(stage.spec(), reaper=stage.reaper)
        await heard(conversation)
        await conversation.aclose()
        await until_true(lambda: bool(spares.pids))
        waiting = spares.pids
        await until_gone(waiting)
        await until_true(lambda: spares.pids == ())
        await spares.aclose()


async def test_the_oldest_codex_that_is_allowed_works(tmp_path: Path) -> None:
    steps = [shell("touch made", **ASKING), say("all done")]
    async with codex_stage(tmp_path, steps) as stage:
        engine = CodexEngine(reaper=stage.reaper, program=str(codex_program("codex-oracle")))
        conversation = engine.converse(stage.spec(), reaper=stage.reaper)
        assert ended(await heard(conversation)).text == "all done"
        await conversation.aclose()
        assert (stage.cwd / "made").exists()
        readiness = await engine.ready(stage.env)
        assert (readiness.version, readiness.problem) == ("0.153.4", "")


async def test_instructions_of_the_agent_replace_or_join_those_of_codex(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [say("all done")]) as stage:
        for profile in (
            AgentProfile(name="t", fields=FIELDS),
            AgentProfile(name="t", fields=FIELDS, base_instructions="You are a clerk."),
        ):
            conversation = stage.converse(profile=profile)
            await heard(conversation)
            await conversation.aclose()
        plain, replaced = (json.dumps(request.body) for request in stage.model.requests)
    assert "You are a clerk." not in plain
    assert "You are a clerk." in replaced
    assert len(replaced) < len(plain)


async def test_nothing_is_said_that_the_agent_does_not_set(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [say("all done")]) as stage:
        conversation = stage.converse(profile=AgentProfile(name="t", fields=RunFields()))
        assert ended(await heard(conversation)).text == "all done"
        await conversation.aclose()
        assert stage.model.conversation["model"] == "mock-model"
