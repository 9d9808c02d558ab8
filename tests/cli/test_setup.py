"""`setup` and `revert`: servers move behind Switchboard, and everything comes back."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cli.commands import answering, switchboard
from support.requirements import attack
from support.workspace import Workspace, child_command

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
BEARER = "Bearer 0123456789abcdef0123456789abcdef"
CODEX = f"""\
# Mine.
model = "gpt"  # the good one

[mcp_servers.time]
command = "uvx"
args = ["mcp-server-time"]

[mcp_servers.github]
command = "npx"
args = ["-y", "github-mcp"]
env = {{ GITHUB_TOKEN = "{TOKEN}", LEVEL = "1" }}

[profiles.work]
model = "other"
"""
CURSOR = f"""\
{{
  // What Cursor has.
  "mcpServers": {{
    "time": {{"command": "uvx", "args": ["mcp-server-time"]}},
    "docs": {{"url": "https://docs.example/mcp", "headers": {{"Authorization": "{BEARER}"}}}},
  }},
  "other": [1, 2],
}}
"""


@pytest.fixture
def hosts(workspace: Workspace) -> Workspace:
    """Give a home with Codex and Cursor in it, and nothing of ours."""
    workspace.env["PATH"] = os.pathsep.join(["/usr/bin", "/bin"])
    _write(workspace, ".codex/config.toml", CODEX)
    _write(workspace, ".cursor/mcp.json", CURSOR)
    return workspace


def _write(workspace: Workspace, place: str, text: str) -> Path:
    path = workspace.user_home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def _files(workspace: Workspace) -> dict[str, bytes]:
    """Every file of the hosts, byte by byte."""
    return {
        str(path.relative_to(workspace.user_home)): path.read_bytes()
        for path in workspace.user_home.rglob("*")
        if path.is_file() and not path.is_relative_to(workspace.home)
    }


def _ours(workspace: Workspace) -> dict[str, Any]:
    return json.loads((workspace.home / "mcp.json").read_text("utf-8"))["mcpServers"]


def test_a_dry_run_shows_everything_and_changes_nothing(hosts: Workspace) -> None:
    before = _files(hosts)
    done = switchboard(hosts, "setup", "--dry-run")
    assert done.code == 0, done.err
    assert "would take over time from Codex, Cursor" in done.out
    assert "would take over github from Codex" in done.out
    assert "-[mcp_servers.time]" in done.out
    assert "+[mcp_servers.switchboard]" in done.out
    assert '+    "switchboard": {' in done.out
    assert _files(hosts) == before
    assert not (hosts.home / "mcp.json").exists()


def test_servers_move_and_each_host_has_one_entry(hosts: Workspace) -> None:
    done = switchboard(hosts, "setup", "--yes", apart=True)
    assert done.code == 0, done.err
    assert set(_ours(hosts)) == {"time", "github", "docs"}
    # A model chooses by it before the server has been started.
    assert "time zones" in _ours(hosts)["time"]["description"]
    codex = tomllib.loads((hosts.user_home / ".codex/config.toml").read_text("utf-8"))
    assert set(codex["mcp_servers"]) == {"switchboard"}
    entry = codex["mcp_servers"]["switchboard"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"] == ["mcp"]
    assert entry["supports_parallel_tool_calls"] is True
    assert entry["env_vars"] == ["SWITCHBOARD_HOME"]
    assert codex["profiles"]["work"]["model"] == "other"
    text = (hosts.user_home / ".codex/config.toml").read_text("utf-8")
    assert text.startswith('# Mine.\nmodel = "gpt"  # the good one\n')
    cursor = (hosts.user_home / ".cursor/mcp.json").read_text("utf-8")
    assert "// What Cursor has." in cursor
    assert '"other": [1, 2],' in cursor
    assert '"time"' not in cursor


def test_secrets_go_into_the_vault_and_nowhere_else(hosts: Workspace) -> None:
    done = switchboard(hosts, "setup", "--yes", apart=True)
    ours = _ours(hosts)
    assert ours["github"]["env"] == {"LEVEL": "1"}
    assert ours["github"]["secret_env"] == {"GITHUB_TOKEN": "vault:mcp/github/env/GITHUB_TOKEN"}
    assert ours["docs"]["headers"] == {"Authorization": "vault:mcp/docs/header/Authorization"}
    listed = switchboard(hosts, "vault", "list").out
    assert "mcp/github/env/GITHUB_TOKEN" in listed
    kept = hosts.home / "hosts" / "originals"
    for path in hosts.user_home.rglob("*"):
        # The bytes before us hold what they held; nobody else can read them.
        if path.is_file() and not path.is_relative_to(kept):
            assert TOKEN.encode() not in path.read_bytes(), path
    assert all(path.stat().st_mode & 0o77 == 0 for path in (kept, *kept.iterdir()))
    for said in (done, switchboard(hosts, "setup", "--dry-run", "--json")):
        assert TOKEN not in said.out + said.err
        assert BEARER not in said.out + said.err


def test_a_secret_that_json_gives_its_name_goes_into_the_vault_too(hosts: Workspace) -> None:
    config = json.dumps({"site": {"token": "not-for-others"}, "level": 1})
    plain = json.dumps({"level": "high"})
    _claude(hosts, mcpServers={"wiki": {"command": "a", "env": {"CONF": config, "MORE": plain}}})
    switchboard(hosts, "setup", "--yes", apart=True)
    wiki = _ours(hosts)["wiki"]
    assert wiki["secret_env"] == {"CONF": "vault:mcp/wiki/env/CONF"}
    assert wiki["env"] == {"MORE": plain}


def test_no_secret_is_shown_in_a_difference(hosts: Workspace) -> None:
    done = switchboard(hosts, "setup", "--dry-run")
    assert 'env = { GITHUB_TOKEN = "•••", LEVEL = "•••" }' in done.out
    assert TOKEN not in done.out
    assert BEARER not in done.out


def test_a_second_run_changes_nothing(hosts: Workspace) -> None:
    switchboard(hosts, "setup", "--yes", apart=True)
    before, ours = _files(hosts), _ours(hosts)
    done = switchboard(hosts, "setup", "--yes", apart=True)
    assert done.code == 0, done.err
    assert "already up to date" in done.out
    assert (_files(hosts), _ours(hosts)) == (before, ours)


def test_variables_of_servers_are_named_at_once(hosts: Workspace) -> None:
    """Codex hands on what is named; a second run has nothing to add."""
    entry = {"command": "x", "env": {"API_KEY": "${env:MY_KEY}"}}
    _write(hosts, ".cursor/mcp.json", json.dumps({"mcpServers": {"keyed": entry}}))
    switchboard(hosts, "setup", "--yes", apart=True)
    before = _files(hosts)
    assert b'"MY_KEY"' in before[".codex/config.toml"]
    switchboard(hosts, "setup", "--yes", apart=True)
    assert _files(hosts) == before


def test_a_server_of_a_host_that_stays_is_told_as_left(hosts: Workspace) -> None:
    done = answering(hosts, "setup", answers=["y", "n"])
    assert "in Cursor: no file that has it is changed" in done.out


def test_a_server_that_would_spoil_our_file_stays_where_it_is(hosts: Workspace) -> None:
    servers = {"odd": {"command": "x", "env": {"LD_PRELOAD": "x.so"}}, "fine": {"command": "y"}}
    _claude(hosts, mcpServers=servers)
    done = switchboard(hosts, "setup", "claude-code", "--yes", apart=True)
    assert "left odd in Claude Code: `LD_PRELOAD` can make the server run foreign code" in done.out
    assert [*_ours(hosts)] == ["fine"]
    claude = json.loads((hosts.user_home / ".claude.json").read_bytes())
    assert {*claude["mcpServers"]} == {"odd", "switchboard"}
    assert switchboard(hosts, "list").code == 0


def test_revert_puts_everything_back_byte_for_byte(hosts: Workspace) -> None:
    before = _files(hosts)
    switchboard(hosts, "setup", "--yes", apart=True)
    assert _files(hosts) != before
    done = switchboard(hosts, "revert", "--yes", apart=True)
    assert done.code == 0, done.err
    assert done.out.count("byte for byte") == 2
    assert done.out.count("which was not there before") == 2
    assert "the secrets that have moved stay in the vault: switchboard vault list" in done.err
    assert _files(hosts) == before
    assert not (hosts.home / "mcp.json").exists()
    assert "nothing of ours" in switchboard(hosts, "revert", "--yes", apart=True).err
    assert not list((hosts.home / "hosts" / "originals").iterdir())


def test_what_a_host_wrote_meanwhile_is_kept(hosts: Workspace) -> None:
    switchboard(hosts, "setup", "--yes", apart=True)
    path = hosts.user_home / ".cursor/mcp.json"
    tree = {
        "mcpServers": {
            "switchboard": {"command": "/opt/switchboard", "args": ["mcp"]},
            "mine": {"command": "x"},
        },
        "new": True,
    }
    path.write_text(json.dumps(tree), "utf-8")
    done = switchboard(hosts, "revert", "--yes", apart=True)
    assert "took our part out of" in done.out
    now = json.loads(path.read_text("utf-8"))
    assert set(now["mcpServers"]) == {"mine", "time", "docs"}
    assert now["mcpServers"]["docs"]["headers"] == {"Authorization": BEARER}
    assert now["new"] is True


def test_a_server_that_was_changed_since_stays_ours(hosts: Workspace) -> None:
    switchboard(hosts, "setup", "--yes", apart=True)
    ours = _ours(hosts)
    ours["time"]["args"] = ["mcp-server-time", "--local-timezone", "UTC"]
    (hosts.home / "mcp.json").write_text(json.dumps({"mcpServers": ours}), "utf-8")
    switchboard(hosts, "revert", "--yes", apart=True)
    assert set(_ours(hosts)) == {"time"}


def test_different_servers_of_one_name_are_both_kept(hosts: Workspace) -> None:
    other = {"mcpServers": {"time": {"command": "other-time"}}}
    _write(hosts, ".cursor/mcp.json", json.dumps(other))
    switchboard(hosts, "setup", "--yes", apart=True)
    ours = _ours(hosts)
    assert ours["time"]["command"] == "uvx"
    assert ours["time_cursor"]["command"] == "other-time"


def test_servers_whose_names_are_nearly_one_are_all_kept_and_can_be_used(hosts: Workspace) -> None:
    """Two that differ by case, by a sign or for the eye alone would both be left out."""
    echo = [*map(str, child_command("echo_child"))]

    def started(word: str) -> dict[str, Any]:
        return {"command": echo[0], "args": [*echo[1:], word]}

    named = {"GitHub": "a", "my server": "b", "ns.tool": "c", "p\u0430y": "d"}
    _claude(hosts, mcpServers={name: started(word) for name, word in named.items()})
    others = {"github": "e", "my_server": "f", "ns_tool": "g", "pay": "h", "my_server_suite": "i"}
    servers = {name: started(word) for name, word in others.items()}
    _write(hosts, ".codex/config.toml", "")
    _write(hosts, ".cursor/mcp.json", json.dumps({"mcpServers": servers}))
    before = _files(hosts)
    done = switchboard(hosts, "setup", "--yes", apart=True)
    assert "took over github_cursor from Cursor\n  it is `github` there; another" in done.out
    assert len(_ours(hosts)) == len(named) + len(others)
    listed = switchboard(hosts, "list", "--json").report
    assert [each["name"] for each in listed["servers"] if each.get("left_out")] == []
    assert "left out" not in switchboard(hosts, "config", "check").err
    switchboard(hosts, "revert", "--yes", apart=True)
    assert _files(hosts) == before


def test_a_name_cannot_repaint_the_terminal(hosts: Workspace) -> None:
    _write(hosts, ".cursor/mcp.json", json.dumps({"mcpServers": {"a\u001b[2Jb": {}, "": {}}}))
    shown = switchboard(hosts, "setup", "--dry-run").out
    assert "left a\\x1b[2Jb in Cursor" in shown
    assert 'left "" in Cursor' in shown
    assert "\x1b" not in shown


def test_a_broken_file_is_named_with_its_line_and_stops_no_other(hosts: Workspace) -> None:
    broken = '{\n  "mcpServers": {\n    "a": \n  }\n}\n'
    path = _write(hosts, ".cursor/mcp.json", broken)
    done = switchboard(hosts, "setup", "--yes", apart=True)
    assert done.code == 1
    assert "~/.cursor/mcp.json:4:3" in done.out
    assert path.read_text("utf-8") == broken
    assert "[mcp_servers.switchboard]" in (hosts.user_home / ".codex/config.toml").read_text()


def test_what_a_host_runs_when_it_reads_its_file_is_told_and_never_run(hosts: Workspace) -> None:
    trace = hosts.root / "ran"
    tree = {"mcp": {"evil": {"type": "stdio", "command": "x", "env": {"A": f"$(touch {trace})"}}}}
    path = _write(hosts, ".config/crush/crush.json", json.dumps(tree))
    done = switchboard(hosts, "setup", "--yes", apart=True)
    assert "left evil in Crush" in done.out
    assert not trace.exists()
    assert "evil" in json.loads(path.read_text("utf-8"))["mcp"]
    assert "evil" not in _ours(hosts)


def test_a_file_of_the_team_is_told_and_never_changed(hosts: Workspace) -> None:
    text = '{"mcpServers": {"shared": {"command": "x"}}}'
    team = hosts.write(".mcp.json", text)
    done = switchboard(hosts, "setup", "--yes", apart=True)
    assert f"{team} names servers of this project" in done.err
    assert team.read_text("utf-8") == text
    assert "shared" not in _ours(hosts)


def test_without_a_terminal_somebody_has_to_say_yes(hosts: Workspace) -> None:
    before = _files(hosts)
    done = switchboard(hosts, "setup", apart=True)
    assert done.code == 2
    assert "--dry-run" in done.err
    assert _files(hosts) == before


def test_a_person_decides_about_each_host(hosts: Workspace) -> None:
    before = _files(hosts)
    # Yes to Codex, no to Cursor.
    done = answering(hosts, "setup", answers=["y", "n"])
    assert done.code == 0, done.out
    after = _files(hosts)
    assert after[".cursor/mcp.json"] == before[".cursor/mcp.json"]
    assert after[".codex/config.toml"] != before[".codex/config.toml"]
    assert set(_ours(hosts)) == {"time", "github"}


def test_install_enters_us_beside_what_is_there_and_uninstall_takes_us_out(
    hosts: Workspace,
) -> None:
    before = _files(hosts)
    done = switchboard(hosts, "install", "codex", "--yes", apart=True)
    assert done.code == 0, done.err
    codex = tomllib.loads((hosts.user_home / ".codex/config.toml").read_text("utf-8"))
    assert set(codex["mcp_servers"]) == {"time", "github", "switchboard"}
    assert _files(hosts)[".cursor/mcp.json"] == before[".cursor/mcp.json"]
    assert switchboard(hosts, "uninstall", "codex", "--yes", apart=True).code == 0
    assert _files(hosts) == before


def test_import_leaves_the_hosts_as_they_are(hosts: Workspace) -> None:
    before = _files(hosts)
    done = switchboard(hosts, "import", "codex", "--yes", apart=True)
    assert done.code == 0, done.err
    assert set(_ours(hosts)) == {"time", "github"}
    assert _files(hosts) == before


def test_a_host_that_nobody_knows_is_named(hosts: Workspace) -> None:
    done = switchboard(hosts, "install", "codx")
    assert done.code == 2
    assert "did you mean `codex`?" in done.err


def test_everything_of_ours_goes_and_what_a_person_made_stays(hosts: Workspace) -> None:
    before = _files(hosts)
    switchboard(hosts, "setup", "--yes", apart=True)
    kept = hosts.home / "state" / "memory" / "graph.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}", "utf-8")
    (hosts.home / "logs").mkdir(exist_ok=True)
    dry = switchboard(hosts, "uninstall", "--all", "--dry-run")
    assert "would remove ~/.switchboard/hosts" in dry.out
    assert (hosts.home / "hosts").exists()
    done = switchboard(hosts, "uninstall", "--all", "--yes", apart=True)
    assert done.code == 0, done.err
    assert _files(hosts) == before
    left = {path.name for path in hosts.home.iterdir()}
    assert left == {"vault", "state"}
    assert [path.name for path in (hosts.home / "state").iterdir()] == ["memory"]
    assert "yours, and still in ~/.switchboard: state, vault" in done.err


@attack("T22", "T33")
def test_no_value_of_a_server_is_shown_and_none_to_whoever_is_served(hosts: Workspace) -> None:
    secrets = {
        "plain": "hunter2hunter2",
        "flag": "tok-abcdef-123456",
        "joined": "tok-zyxwvu-654321",
        "path": "a1b2c3d4e5f6a7b8c9d0",
        "query": "key=q1w2e3r4t5",
        "oauth": "client-secret-value",
        "header": "own-header-value",
        "shell": "shell-value",
        "fragment": "frag-value",
        "beside": "value-beside",
    }
    entry = {"command": "x", "args": ["--token", secrets["flag"], f"--api-key={secrets['joined']}"]}
    tree = {
        "mcpServers": {
            "one": {**entry, "env": {"MY_PW": secrets["plain"]}},
            "three": {"command": "x", "args": ["--header", f"X-Own: {secrets['header']}"]},
            "four": {"command": "sh", "args": ["-c", f"X={secrets['shell']} exec y"]},
            "five": {"url": f"https://h.example/mcp#{secrets['fragment']}"},
            "two": {
                "url": f"https://h.example/{secrets['path']}/mcp?{secrets['query']}",
                "oauth": {"clientSecret": secrets["oauth"]},
            },
        },
        "inputs": [{"default": secrets["beside"]}],
    }
    _write(hosts, ".cursor/mcp.json", json.dumps(tree, indent=1))
    for words in (("--dry-run",), ("--dry-run", "--json")):
        done = switchboard(hosts, "setup", *words)
        assert done.code == 0, done.err
        assert "switchboard" in done.out
        assert [name for name, value in secrets.items() if value in done.out + done.err] == []


def _claude(workspace: Workspace, **top: Any) -> Path:
    return _write(workspace, ".claude.json", json.dumps(top, indent=2))


def _allowed(workspace: Workspace) -> Any:
    path = workspace.user_home / ".claude/settings.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def test_a_host_leaves_asking_to_us_only_after_a_yes_of_its_own(workspace: Workspace) -> None:
    workspace.env["PATH"] = os.pathsep.join(["/usr/bin", "/bin"])
    workspace.env.pop("ENABLE_MCP_SERVER_SURFACE", None)
    _claude(workspace, numStartups=3)
    before = _files(workspace)
    done = switchboard(workspace, "setup", "--yes", apart=True)
    assert "switchboard install claude-code --allow" in done.out
    assert _allowed(workspace) is None
    done = switchboard(workspace, "install", "claude-code", "--yes", "--allow", apart=True)
    assert "Claude Code leaves asking to Switchboard" in done.out, done.err
    assert _allowed(workspace) == {"permissions": {"allow": ["mcp__switchboard"]}}
    assert "--allow" not in switchboard(workspace, "setup", "--yes", apart=True).out
    switchboard(workspace, "revert", "--yes", apart=True)
    assert _files(workspace) == before


def test_where_our_gate_is_off_only_what_reads_is_let_through(workspace: Workspace) -> None:
    workspace.config_toml(
        'guard = false\n[surface]\nsplit = "auto"\n[mcp_servers.x]\ncommand = "a"\n', scope="home"
    )
    # Of a clone nothing comes into a file of the user.
    workspace.config_toml('[mcp_servers.y]\ncommand = "b"\nsecret_env = { T = "env:STOLEN" }\n')
    switchboard(workspace, "install", "claude-code", "codex", "--yes", "--allow", apart=True)
    assert _allowed(workspace) == {"permissions": {"allow": ["mcp__switchboard__x_suite_read"]}}
    codex = (workspace.user_home / ".codex/config.toml").read_text("utf-8")
    assert "default_tools_approval_mode" not in codex
    assert "STOLEN" not in codex


def test_two_questions_are_asked_where_a_host_could_leave_asking_to_us(
    workspace: Workspace,
) -> None:
    workspace.env["PATH"] = os.pathsep.join(["/usr/bin", "/bin"])
    workspace.env.pop("ENABLE_MCP_SERVER_SURFACE", None)
    _claude(workspace, numStartups=3)
    done = answering(workspace, "setup", answers=["y", "n"])
    assert "Change Claude Code? [y/N]" in done.out
    assert "Have Claude Code leave asking to Switchboard" in done.out
    assert '+      "mcp__switchboard"' in done.out
    assert "switchboard" in (workspace.user_home / ".claude.json").read_text("utf-8")
    assert _allowed(workspace) is None


def test_servers_of_this_project_alone_move_too_and_come_back(workspace: Workspace) -> None:
    workspace.env["PATH"] = os.pathsep.join(["/usr/bin", "/bin"])
    local = {"mine": {"type": "stdio", "command": "uvx", "args": ["mcp-server-time"]}}
    other = {"theirs": {"command": "a"}}
    _claude(
        workspace,
        mcpServers={"docs": {"type": "http", "url": "https://docs.example/mcp"}},
        projects={str(workspace.root): {"mcpServers": local}, "/other": {"mcpServers": other}},
    )
    before = _files(workspace)
    done = switchboard(workspace, "setup", "--yes", apart=True)
    assert "had it in this project alone; here it is for every project" in done.out
    assert set(_ours(workspace)) == {"docs", "mine"}
    now = json.loads((workspace.user_home / ".claude.json").read_text("utf-8"))
    assert set(now["mcpServers"]) == {"switchboard"}
    assert now["projects"][str(workspace.root)]["mcpServers"] == {}
    assert now["projects"]["/other"]["mcpServers"] == other
    again = switchboard(workspace, "setup", "--yes", apart=True)
    assert "already up to date" in again.out
    switchboard(workspace, "revert", "--yes", apart=True)
    assert _files(workspace) == before


def test_a_server_of_a_host_that_is_only_told_is_no_plan(workspace: Workspace) -> None:
    workspace.env["PATH"] = os.pathsep.join(["/usr/bin", "/bin"])
    text = json.dumps({"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}})
    _write(workspace, ".lmstudio/mcp.json", text)
    done = switchboard(workspace, "setup", "--dry-run")
    assert "left time in LM Studio: no file that has it is changed" in done.out


def test_an_entry_that_somebody_else_wrote_goes_with_the_host(workspace: Workspace) -> None:
    entry = {"command": "switchboard", "args": ["mcp"]}
    path = _claude(workspace, mcpServers={"switchboard": entry, "mine": {"command": "a"}})
    assert "nothing of ours" in switchboard(workspace, "revert", "--yes", apart=True).err
    done = switchboard(workspace, "uninstall", "claude-code", "--yes", apart=True)
    assert "took the entry of Switchboard out of" in done.out, done.err
    assert json.loads(path.read_text("utf-8"))["mcpServers"] == {"mine": {"command": "a"}}


def test_another_server_of_our_name_stays(workspace: Workspace) -> None:
    path = _claude(workspace, mcpServers={"switchboard": {"command": "phone"}})
    before = path.read_bytes()
    switchboard(workspace, "uninstall", "claude-code", "--yes", apart=True)
    assert path.read_bytes() == before


def test_a_server_starts_where_it_did_or_a_line_says_so(workspace: Workspace) -> None:
    workspace.env["PATH"] = os.pathsep.join(["/usr/bin", "/bin"])
    fixed = {"command": "python3", "args": ["server.py"], "cwd": str(workspace.root)}
    script = {"command": "npm", "args": ["run", "mcp"]}
    files = {"command": "npx", "args": ["-y", "@scope/files", "."]}
    _claude(workspace, mcpServers={"fixed": fixed, "script": script, "files": files})
    done = switchboard(workspace, "setup", "--yes", apart=True)
    assert "left fixed in Claude Code: it runs in a folder of its own" in done.out
    ours = _ours(workspace)
    assert {ours[name]["start_in"] for name in ("script", "files")} == {"workspace"}
    assert done.out.count('with `start_in = "workspace"`: ') == 2
    assert done.out.count("and in no others: switchboard trust --folder") == 2
    assert switchboard(workspace, "config", "check").code == 0


def test_it_ends_with_what_was_saved(workspace: Workspace) -> None:
    workspace.env["PATH"] = os.pathsep.join(["/usr/bin", "/bin"])
    program, *args = map(str, child_command("echo_child", "echo"))
    # What finds tools costs more than a single small server.
    servers = {name: {"command": program, "args": [*args, name]} for name in ("a", "b", "c")}
    _claude(workspace, mcpServers={**servers, "echo": {"command": program, "args": args}})
    with subprocess.Popen([program, *args], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as it:
        done = answering(workspace, "setup", answers=["y", "n"])
        assert it.stdin
        it.stdin.close()
    assert "1 of them runs now, in " in done.out
    # In as many rows as the terminal makes of it.
    said = " ".join(done.out.split())
    found = re.search(r"reads ([\d,]+) tokens of 4 servers .* it reads ([\d,]+)", said)
    assert found, done.out
    shown, direct = (int(each.replace(",", "")) for each in found.groups())
    assert 0 < shown < direct


def test_a_file_of_a_project_gets_our_entry_only_when_it_is_asked_for(workspace: Workspace) -> None:
    done = switchboard(workspace, "install", "vscode", "zed", "--project", "--yes", apart=True)
    assert done.code == 0, done.out + done.err
    text = (workspace.root / ".vscode/mcp.json").read_text("utf-8")
    entry = json.loads(text)["servers"]["switchboard"]
    # Nothing of this machine: a team shares the file.
    assert entry["command"] == "switchboard"
    assert entry["args"] == ["mcp", "--workspace", "${workspaceFolder}"]
    assert str(workspace.user_home) not in text
    assert (
        "already up to date"
        in switchboard(workspace, "install", "vscode", "--project", "--yes", apart=True).out
    )
    switchboard(workspace, "uninstall", "vscode", "zed", "--yes", apart=True)
    assert not (workspace.root / ".vscode").exists()


def test_a_project_leads_us_to_no_other_file(workspace: Workspace, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (workspace.root / ".vscode").symlink_to(elsewhere)
    done = switchboard(workspace, "install", "vscode", "--project", "--yes", apart=True)
    assert done.code == 1
    assert not any(elsewhere.iterdir())


def test_servers_that_are_nearly_the_same_are_pointed_out(hosts: Workspace) -> None:
    other = {"command": "uvx", "args": ["mcp-server-time@1.2", "--local-timezone", "UTC"]}
    _write(hosts, ".cursor/mcp.json", json.dumps({"mcpServers": {"clock": other}}))
    done = switchboard(hosts, "setup", "--dry-run")
    assert "much like `time`, but not the same" in done.out


def test_in_the_home_itself_no_file_is_told_twice(hosts: Workspace) -> None:
    done = switchboard(hosts, "--workspace", str(hosts.user_home), "setup", "--dry-run")
    assert "would write" in done.out
    assert "names servers of this project" not in done.err


def test_our_own_files_are_named_and_go_again(workspace: Workspace) -> None:
    workspace.env["PATH"] = os.pathsep.join(["/usr/bin", "/bin"])
    _claude(workspace, mcpServers={"time": {"command": "uvx", "args": ["mcp-server-time"]}})
    done = switchboard(workspace, "setup", "--yes", apart=True)
    for name in ("config.toml", "mcp.json"):
        assert re.search(rf"^wrote .*{name}$", done.out, re.MULTILINE), done.out
    done = switchboard(workspace, "revert", "--yes", apart=True)
    assert "config.toml, which was not there before" in done.out
    assert not (workspace.home / "config.toml").exists()
    assert not (workspace.home / "mcp.json").exists()


def test_a_host_that_is_asked_for_its_list_writes_into_no_file_of_its_user(
    workspace: Workspace, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    # As the real one: it counts its starts in the file that it reads.
    program.write_text('#!/bin/sh\necho >> "$HOME/.claude.json"; cat "$HOME/.claude.json"\n')
    program.chmod(0o755)
    workspace.env["PATH"] = os.pathsep.join([str(program.parent), "/usr/bin", "/bin"])
    _claude(workspace, numStartups=3)
    before = _files(workspace)
    done = switchboard(workspace, "setup", "--yes", apart=True)
    assert "Claude Code lists it" in done.out
    done = switchboard(workspace, "revert", "--yes", apart=True)
    assert "byte for byte" in done.out
    assert _files(workspace) == before


def test_who_declines_everything_finds_everything_as_it_was(hosts: Workspace) -> None:
    before = _files(hosts)
    done = answering(hosts, "setup", answers=["n", "n"])
    assert done.code == 0, done.out
    assert _files(hosts) == before
    assert not (hosts.home / "config.toml").exists()
    assert not (hosts.home / "mcp.json").exists()
