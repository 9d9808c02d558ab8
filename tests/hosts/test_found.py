"""Where hosts keep their files, which of them are here, and what is said beside our entry."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hosts.ground import READING, Ground, named
from switchboard.hosts.applying import apply
from switchboard.hosts.found import find_host, is_here
from switchboard.hosts.granting import changes_beside
from switchboard.hosts.places import HostRoots
from switchboard.hosts.table import HOSTS


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    (tmp_path / "user").mkdir()
    (tmp_path / "project").mkdir()
    return Ground(tmp_path)


def own_path(host: str, **environ: str) -> str:
    places = HostRoots(user_home="/h", project="/p", environ=environ)
    return find_host(named(host), places).own_file.path


@pytest.mark.parametrize(
    ("host", "environ", "path"),
    [
        ("claude-code", {}, "/h/.claude.json"),
        ("claude-code", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"),
        ("claude-code", {"CLAUDE_CONFIG_DIR": "c"}, "/h/.claude.json"),
        ("codex", {"CODEX_HOME": "/c"}, "/c/config.toml"),
        ("vscode", {"XDG_CONFIG_HOME": "/x"}, "/x/Code/User/mcp.json"),
        ("vscode-insiders", {}, "/h/.config/Code - Insiders/User/mcp.json"),
        ("copilot-cli", {"COPILOT_HOME": "/c"}, "/c/mcp-config.json"),
        ("qwen", {"QWEN_HOME": "/q"}, "/q/settings.json"),
        ("cline", {}, "/h/.cline/data/settings/cline_mcp_settings.json"),
        ("cline", {"CLINE_DIR": "/c"}, "/c/data/settings/cline_mcp_settings.json"),
        (
            "cline",
            {"CLINE_DIR": "/c", "CLINE_DATA_DIR": "/d"},
            "/d/settings/cline_mcp_settings.json",
        ),
        ("cline", {"CLINE_DATA_DIR": "/d", "CLINE_MCP_SETTINGS_PATH": "/m.json"}, "/m.json"),
        ("goose", {"GOOSE_PATH_ROOT": "/g"}, "/g/config/config.yaml"),
        ("crush", {"CRUSH_GLOBAL_CONFIG": "/c"}, "/c/crush.json"),
        ("junie", {"JUNIE_HOME": "/j"}, "/j/mcp/mcp.json"),
        ("amp", {}, "/h/.config/amp/settings.json"),
        ("opencode", {}, "/h/.config/opencode/opencode.json"),
        ("antigravity", {}, "/h/.gemini/config/mcp_config.json"),
    ],
)
def test_a_file_is_where_its_host_looks_for_it(
    host: str, environ: dict[str, str], path: str
) -> None:
    assert own_path(host, **environ) == path


def test_on_macos_some_are_elsewhere() -> None:
    places = HostRoots(user_home="/h", project="/p", environ={}, is_darwin=True)
    paths = [find_host(named(each), places).own_file.path for each in ("vscode", "claude-desktop")]
    library = "/h/Library/Application Support"
    assert paths == [
        f"{library}/Code/User/mcp.json",
        f"{library}/Claude/claude_desktop_config.json",
    ]


@pytest.mark.parametrize(
    ("host", "older", "newer"),
    [
        ("amp", ".config/amp/settings.json", ".config/amp/settings.jsonc"),
        ("opencode", ".config/opencode/opencode.jsonc", ".config/opencode/opencode.json"),
        ("antigravity", ".gemini/antigravity/mcp_config.json", ".gemini/config/mcp_config.json"),
        ("lm-studio", ".cache/lm-studio/mcp.json", ".lmstudio/mcp.json"),
    ],
)
def test_of_two_files_the_one_that_is_there_is_written(
    ground: Ground, host: str, older: str, newer: str
) -> None:
    home = Path(ground.places.user_home)
    for name in (older, newer):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("{}")
        assert ground.file(named(host)).path == str(home / name)


def test_a_file_that_its_host_has_left_behind_is_not_looked_at(ground: Ground) -> None:
    home = Path(ground.places.user_home)
    (home / ".gemini/antigravity").mkdir(parents=True)
    (home / ".gemini/antigravity/mcp_config.json").write_text('{"mcpServers": {"old": {}}}')
    (home / ".gemini/config").mkdir()
    (home / ".gemini/config/.migrated").touch()
    found = find_host(named("antigravity"), ground.places)
    assert found.own_file.path.endswith(".gemini/config/mcp_config.json")
    assert [each for file in found.files for each in file.servers] == []


def test_a_host_is_here_by_a_file_a_folder_or_a_program(ground: Ground) -> None:
    home = Path(ground.places.user_home)

    def here(path: str | None = "") -> list[str]:
        return [host.id for host in HOSTS if is_here(find_host(host, ground.places), path)]

    assert here() == []
    (home / ".config").mkdir()
    assert here() == []
    (home / ".cursor").mkdir()
    assert here() == ["cursor"]
    (home / ".claude.json").write_text("{}")
    assert here() == ["claude-code", "cursor"]
    programs = home / "bin"
    programs.mkdir()
    (programs / "goose").touch(0o755)
    assert here(str(programs)) == ["claude-code", "goose", "cursor"]


@pytest.mark.parametrize(
    ("says", "version", "here"),
    [
        ('{"mcp": {}}', "1.18.33", "opencode"),
        ('{"mcp": {}}', "2.0.1\n", "opencode-2"),
        ('{"mcp": {"servers": {"a": {}}}}', "v1.9.0", "opencode"),
        ('{"mcp": {"servers": {"a": {"type": "local"}}}}', "", "opencode-2"),
        ('{"mcp": {"servers": {"type": "local", "command": ["x"]}}}', "", "opencode"),
        ("{}", "", "opencode"),
        ("{ not json", "", "opencode"),
    ],
)
def test_one_of_the_two_opencodes_is_here(
    ground: Ground, says: str, version: str, here: str
) -> None:
    ground.put(named("opencode"), says.encode())
    found = [
        name
        for name in ("opencode", "opencode-2")
        if is_here(find_host(named(name), ground.places), "", {"opencode": version})
    ]
    assert found == [here]


def test_servers_of_one_project_and_those_that_are_off_are_told_apart(ground: Ground) -> None:
    project = ground.places.project
    says: dict[str, Any] = {
        "mcpServers": {"both": {"command": "user"}, "notes": {"command": "n"}},
        "projects": {
            project: {
                "mcpServers": {"both": {"command": "local"}, "db": {"command": "db"}},
                "disabledMcpServers": ["notes", "db"],
            }
        },
    }
    ground.put(named("claude-code"), json.dumps(says).encode())
    found = ground.file(named("claude-code"))
    assert {each.name: each.fields["command"] for each in found.servers} == {
        "both": "user",
        "notes": "n",
    }
    assert [each.name for each in found.servers if each.remarks] == ["notes"]
    assert {each.name: each.is_off for each in found.local_servers} == {"both": False, "db": True}


def test_lists_of_servers_that_are_used_or_not_are_obeyed(ground: Ground) -> None:
    servers = {name: {"command": name} for name in "abc"}
    says = {"mcpServers": servers, "mcp": {"allowed": ["a", "b"], "excluded": ["b"]}}
    ground.put(named("gemini"), json.dumps(says).encode())
    found = ground.file(named("gemini")).servers
    assert [each.name for each in found if not each.is_off] == ["a"]


def beside(ground: Ground, host: str, *, is_guarded: bool) -> dict[str, Any]:
    """Enter what is said beside our entry; what the files say then."""
    changes = [*changes_beside(named(host), ground.places, is_guarded=is_guarded, reading=READING)]
    with ground.record() as record:
        assert [each.reason for each in apply(changes, record, 0.0)] == [""] * len(changes)
    return {
        os.path.relpath(each.place.path, ground.places.user_home): json.loads(each.after)
        for each in changes
    }


def test_claude_code_lets_everything_pass_only_where_our_gate_asks(ground: Ground) -> None:
    settings = Path(ground.places.user_home) / ".claude/settings.json"
    assert beside(ground, "claude-code", is_guarded=False) == {
        ".claude/settings.json": {"permissions": {"allow": ["mcp__switchboard__notes_read"]}}
    }
    ground.take_back()
    assert not settings.parent.exists()
    assert beside(ground, "claude-code", is_guarded=True) == {
        ".claude/settings.json": {"permissions": {"allow": ["mcp__switchboard"]}}
    }


def test_our_item_alone_goes_out_of_a_list_that_its_owner_has_changed(ground: Ground) -> None:
    settings = Path(ground.places.user_home) / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n  "permissions": {\n    "allow": [\n      "Bash(ls)"\n    ]\n  }\n}\n')
    beside(ground, "claude-code", is_guarded=True)
    text = settings.read_text()
    assert '[\n      "Bash(ls)",\n      "mcp__switchboard"\n    ]' in text
    settings.write_text(text.replace('"Bash(ls)"', '"Bash(ls)", "Read"'))
    assert [each.how for each in ground.take_back()] == ["parts"]
    assert json.loads(settings.read_text()) == {"permissions": {"allow": ["Bash(ls)", "Read"]}}


def test_an_item_that_its_owner_had_before_us_stays(ground: Ground) -> None:
    settings = Path(ground.places.user_home) / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"permissions": {"allow": ["mcp__switchboard"]}}')
    changes = [
        *changes_beside(named("claude-code"), ground.places, is_guarded=True, reading=READING)
    ]
    assert [each.is_needed for each in changes] == [False]


def test_junie_and_crush_have_lists_of_their_own(ground: Ground) -> None:
    assert beside(ground, "junie", is_guarded=True) == {
        ".junie/allowlist.json": {
            "rules": {"mcpTools": {"rules": [{"prefix": "switchboard:", "action": "allow"}]}}
        }
    }
    crush = named("crush")
    ground.put(crush, b"{}")
    ground.enter(crush)
    says = json.loads(Path(ground.file(crush).path).read_bytes())
    assert "permissions" not in says


def test_a_word_of_its_owner_about_us_is_not_changed(ground: Ground) -> None:
    ground.put(named("opencode"), b'{"permission": {"switchboard_*": "ask"}}')
    ground.enter(named("opencode"))
    says = json.loads(Path(ground.file(named("opencode")).path).read_bytes())
    assert says["permission"] == {"switchboard_*": "ask"}


def test_the_id_of_each_host_and_its_names_fit_those_who_use_them() -> None:
    ids = [host.id for host in HOSTS]
    assert len(set(ids)) == len(ids)
    for host in HOSTS:
        assert any(file.scope == "user" and not file.is_only_if_there for file in host.files)
        # The list of a host is asked by the program that shows that it is here.
        assert not host.lists or host.lists[0] == host.program
