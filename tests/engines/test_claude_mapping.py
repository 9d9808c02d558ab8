"""Each thing that an agent may set reaches Claude Code where it has a place, and no more."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from engines.claude_stage import claude_stage
from engines.contract import ended, heard
from support.models.script import say
from support.requirements import requirement
from switchboard.engines.acp import mapping as acp
from switchboard.engines.acp.agents import KNOWN
from switchboard.engines.claude.mapping import TABLE, arguments, unsupported
from switchboard.engines.profile import AgentProfile, RunFields

# A value of each field, and the words that it becomes; none where it has no counterpart.
GIVEN: dict[str, tuple[Any, list[str]]] = {
    "model": ("opus", ["--model", "opus"]),
    "model_provider": ("mine", []),
    "approval_policy": ("on-request", ["--permission-mode", "default"]),
    "disable_response_storage": (True, []),
    "model_reasoning_effort": ("high", ["--effort", "high"]),
    "model_reasoning_summary": ("concise", []),
    "model_verbosity": ("low", []),
    "chatgpt_base_url": ("http://x", []),
    "sandbox_mode": ("workspace-write", ["--permission-mode", "acceptEdits"]),
    "include_plan_tool": (False, ["--disallowedTools"]),
    "include_apply_patch_tool": (False, ["--disallowedTools"]),
    "include_view_image_tool": (False, []),
    "tools_web_search_request": (False, ["--disallowedTools", "WebSearch"]),
}


def _profile(*tools: str, **fields: Any) -> AgentProfile:
    return AgentProfile(name="tester", fields=RunFields(**fields), vendor_tools=tools)


@requirement("S0.15")
def test_what_nobody_wrote_is_no_word_of_the_command_line() -> None:
    assert arguments(_profile()) == []
    assert unsupported(_profile()) == ()


def test_every_field_has_its_row() -> None:
    names = list(structs.asdict(RunFields()))
    assert [row.field for row in TABLE] == names
    assert list(acp.TABLE) == names
    assert set(GIVEN) == set(names)


@pytest.mark.parametrize("field", list(GIVEN))
def test_a_field_becomes_its_flag_or_is_reported(field: str) -> None:
    value, words = GIVEN[field]
    profile = _profile(**{field: value})
    assert arguments(profile)[: len(words)] == words
    if not words:
        assert arguments(profile) == []
        assert len(unsupported(profile)) == 1
    assert len(acp.unsupported(KNOWN["goose"], profile)) >= (field != "model")


def test_what_is_on_anyway_needs_no_flag() -> None:
    assert arguments(_profile(tools_web_search_request=True, include_plan_tool=True)) == []
    listed = arguments(_profile("Read", tools_web_search_request=True))
    assert listed == ["--tools", "Read,WebSearch"]


def test_listed_tools_are_all_that_is_left() -> None:
    assert arguments(_profile("Read", "Bash(git *)", "mcp__echo__echo")) == ["--tools", "Read,Bash"]
    assert any("Bash(git *)" in said for said in unsupported(_profile("Bash(git *)")))
    assert any("Flub" in said for said in unsupported(_profile("Read", "Flub")))
    # Names of another vendor say nothing of these tools.
    assert arguments(_profile("codebase", "editFiles")) == []


def test_read_only_wins_over_the_listed_tools() -> None:
    words = arguments(_profile("Read", "Bash", "Write", sandbox_mode="read-only"))
    assert words[words.index("--tools") + 1] == "Read"


def test_what_cannot_be_held_is_said() -> None:
    profile = AgentProfile(
        name="tester",
        fields=RunFields(model_reasoning_effort="minimal", approval_policy="on-failure"),
        compact_prompt="short",
        config={"x": 1},
    )
    assert len(unsupported(profile)) == 4
    assert "--effort" not in arguments(profile)
    assert len(acp.unsupported(KNOWN["opencode"], profile)) == 3


@requirement("S0.12")
async def test_without_a_model_the_one_of_claude_code_itself_is_asked(tmp_path: Path) -> None:
    async with claude_stage(tmp_path, [say("done")]) as stage:
        conversation = stage.converse(profile=AgentProfile(name="tester"))
        assert ended(await heard(conversation)).text == "done"
        await conversation.aclose()
        assert stage.model.conversation["model"].startswith("claude-")
