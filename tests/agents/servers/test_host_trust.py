"""Files of other hosts in a workspace are shown to its user, who trusts them or not."""

import json
from pathlib import Path

from agents.servers.host_bench import echo
from cli.commands import UNTRUSTING, switchboard
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
    assert switchboard(workspace, "trust", ".mcp.json", env=UNTRUSTING).code == 0
    assert row()[0] == "trusted"


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
