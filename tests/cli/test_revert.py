"""What `revert` and `uninstall` say of files, before and after."""

import json
import os
import re
from pathlib import Path

import pytest

from cli.commands import answering, switchboard
from support.workspace import Workspace

OPENCODE = """\
{
  "permission": { "*": "ask" },
  "mcp": {
    "time": { "type": "local", "command": ["uvx"] }
  }
}
"""


@pytest.fixture
def hosts(workspace: Workspace) -> Workspace:
    """Give a home with opencode and Claude Code, each with a file that is changed twice."""
    workspace.env["PATH"] = os.pathsep.join(["/usr/bin", "/bin"])
    workspace.env.pop("ENABLE_MCP_SERVER_SURFACE", None)
    opencode = workspace.user_home / ".config/opencode/opencode.json"
    opencode.parent.mkdir(parents=True)
    opencode.write_text(OPENCODE)
    local = {"mcpServers": {"here": {"command": "local-server"}}}
    claude = {
        "mcpServers": {"time": {"command": "uvx"}},
        "projects": {str(workspace.root): local},
    }
    (workspace.user_home / ".claude.json").write_text(json.dumps(claude, indent=2))
    done = switchboard(workspace, "setup", "--yes", "--allow", apart=True)
    assert done.code == 0, done.err
    record = json.loads((workspace.home / "hosts/record.json").read_bytes())
    paths = [Path(each["place"]["path"]).name for each in record["written"]]
    assert {paths.count("opencode.json"), paths.count(".claude.json")} == {2}
    return workspace


@pytest.mark.parametrize("words", [("revert",), ("uninstall", "--all")])
def test_each_file_is_told_once(hosts: Workspace, words: tuple[str, ...]) -> None:
    planned = switchboard(hosts, *words, "--dry-run").out
    for name in ("opencode.json", ".claude.json", ".switchboard/mcp.json"):
        assert len([line for line in planned.splitlines() if name in line]) == 1, planned
    done = switchboard(hosts, *words, "--yes", apart=True).out
    for name in ("opencode.json", ".claude.json"):
        (line,) = (line for line in done.splitlines() if name in line)
        assert re.fullmatch(r"put back ~/\S+, byte for byte", line)


def test_a_file_that_will_go_is_told_before_the_question(hosts: Workspace) -> None:
    ours = hosts.home / "mcp.json"
    planned = switchboard(hosts, "revert", "--dry-run").out
    assert f"would remove ~/{ours.relative_to(hosts.user_home)}" in planned
    done = answering(hosts, "revert", answers=["n"])
    asked = done.out.split("[y/N]")[0].splitlines()
    (line,) = (line for line in asked if "/mcp.json" in line)
    assert line.rstrip().endswith("mcp.json (was not there before: it is removed)")
    (line,) = (line for line in asked if ".claude.json" in line)
    assert line.rstrip().endswith(".claude.json")
    assert ours.exists()


def test_a_file_of_ours_that_somebody_has_written_into_is_not_told_as_going(
    hosts: Workspace,
) -> None:
    ours = hosts.home / "mcp.json"
    tree = json.loads(ours.read_text())
    tree["mcpServers"]["mine"] = {"command": "mine"}
    ours.write_text(json.dumps(tree))
    assert "would put back" in switchboard(hosts, "revert", "--dry-run").out
    switchboard(hosts, "revert", "--yes", apart=True)
    assert [*json.loads(ours.read_text())["mcpServers"]] == ["mine"]
