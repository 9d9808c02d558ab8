"""Agents of Claude Code and of VS Code: front matter, and the instructions below it."""

import pytest

from agents.lab import Lab
from support.requirements import requirement
from switchboard.engines.claude.mapping import arguments
from switchboard.engines.profile import RunFields
from switchboard.providers.agents.checks import notes_on

CLAUDE = """---
name: deep-reader
description: Reads deeply
tools: Read, Grep WebSearch
tags: deep research, notes
model: some-model
provider: some-provider
---

You read.
Twice.
"""


@requirement("S0.61", "S0.63", "S0.65", "S0.66", "S0.67", "S0.68", "S0.69", "S0.70", "S0.78")
def test_an_agent_of_claude_is_read_whole(lab: Lab) -> None:
    lab.claude(CLAUDE)
    agent = lab.only()
    assert (agent.name, agent.tool, agent.format) == (
        "deep-reader",
        "anth_deep_reader",
        "anthropic",
    )
    assert agent.description == "Reads deeply"
    assert agent.tags == ("deep research", "notes")
    assert agent.tools == ("Read", "Grep", "WebSearch")
    assert agent.run == RunFields(model="some-model", model_provider="some-provider")
    assert agent.instructions == "You read.\nTwice."
    assert lab.told() == {
        "model": "some-model",
        "model_provider": "some-provider",
        "tools_web_search_request": True,
    }


@requirement("S0.62")
def test_an_agent_of_claude_needs_a_name(lab: Lab) -> None:
    lab.claude("---\ndescription: x\n---\nbody\n")
    assert lab.refusal() == "one.agent.md:1:1: `name` is required"


@requirement("S0.63", "S0.64", "S0.71", "S0.65")
def test_lists_are_used_as_they_are(lab: Lab) -> None:
    lab.claude("---\nname: a\ntools: [Read, 'my tool']\ntags: [x y, z]\n---\n")
    agent = lab.only()
    assert agent.tools == ("Read", "my tool")
    assert agent.tags == ("x y", "z")
    assert agent.description == "Agent 'a': Execute tasks"


@requirement("S0.68")
def test_the_other_spelling_of_a_provider_is_understood(lab: Lab) -> None:
    lab.claude("---\nname: a\nmodelProvider: mine\n---\n")
    assert lab.told() == {"model_provider": "mine"}


@pytest.mark.parametrize("before", ["", "\n\n"])
def test_blank_lines_may_stand_before_the_front_matter(lab: Lab, before: str) -> None:
    lab.claude(f"{before}---\nname: a\n---\nbody")
    assert lab.only().instructions == "body"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "one.agent.md:1:1: the file has no front matter"),
        ("just words\n", "one.agent.md:1:1: the file has no front matter"),
        ("---\nname: a\n", "one.agent.md:1:1: the front matter is not closed"),
        ("---\nname: a\ntools: {\n---\n", "one.agent.md:3:"),
        ("---\nname: a\nmodel: 5\n---\n", "one.agent.md:3:1: `model` must be a list of strings"),
        (
            "---\nname: a\nmcpServers:\n  x: {type: stdio}\n---\n",
            "one.agent.md:4:3: `command` is required",
        ),
    ],
)
def test_a_bad_file_has_one_problem_and_hides_no_other(lab: Lab, text: str, says: str) -> None:
    lab.claude(text)
    assert lab.refusal().startswith(says)
    lab.claude("---\nname: good\n---\n", name="two.md")
    assert list(lab.tools()) == ["anth_good"]


def test_todays_agents_of_claude_are_found_by_their_plain_names(lab: Lab) -> None:
    lab.claude(
        "---\nname: today\ndescription: x\nmodel: inherit\npermissionMode: plan\n"
        "color: red\nmcpServers:\n  - github\n  - files: {type: stdio, command: serve}\n---\nbody",
        name="today.md",
    )
    lab.claude("# About these agents", name="README.md")
    agent = lab.only()
    assert agent.run == RunFields(sandbox_mode="read-only")
    assert agent.tools == ("github::*",)
    assert [(each.name, each.command) for each in agent.servers] == [("files", "serve")]
    assert set(agent.unused) == {"color"}
    assert lab.found().problems == ()


def test_what_an_agent_of_claude_must_not_have_is_taken_away_on_every_engine(lab: Lab) -> None:
    lab.claude(
        "---\nname: careful\ntools: WebSearch, Write, TodoWrite\n"
        "disallowedTools: Write, WebSearch, Bash, Bash(rm *), mcp__x__y\n---\nbody"
    )
    codex = lab.plan()
    assert codex.engine == "codex"
    assert lab.told() == {
        "sandbox_mode": "read-only",
        "tools_web_search_request": False,
        "include_plan_tool": True,
    }
    assert codex.profile.config == {"features.shell_tool": False}
    assert codex.unheld == ("Bash(rm *)", "mcp__x__y")
    [agent] = lab.found().usable.values()
    assert (
        "codex cannot be kept from `Bash(rm *)`, `mcp__x__y`, which the agent must not have."
        in notes_on(agent, lab.found())
    )
    lab.claude("---\nname: careful\nengine: claude\ndisallowedTools: [Write, Bash(rm *)]\n---\n")
    claude = lab.plan()
    assert lab.told() == {}
    assert arguments(claude.profile) == ["--disallowedTools", "Write,Bash(rm *)"]
    assert claude.unheld == ()


def test_a_mode_that_loosens_what_is_asked_is_ignored_and_said(lab: Lab) -> None:
    lab.claude("---\nname: bold\npermissionMode: bypassPermissions\n---\n")
    assert lab.told() == {}
    [agent] = lab.found().usable.values()
    assert "`permissionMode` means nothing to codex, and is ignored." in notes_on(
        agent, lab.found()
    )


@requirement("S0.82", "S0.83", "S0.85", "S0.88", "S0.89", "S0.98", "S0.99", "S0.86", "S0.87")
def test_a_chat_mode_is_read_whole(lab: Lab) -> None:
    lab.chat_mode(
        "---\ndescription: Plans\ntools: ['edit', 'memory::memory']\ntags: a, b c\n"
        "model: some-model\nmodelProvider: mine\n---\nPlan first.\n",
        name="My Planner.chatmode.md",
    )
    agent = lab.only()
    assert (agent.name, agent.tool, agent.format) == ("My Planner", "vsc_my_planner", "vscode")
    assert agent.tools == ("edit", "memory::memory")
    assert agent.tags == ("a", "b", "c")
    assert agent.instructions == "Plan first."
    assert lab.told() == {
        "model": "some-model",
        "model_provider": "mine",
        "include_apply_patch_tool": True,
    }


@requirement("S0.83")
def test_a_chat_mode_may_have_a_name(lab: Lab) -> None:
    lab.chat_mode("---\nname: Other\ndescription: x\ntools: edit new\n---\n")
    assert (lab.only().tool, lab.only().tools) == ("vsc_other", ("edit", "new"))


@requirement("S0.84")
def test_a_chat_mode_needs_a_description(lab: Lab) -> None:
    lab.chat_mode("---\nname: a\n---\n")
    assert lab.refusal() == "one.chatmode.md:1:1: `description` is required"
    assert lab.tools() == {}


def test_todays_agents_of_vs_code_are_read_with_their_words(lab: Lab) -> None:
    lab.put(
        lab.workspace / ".github" / "agents" / "today.agent.md",
        "---\ntools: ['search/codebase', 'github/*']\nmodel: ['Unknown 1', 'GPT-4.1']\n"
        "agents: ['*']\nhandoffs: [{label: Go, agent: other}]\nuser-invocable: false\n---\nx\n",
    )
    agent = lab.only()
    assert (agent.tool, agent.format) == ("vsc_today", "vscode")
    assert lab.told()["model"] == "gpt-4.1"
    assert lab.plan().tools.references == ("github::*",)
    assert set(agent.unused) == {"agents", "handoffs", "user-invocable"}
