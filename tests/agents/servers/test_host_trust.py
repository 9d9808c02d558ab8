"""Files of other hosts in a workspace are shown to its user, who trusts them or not."""

import json
from pathlib import Path

from agents.servers.host_bench import echo
from cli.commands import UNTRUSTING, switchboard, trust_shown
from support.workspace import Workspace


def test_trust_shows_the_commands_of_a_host_and_takes_them_in(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.write(".agents/helper.toml", 'name = "helper"\ntools = ["talk::echo"]\n')
    workspace.write(".mcp.json", json.dumps({"mcpServers": {"talk": echo("talk")}}))

    def row() -> tuple[str, str]:
        entries = switchboard(workspace, "trust", "--json", env=UNTRUSTING).report["entries"]
        (found,) = [each for each in entries if each["name"] == ".mcp.json"]
        return found["state"], found["runs"]

    state, runs = row()
    assert state == "waiting"
    assert runs.endswith("echo_child.py talk")
    assert trust_shown(workspace, ".mcp.json", env=UNTRUSTING).code == 0
    assert row()[0] == "trusted"


def test_trust_names_the_variables_of_a_host_and_asks_again_when_a_script_changes(
    tmp_path: Path,
) -> None:
    workspace = Workspace(tmp_path)
    workspace.write(".agents/helper.toml", 'name = "helper"\ntools = ["talk::echo"]\n')
    script = workspace.write("tools/server.py", "print(1)\n")
    args = ["${workspaceFolder}/tools/server.py", "--key=${env:OTHER_KEY}"]
    env = {"LEAK": "${env:CLOUD_SECRET}", "MODE": "quiet-mode", "x); none": "1"}
    loader = {"command": "python3", "args": ["tools/server.py"], "env": {"PYTHONPATH": "tools"}}
    talk = {"command": "python3", "args": args, "env": env}
    workspace.write(".vscode/mcp.json", json.dumps({"servers": {"talk": talk, "load": loader}}))
    secrets = {"CLOUD_SECRET": "s3cret-value", "OTHER_KEY": "other-value"}

    def row() -> tuple[str, str]:
        done = switchboard(workspace, "trust", "--list", "--json", env={**UNTRUSTING, **secrets})
        (found,) = [each for each in done.report["entries"] if each["name"] == ".vscode/mcp.json"]
        return found["state"], found["runs"]

    state, runs = row()
    assert state == "waiting"
    assert "(sets LEAK, MODE, 'x); none'; is given the value of your CLOUD_SECRET, OTHER_KEY)" in (
        runs
    )
    assert "quiet-mode" not in runs
    assert "-value" not in runs
    assert "left out: `PYTHONPATH` can make the server run foreign code and is not" in runs
    assert trust_shown(workspace, ".vscode/mcp.json", env=UNTRUSTING).code == 0
    assert row()[0] == "trusted"
    script.write_text("print(2)\n", "utf-8")
    assert row()[0] == "waiting"


def test_a_host_without_commands_has_nothing_to_trust(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.write(".agents/helper.toml", 'name = "helper"\n')
    far = {"type": "http", "url": "http://127.0.0.1:9/mcp"}
    workspace.write(".mcp.json", json.dumps({"mcpServers": {"far": far}}))
    assert ".mcp.json" not in switchboard(workspace, "trust", env=UNTRUSTING).out


def test_a_workspace_without_agents_is_not_asked_about_hosts(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.write(".mcp.json", json.dumps({"mcpServers": {"talk": echo("talk")}}))
    assert ".mcp.json" not in switchboard(workspace, "trust", env=UNTRUSTING).out
