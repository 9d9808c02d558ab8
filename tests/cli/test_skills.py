"""An active skill, from its file to a tool that is called."""

import json

from cli.commands import UNTRUSTING, switchboard
from support.requirements import requirement
from support.workspace import Workspace, child_command, server


def skill(workspace: Workspace, place: str, name: str) -> None:
    tree = {"mcpServers": {name: server(child_command("echo_child", name))}}
    workspace.write(f"{place}/SKILL.md", f"---\nname: {name}\n---\n# {name}\n")
    workspace.write(f"{place}/mcp.json", json.dumps(tree))


@requirement("S4.15", "S4.68", "S4.87")
def test_a_tool_of_a_skill_is_called(either_workspace: Workspace) -> None:
    workspace = either_workspace
    folder = workspace.home / "skills" / "docs"
    folder.mkdir(parents=True)
    tree = {"mcpServers": {"docs": server(child_command("echo_child", "docs"))}}
    (folder / "mcp.json").write_text(json.dumps(tree), "utf-8")
    words = ("call", "docs", "echo", "--args", '{"text": "hi"}')
    assert switchboard(workspace, *words).code != 0
    assert switchboard(workspace, "--skill", "docs", *words) == (0, "echo: hi\n", "")
    workspace.config_toml('[skills]\nactive = ["docs"]\n', scope="home")
    assert switchboard(workspace, *words) == (0, "echo: hi\n", "")


def test_a_skill_of_the_workspace_is_used_once_it_is_trusted(workspace: Workspace) -> None:
    skill(workspace, ".switchboard/skills/near", "near")
    words = ("--skill", "near", "call", "near", "echo", "--args", '{"text": "hi"}')
    assert switchboard(workspace, *words, env=UNTRUSTING).code != 0
    done = switchboard(workspace, "--skill", "near", "trust", "near", env=UNTRUSTING)
    assert done.code == 0, done.err
    assert switchboard(workspace, *words, env=UNTRUSTING) == (0, "echo: hi\n", "")
