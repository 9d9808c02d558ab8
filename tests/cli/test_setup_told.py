"""What `setup` says: before it asks, while it waits, and at its end."""

import json
import os
import re
from pathlib import Path

import pytest

from cli.commands import answering, on_terminal, switchboard
from support.workspace import Workspace, child_command

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
CODEX = f"""\
[mcp_servers.time]
command = "uvx"
args = ["mcp-server-time"]

[mcp_servers.github]
command = "npx"
env = {{ GITHUB_TOKEN = "{TOKEN}" }}
"""
TIME = {"command": "uvx", "args": ["mcp-server-time"]}


@pytest.fixture
def user(workspace: Workspace) -> Workspace:
    """Give a home in which nothing of the machine is found."""
    workspace.env["PATH"] = os.pathsep.join(["/usr/bin", "/bin"])
    workspace.env["NO_COLOR"] = "1"
    return workspace


def _put(workspace: Workspace, place: str, text: str) -> Path:
    path = workspace.user_home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def _claude(workspace: Workspace, **top: object) -> Path:
    return _put(workspace, ".claude.json", json.dumps(top, indent=2))


def test_what_is_done_and_that_it_can_be_undone_is_said_before_the_first_question(
    user: Workspace,
) -> None:
    _put(user, ".codex/config.toml", CODEX)
    local = {"mcpServers": {"files": {"command": "files-server"}}}
    _claude(user, projects={str(user.root): local})
    before = answering(user, "setup", answers=["n", "n"]).out.split("[y/N]")[0]
    said = before.split("--- ")[0]
    assert "would take over github from Codex" in said
    assert "its secrets would go into the vault: mcp/github/env/GITHUB_TOKEN" in said
    assert "its host had it in this project alone; here it is for every project" in said
    assert "Servers that are taken over go into ~/" in said
    assert "One entry for Switchboard goes into Claude Code, Codex" in said
    assert "`switchboard revert` undoes it" in said


def test_a_host_that_was_declined_has_no_part_in_what_was_done(user: Workspace) -> None:
    _put(user, ".codex/config.toml", CODEX)
    _put(user, ".cursor/mcp.json", json.dumps({"mcpServers": {"time": TIME}}))
    done = answering(user, "setup", answers=["n", "y"])
    assert re.search(r"took over time from Cursor\s+still in Codex, too", done.out)
    assert "left github in Codex" in done.out
    # Nothing of a server that stays was put anywhere.
    assert "are kept in the vault" not in done.out
    assert "processes of servers become" not in done.out


def test_a_new_file_beside_the_one_with_our_entry_is_named(user: Workspace) -> None:
    user.env.pop("ENABLE_MCP_SERVER_SURFACE", None)
    _claude(user, numStartups=3)
    done = switchboard(user, "setup", "--yes", "--allow", apart=True)
    assert "  wrote ~/.claude/settings.json\n" in done.out


def test_the_figure_at_the_end_is_that_of_the_surface_in_use(user: Workspace) -> None:
    program, *args = map(str, child_command("echo_child", "echo"))
    servers = {"echo": {"command": program, "args": args}, "notes": {"command": "no-such-server"}}
    _claude(user, mcpServers=servers)
    done = answering(user, "setup", answers=["y", "n"])
    found = re.search(r"reads ([\d,]+) tokens of 1 server ", done.out)
    assert found, done.out
    surfaces = switchboard(user, "tokens", "--json").report["surfaces"]
    (listing,) = (each["listing"] for each in surfaces if each["is_in_use"])
    assert int(found[1].replace(",", "")) == listing
    assert "1 did not answer: notes" in done.out
    assert "switchboard doctor --deep" in done.out


def test_hosts_are_asked_at_once_and_somebody_sees_whom_it_waits_for(
    user: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    os.mkfifo(tmp_path / "both")
    # Neither ends before the other has begun.
    scripts = {
        "claude": f'read word < "{tmp_path}/both"; cat "$HOME/.claude.json"',
        "codex": f'echo go > "{tmp_path}/both"; cat "$HOME/.codex/config.toml"',
    }
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    user.env["PATH"] = os.pathsep.join([str(folder), "/usr/bin", "/bin"])
    _claude(user, numStartups=3)
    _put(user, ".codex/config.toml", "")
    done = switchboard(user, "setup", "--yes", apart=True)
    assert "Claude Code lists it" in done.out
    assert "Codex lists it" in done.out
    assert "asking Claude Code, Codex whether Switchboard is on the list" in done.err


def test_a_host_that_gives_no_answer_is_told_with_the_command_to_ask_it_by(
    user: Workspace, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    program.chmod(0o755)
    user.env["PATH"] = os.pathsep.join([str(program.parent), "/usr/bin", "/bin"])
    _put(user, ".codex/config.toml", "")
    done = switchboard(user, "setup", "--yes", apart=True)
    assert "whether it lists Switchboard is not known: `codex mcp list` gave no answer" in done.out
    assert done.code == 0


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("switchboard", ["mcp"]),
        ("uvx", ["switchboard-mcp", "mcp"]),
        ("python3", ["-m", "switchboard"]),
    ],
)
def test_switchboard_itself_under_another_name_is_told_and_not_put_behind_itself(
    user: Workspace, command: str, args: list[str]
) -> None:
    entry = {"command": command, "args": args}
    path = _claude(user, mcpServers={"hub": entry, "time": TIME})
    done = switchboard(user, "setup", "--yes", apart=True)
    assert "left hub in Claude Code: it is Switchboard itself, under another name" in done.out
    assert [*json.loads((user.home / "mcp.json").read_bytes())["mcpServers"]] == ["time"]
    assert json.loads(path.read_bytes())["mcpServers"]["hub"] == entry


def test_rows_break_between_words_at_a_terminal_and_nowhere_in_a_pipe(user: Workspace) -> None:
    secret = {"command": "a", "args": ["--token", TOKEN]}
    _claude(user, mcpServers={"time": secret})
    said = "the value of `--token` looks like a secret, and no reference to the vault can stand"
    told = on_terminal(user, "setup", "--dry-run", columns=60)
    prose = told.split("Claude Code: ")[0]
    assert max(map(len, prose.splitlines())) <= 60
    assert said in re.sub(r"\s+", " ", prose)
    assert said in switchboard(user, "setup", "--dry-run").out


def test_a_file_that_cannot_be_read_is_to_be_corrected_first(user: Workspace) -> None:
    path = _put(user, ".gemini/settings.json", '{\n  "a": 1,,\n}\n')
    for words in (("--dry-run",), ("--yes",)):
        done = switchboard(user, "setup", "gemini", *words, apart=True)
        assert done.code == 1
        assert "Gemini CLI: could not read ~/.gemini/settings.json\n" in done.out
        assert "  ~/.gemini/settings.json:3:1: " in done.out
        assert "hint: correct ~/.gemini/settings.json, then run this again\n" in done.err
        # It would fail without that option just as well.
        assert "run it without" not in done.err
    path.write_text("{}")
    assert "run it without `--dry-run`" in switchboard(user, "setup", "--dry-run").err


def test_a_server_of_one_project_is_shown_with_its_program_as_any_other(user: Workspace) -> None:
    """Only its options and its program; nothing else of it, and nothing of another project."""
    local = {"files": {"command": "files-server", "args": ["--root", "canary-root"]}}
    other = {"far": {"command": "other-server"}}
    projects = {str(user.root): {"mcpServers": local}, "/elsewhere": {"mcpServers": other}}
    _claude(user, mcpServers={"time": TIME}, projects=projects)
    said = switchboard(user, "setup", "--dry-run").out
    assert '"command": "files-server"' in said
    assert '"--root"' in said
    assert "canary-root" not in said
    assert "other-server" not in said


def test_a_file_of_the_project_is_told_until_its_servers_are_taken_over(user: Workspace) -> None:
    user.write(".mcp.json", json.dumps({"mcpServers": {"notes": {"command": "notes-server"}}}))
    _put(user, ".codex/config.toml", "")
    told = "names servers of this project"
    done = switchboard(user, "setup", "--dry-run")
    assert told in done.err
    assert "switchboard init --import" in done.err
    assert switchboard(user, "init", "--import").code == 0
    for words in (("setup", "--dry-run"), ("install", "codex", "--dry-run")):
        assert told not in switchboard(user, *words).err


def test_no_import_is_offered_of_a_file_that_it_does_not_look_at(user: Workspace) -> None:
    user.write(".gemini/settings.json", json.dumps({"mcpServers": {"notes": {"command": "n"}}}))
    _put(user, ".codex/config.toml", "")
    done = switchboard(user, "setup", "--dry-run")
    assert ".gemini/settings.json names servers of this project" in done.err
    assert "init --import" not in done.err


def test_paths_of_the_home_are_told_with_a_tilde(user: Workspace) -> None:
    _put(user, ".codex/config.toml", CODEX)
    planned = switchboard(user, "setup", "--dry-run").out
    assert "  --- ~/.codex/config.toml\n  +++ ~/.codex/config.toml\n" in planned
    asked = answering(user, "setup", answers=["n"]).out
    assert "Codex: ~/.codex/config.toml" in asked
    assert "  --- ~/.codex/config.toml" in asked
    assert str(user.user_home) not in planned + asked


def test_a_remark_says_of_whom_it_speaks(user: Workspace) -> None:
    _put(user, ".gemini/settings.json", "{}")
    _put(user, ".config/Code/User/mcp.json", "{}")
    said = switchboard(user, "setup", "--dry-run").out
    assert "  VS Code asks once more whether you trust the entry\n" in said
    assert "  Gemini CLI starts no servers, not even yours, until you trust the folder" in said
