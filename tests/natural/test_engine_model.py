"""A model behind an engine answers one question, and may do nothing else on the way."""

import json
import os
from pathlib import Path

import pytest

from engines.claude_stage import NEW, claude_stage
from engines.codex_stage import codex_stage
from fakes.boards import echo_server, json_of, serving
from fakes.engines import Fails, Hangs, Runs, Says, Scene, ScriptedEngine
from support.hosts import claude_program, codex_program
from support.models.script import say
from support.requirements import requirement
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.faults import Fault
from switchboard.engines.engine import Readiness
from switchboard.models.engine_model import EngineModel
from switchboard.providers.suites.natural.instructions import Instructions
from switchboard.providers.suites.natural.interpreter import ChosenCall, Interpreter
from switchboard.settings.sections import Interpreting
from switchkit.reaper_client import Reaper

ADDING = '{"subtool": "add", "args": {"a": 1}}'
ADD = ToolSpec(name="add", provider="suites")


async def choose(folder: Path, engine: ScriptedEngine, *, timeout_s: float = 10.0) -> ChosenCall:
    reaper = Reaper()
    try:
        model = EngineModel(
            engine,
            env={"PATH": "/usr/bin:/bin"},
            reaper=reaper,
            folder=str(folder / "natural"),
            model="small",
            timeout_s=timeout_s,
        )
        interpreter = Interpreter("echo", model, Instructions("", server="echo"))
        return await interpreter.choose("add one", (ADD,))
    finally:
        reaper.close()
        # Nothing of the question stays, whatever became of it.
        assert list((folder / "natural").iterdir()) == []
        assert all(each.is_closed for each in engine.conversations)


@requirement("S2.96")
async def test_the_answer_of_an_engine_is_checked_as_any_other(tmp_path: Path) -> None:
    engine = ScriptedEngine(Says(ADDING))
    choice = await choose(tmp_path, engine)
    assert (choice.tool.name, json.loads(bytes(choice.args))) == ("add", {"a": 1})
    [conversation] = engine.conversations
    spec = conversation.spec
    assert not spec.is_trusted
    assert spec.profile.fields.model == "small"
    assert spec.profile.fields.sandbox_mode == "read-only"
    # Permission checks stay on.
    assert spec.profile.fields.approval_policy == "untrusted"
    assert spec.profile.servers == ()
    assert '"request":"add one"' in conversation.tasks[0]


async def test_what_an_engine_wants_to_do_on_the_way_is_declined(tmp_path: Path) -> None:
    engine = ScriptedEngine(Runs("touch harm", asks=True), Says(ADDING))
    choice = await choose(tmp_path, engine)
    assert choice.tool.name == "add"
    [conversation] = engine.conversations
    assert [reply.verdict for reply in conversation.replies.values()] == ["decline"]


@pytest.mark.parametrize(
    ("scene", "reason"),
    [
        (Says("Sure, I would add them."), "model-answer-invalid"),
        (Says("x" * 2_000_000), "model-answer-too-large"),
        (Says(""), "engine-failed"),
        (Fails("not-logged-in"), "engine-failed"),
        (Hangs(), "model-timeout"),
    ],
)
async def test_an_engine_that_does_not_answer_is_a_fault(
    tmp_path: Path, scene: Scene, reason: str
) -> None:
    with pytest.raises(Fault) as caught:
        await choose(tmp_path, ScriptedEngine(scene), timeout_s=0.5)
    assert caught.value.reason == reason
    assert caught.value.hint


async def test_an_engine_that_is_not_there_is_told_of_before_it_is_started(tmp_path: Path) -> None:
    (tmp_path / "natural").mkdir()
    missing = Readiness(problem="`codex` was not found", hint="install Codex")
    engine = ScriptedEngine(Says(ADDING), readiness=missing)
    with pytest.raises(Fault) as caught:
        await choose(tmp_path, engine)
    assert (caught.value.reason, caught.value.hint) == ("engine-not-ready", "install Codex")
    assert engine.conversations == []


SUM = '{"subtool": "add", "args": {"a": 19, "b": 23}}'


@requirement("S2.96")
async def test_the_real_claude_code_can_be_asked(tmp_path: Path) -> None:
    async with claude_stage(tmp_path, [say(SUM)]) as stage:
        programs = tmp_path / "bin"
        programs.mkdir()
        (programs / "claude").symlink_to(claude_program(NEW))
        path = os.pathsep.join((str(programs), stage.env["PATH"]))
        interpreting = Interpreting(engine="claude", model="mock-model", timeout_ms=60_000)
        await ask_for_a_sum(tmp_path, {**stage.env, "PATH": path}, interpreting)


@requirement("S2.96")
async def test_the_real_codex_can_be_asked(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [say(SUM)]) as stage:
        programs = tmp_path / "bin"
        programs.mkdir()
        (programs / "codex").symlink_to(codex_program())
        path = os.pathsep.join((str(programs), stage.env["PATH"]))
        interpreting = Interpreting(engine="codex", timeout_ms=60_000)
        await ask_for_a_sum(tmp_path, {**stage.env, "PATH": path}, interpreting)


async def ask_for_a_sum(folder: Path, environ: dict[str, str], interpreting: Interpreting) -> None:
    entry = echo_server(natural_language=True)
    async with serving(folder, entry, environ=environ, interpreting=interpreting) as desk:
        outcome = await desk.subtool("echo_suite", "natural_language", query="add 19 and 23")
        assert json_of(outcome)["structuredContent"] == {"sum": 42}
        assert list((folder / "questions").iterdir()) == []
