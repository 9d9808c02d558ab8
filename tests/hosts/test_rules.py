"""Rules of hosts about tools: found where they are, and told apart by their server."""

import json
from pathlib import Path
from typing import Any

import pytest

from hosts.ground import Ground, named
from switchboard.hosts.rules import rules_of

# A host, a file of it, what it says, and the tools of `git`, not of `github`, that its rules name.
RULES: list[tuple[str, str, Any, list[tuple[str, str]]]] = [
    (
        "claude-code",
        "user/.claude/settings.json",
        {
            "permissions": {
                "allow": ["Bash(ls)", "mcp__git", "mcp__github__search"],
                "ask": ["mcp__git__push"],
                "deny": ["mcp__git__*", "mcp__github"],
            }
        },
        [("*", "allow"), ("push", "ask"), ("*", "deny")],
    ),
    (
        "claude-code",
        "project/.claude/settings.local.json",
        {"permissions": {"deny": ["mcp__git__push"]}},
        [("push", "deny")],
    ),
    (
        "opencode",
        "user/.config/opencode/opencode.json",
        {"permission": {"bash": "ask", "git_*": "deny", "github_*": "allow"}},
        [("*", "deny")],
    ),
    (
        "crush",
        "user/.config/crush/crush.json",
        {"permissions": {"allowed_tools": ["view", "mcp_git_push", "mcp_github_search"]}},
        [("push", "allow")],
    ),
    (
        "amp",
        "user/.config/amp/settings.json",
        {
            "amp.permissions": [
                {"tool": "Bash", "action": "ask"},
                {"tool": "mcp__git__*", "action": "reject"},
                {"tool": "mcp__github__*", "action": "allow"},
            ]
        },
        [("*", "reject")],
    ),
    (
        "junie",
        "user/.junie/allowlist.json",
        {"rules": {"mcpTools": {"rules": [{"prefix": "git:", "action": "allow"}]}}},
        [("*", "allow")],
    ),
]


@pytest.mark.parametrize(("host", "place", "tree", "expected"), RULES)
def test_a_rule_is_about_the_server_that_it_names(
    host: str, place: str, tree: Any, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    ground, known = Ground(tmp_path), named(host)
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(tree), "utf-8")
    found = [
        (rule.tool_of("git", known.grants), rule.effect)
        for rule in rules_of(known, ground.places, ground.file(known).path)
        if rule.tool_of("git", known.grants) is not None
    ]
    assert found == expected


def test_a_file_that_cannot_be_read_has_no_rules(tmp_path: Path) -> None:
    ground, known = Ground(tmp_path), named("claude-code")
    path = tmp_path / "user/.claude/settings.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"permissions": ', "utf-8")
    assert [*rules_of(known, ground.places, ground.file(known).path)] == []
