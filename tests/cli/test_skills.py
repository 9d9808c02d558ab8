"""An active skill, from its file to a tool that is called."""

import json
from pathlib import Path

from cli.commands import UNTRUSTING, switchboard
from support.daemons import shim
from support.requirements import requirement
from support.workspace import Workspace, child_command, server
from vault.ground import file_vault


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
    shown = switchboard(workspace, "--skill", "near", "trust", "--json", env=UNTRUSTING).report
    (entry,) = shown["entries"]
    given = ("trust", "near", "--fingerprint", entry["fingerprint"])
    done = switchboard(workspace, "--skill", "near", *given, env=UNTRUSTING, apart=True)
    assert done.code == 0, done.err
    assert switchboard(workspace, *words, env=UNTRUSTING) == (0, "echo: hi\n", "")


@requirement("S4.15", "S4.68")
async def test_two_clients_of_one_daemon_have_the_skills_that_each_asked_for(
    tmp_path: Path,
) -> None:
    workspace = Workspace(tmp_path, daemon=True)
    try:
        for name in ("docs", "maps"):
            folder = workspace.home / "skills" / name
            folder.mkdir(parents=True)
            reference = f"vault:mcp/{name}/env/TOKEN"
            entry = server(child_command("echo_child", name), secret_env={"TOKEN": reference})
            (folder / "mcp.json").write_text(json.dumps({"mcpServers": {name: entry}}), "utf-8")
            file_vault(workspace.home / "vault").put(f"mcp/{name}/env/TOKEN", f"canary-of-{name}")
        async with (
            shim(workspace, "--skill", "docs") as one,
            shim(workspace, "--skill=maps") as two,
        ):
            for client, name in ((one, "docs"), (two, "maps")):
                tools = (await client.request("tools/list", {}))["tools"]
                assert [tool["name"] for tool in tools] == [f"{name}_suite"]
                told = await client.call_subtool(f"{name}_suite", "report")
                assert f"canary-of-{name}" in json.dumps(told)
        async with shim(workspace) as plain:
            assert (await plain.request("tools/list", {}))["tools"] == []
    finally:
        workspace.stop_daemon()
