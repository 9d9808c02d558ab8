"""A Codex that does not keep to its own protocol ends the turn, or is understood all the same."""

import shlex
import sys
from pathlib import Path

import pytest

from engines.contract import ended, heard
from support.processes import wait_until_none_mention
from switchboard.engines.codex.engine import CodexEngine
from switchboard.engines.events import RawItem, TurnEnded
from switchboard.engines.profile import AgentProfile, EngineSpec
from switchkit.reaper_client import Reaper

PROGRAM = Path(__file__).parents[1] / "fakes" / "app_server.py"


async def played(folder: Path, habit: str) -> tuple[TurnEnded, list[str]]:
    """One turn with a program of this habit; gives its end, and what was told raw."""
    program = folder / "codex"
    words = shlex.join([sys.executable, str(PROGRAM), habit])
    program.write_text(f"#!/bin/sh\nexec {words}\n")
    program.chmod(0o755)
    cwd, own = folder / "cwd", folder / "own"
    cwd.mkdir()
    own.mkdir()
    # An address that may want no login.
    (folder / ".codex").mkdir()
    (folder / ".codex" / "config.toml").write_text('openai_base_url = "http://127.0.0.1:9"\n')
    reaper = Reaper()
    spec = EngineSpec(
        profile=AgentProfile(name="t"),
        cwd=str(cwd),
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
        folder=str(own),
        program=str(program),
    )
    conversation = CodexEngine(reaper=reaper).converse(spec, reaper=reaper)
    events = await heard(conversation)
    await conversation.aclose()
    reaper.close()
    wait_until_none_mention(str(folder))
    return ended(events), [event.type for event in events if isinstance(event, RawItem)]


@pytest.mark.parametrize("habit", ["long-line", "vanish", "refuse"])
async def test_a_program_that_cannot_be_understood_is_ended_and_fails_the_turn(
    tmp_path: Path, habit: str
) -> None:
    last, _ = await played(tmp_path, habit)
    assert last.failure is not None
    assert last.failure.kind == "engine-crashed"


async def test_words_that_are_unknown_are_passed_on_and_disturb_nothing(tmp_path: Path) -> None:
    last, raw = await played(tmp_path, "garbage")
    assert last == TurnEnded(status="completed", text="all done")
    assert "never/heard/of" in raw


async def test_a_request_that_is_unknown_is_refused_at_once(tmp_path: Path) -> None:
    last, raw = await played(tmp_path, "unknown-request")
    assert last.text == "answered with ['error']"
    assert "never/heard/of" in raw
