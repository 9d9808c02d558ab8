"""What `revert` and `uninstall` say of files, before and after."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from cli.commands import answering, switchboard
from support.workspace import Workspace
from switchboard.cli.verbs.parts.hosts.leaving import own_removal

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


def test_empty_folders_are_nobody_s(hosts: Workspace) -> None:
    (hosts.home / "start" / "memory-1").mkdir(parents=True)
    (hosts.home / "state" / "memory" / "inner").mkdir(parents=True)
    done = switchboard(hosts, "uninstall", "--all", "--yes", apart=True)
    assert done.code == 0, done.err
    assert "removed ~/.switchboard/start\n" in done.out
    assert "removed ~/.switchboard/state\n" in done.out
    assert not {"start", "state"} & {each.name for each in hosts.home.iterdir()}


def test_what_a_server_wrote_where_it_was_started_stays(hosts: Workspace) -> None:
    made = hosts.home / "start" / "memory-1" / "notes.txt"
    made.parent.mkdir(parents=True)
    made.write_text("mine")
    (hosts.home / "start" / "other-2").mkdir()
    (hosts.home / "start" / "link-3").symlink_to(hosts.user_home)
    done = switchboard(hosts, "uninstall", "--all", "--yes", apart=True)
    assert "removed ~/.switchboard/start/other-2\n" in done.out
    assert {each.name for each in (hosts.home / "start").iterdir()} == {"memory-1", "link-3"}
    assert made.read_text() == "mine"
    assert "yours, and still in ~/.switchboard: start" in done.err


@pytest.mark.parametrize(
    ("receipt", "installer", "command"),
    [
        ("uv-receipt.toml", "uv", "uv tool uninstall switchboard-mcp"),
        ("pipx_metadata.json", "pip", "pipx uninstall switchboard-mcp"),
        ("", "pip", "{}/bin/python -m pip uninstall switchboard-mcp"),
        ("", "uv", "uv pip uninstall --python {}/bin/python switchboard-mcp"),
    ],
)
def test_the_program_is_removed_by_what_installed_it(
    receipt: str, installer: str, command: str, tmp_path: Path
) -> None:
    if receipt:
        (tmp_path / receipt).touch()
    assert own_removal(str(tmp_path), installer) == command.format(tmp_path)


def test_the_hint_at_the_end_removes_this_very_program(hosts: Workspace) -> None:
    done = switchboard(hosts, "uninstall", "--all", "--yes", apart=True)
    (told,) = (line for line in done.err.splitlines() if "uninstall switchboard-mcp" in line)
    words = shlex.split(told.removeprefix("hint: "))
    asked = ["freeze" if word == "uninstall" else word for word in words[:-1]]
    listed = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True).stdout
    assert "switchboard" in listed


@pytest.mark.parametrize("words", [("revert",), ("uninstall", "--all")])
def test_our_servers_stay_until_each_host_has_its_own_back(
    hosts: Workspace, words: tuple[str, ...]
) -> None:
    """Otherwise nobody would have them."""
    claude = hosts.user_home / ".claude.json"
    before = (hosts.home / "mcp.json").read_bytes()
    claude.chmod(0o400)
    done = switchboard(hosts, *words, "--yes", apart=True)
    assert done.code == 1
    assert "could not put back ~/.claude.json: it is read-only" in done.out
    assert "/mcp.json: a host whose servers are in it could not be put back" in done.out
    assert (hosts.home / "mcp.json").read_bytes() == before
    # Nothing is said to be gone that is there, and nobody is told to remove what hosts still start.
    assert (hosts.home / "hosts" / "record.json").exists()
    assert "removed ~/.switchboard/hosts" not in done.out
    assert "pip uninstall" not in done.err
    claude.chmod(0o600)
    done = switchboard(hosts, *words, "--yes", apart=True)
    assert done.code == 0, done.out
    assert not (hosts.home / "mcp.json").exists()
    assert json.loads(claude.read_bytes())["mcpServers"] == {"time": {"command": "uvx"}}
