"""`switchboard.config.json` and the files of suite children."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from settings.examples import CONTEXT7, servers
from settings.ground import Ground
from support.requirements import requirement
from switchboard.children.exposure import Introspection, SuiteSettings
from switchboard.settings.sections import Timeouts


@requirement("S2.22", "S2.23", "S2.24", "S2.25", "S2.26", "S2.27", "S2.28")
def test_without_a_file_the_defaults_hold(ground: Ground) -> None:
    ground.child("memory")
    settings = ground.load()
    assert settings.timeouts == Timeouts(child_spawn_ms=8000, rpc_ms=60000)
    assert settings.introspection == Introspection(mode="summary", summary_max_chars=160)
    assert settings.suites == {}
    assert [entry.name for entry in settings.servers] == ["memory"]


@requirement("S2.10", "S2.11", "S2.12", "S2.13", "S2.14", "S2.15", "S2.16", "S2.17")
@requirement("S2.18", "S2.19", "S2.20", "S2.21")
def test_every_documented_setting_is_read(ground: Ground) -> None:
    ground.put(
        ground.workspace / "switchboard.config.json",
        {
            "discoverGlobs": ["children/*.json"],
            "suites": {
                "memory": {
                    "suiteName": "remember",
                    "description": "Remembers things",
                    "expose": {"allow": ["read"], "deny": ["drop"]},
                    "summaryMaxChars": 80,
                }
            },
            "timeouts": {"childSpawnMs": 1000, "rpcMs": 2000.0},
            "introspection": {"mode": "full", "summaryMaxChars": 99},
        },
    )
    ground.put(ground.workspace / "children" / "m.json", {"name": "memory"})
    ground.child("ignored")
    settings = ground.load()
    assert [entry.name for entry in settings.servers] == ["memory"]
    assert settings.suites == {
        "memory": SuiteSettings(
            suite_name="remember",
            description="Remembers things",
            allow=("read",),
            deny=("drop",),
            summary_max_chars=80,
        )
    }
    assert settings.timeouts == Timeouts(child_spawn_ms=1000, rpc_ms=2000)
    assert settings.introspection == Introspection(mode="full", summary_max_chars=99)


def test_the_further_settings_of_a_suite_are_read_and_reach_its_server(ground: Ground) -> None:
    ground.child("m")
    ground.put(
        ground.workspace / "switchboard.config.json",
        {
            "suites": {
                "m": {
                    "overrideDescription": True,
                    "resultMode": "passthrough",
                    "rpcTimeoutMs": 5,
                    "idleMs": 0,
                    "framing": "content-length",
                    "protocol": "handshake",
                    "inheritEnv": True,
                    "expose": {"allow": []},
                }
            },
            "timeouts": {"idleMs": 7},
        },
    )
    settings = ground.load()
    suite, (entry,) = settings.suites["m"], settings.servers
    assert (suite.override_description, suite.result_mode, suite.idle_ms) == (
        True,
        "passthrough",
        0,
    )
    assert suite.allow == ()
    assert (entry.rpc_timeout_ms, entry.framing, entry.protocol) == (
        5,
        "content-length",
        "handshake",
    )
    assert entry.inherit_env
    assert settings.timeouts.idle_ms == 7


@requirement("S2.29", "S2.10")
@pytest.mark.parametrize(
    ("content", "key", "hint"),
    [
        ({"discoverGlob": []}, "discoverGlob", "`discoverGlobs`"),
        ({"suites": {"m": {"suite_name": "x"}}}, "suites.m.suite_name", "`suiteName`"),
        ({"suites": {"m": {"allow": []}}}, "suites.m.allow", "inside `expose`"),
        ({"suites": {"m": {"expose": {"denny": []}}}}, "suites.m.expose.denny", "`deny`"),
        ({"timeouts": {"rpc_ms": 1}}, "timeouts.rpc_ms", "`rpcMs`"),
        ({"timeouts": {"rpcMs": 0}}, "timeouts.rpcMs", ""),
        ({"timeouts": {"rpcMs": "60s"}}, "timeouts.rpcMs", ""),
        ({"timeouts": {"rpcMs": True}}, "timeouts.rpcMs", ""),
        ({"timeouts": {"rpcMs": 1.5}}, "timeouts.rpcMs", ""),
        ({"introspection": {"mode": "sumary"}}, "introspection.mode", "`summary`"),
        ({"introspection": {"summaryMaxChars": -1}}, "introspection.summaryMaxChars", ""),
        ({"discoverGlobs": "x"}, "discoverGlobs", ""),
        ({"discoverGlobs": ["../*/.mcp.json"]}, "discoverGlobs[0]", ""),
        ({"discoverGlobs": ["/etc/*.json"]}, "discoverGlobs[0]", ""),
        ({"discoverGlobs": ["~/x"]}, "discoverGlobs[0]", ""),
        ({"suites": []}, "suites", ""),
    ],
)
def test_a_wrong_setting_is_refused(
    ground: Ground, content: dict[str, Any], key: str, hint: str
) -> None:
    ground.put(ground.workspace / "switchboard.config.json", content)
    (problem,) = ground.refused()
    assert problem.key == key
    assert hint in problem.hint


@requirement("S2.36", "S2.30", "S2.31", "S2.32", "S2.33", "S2.34", "S2.35")
def test_the_document_s_child_loads(ground: Ground) -> None:
    path = ground.child("context7", CONTEXT7)
    settings = ground.load()
    (entry,) = settings.servers
    assert (entry.name, entry.transport, entry.command) == ("context7", "stdio", "npx")
    assert entry.args == ("-y", "@upstash/context7-mcp")
    assert entry.env == {"DEFAULT_MINIMUM_TOKENS": "6000"}
    assert entry.description == "Context7 Documentation MCP"
    assert entry.suite_description.startswith("Smart context management")
    assert entry.cwd == str(path.parent)
    assert settings.warnings == ()


@requirement("S2.34", "S2.35")
def test_a_child_needs_nothing_but_its_name(ground: Ground) -> None:
    ground.child("x", {"name": "other-than-its-directory", "rpcTimeoutMs": 9, "framing": "newline"})
    (entry,) = ground.load().servers
    assert (entry.name, entry.command, entry.args) == (
        "other-than-its-directory",
        "node",
        ("dist/index.js",),
    )
    assert (entry.rpc_timeout_ms, entry.framing) == (9, "newline")
    assert (entry.description, entry.suite_description) == ("", "")


@requirement("S2.30", "S2.33")
@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        b"\xff\xfe",
        "\ufeff{}",
        {"command": {"cmd": "x"}},
        {"name": 5},
        {"name": "  "},
        {"name": "bad", "command": "npx -y x"},
        {"name": "bad", "command": {"args": []}},
        {"name": "bad", "command": {"cmd": "x", "args": [1]}},
        {"name": "bad", "command": {"cmd": "x", "env": {"LD_AUDIT": "evil.so"}}},
        {"name": "bad", "type": "claude-server"},
        '{"name": "bad", "name": "bad"}',
        " " * (1 << 20) + "{}",
        "[" * 5000,
    ],
)
def test_a_bad_child_is_left_out_and_the_others_load(
    ground: Ground, content: str | bytes | dict[str, Any]
) -> None:
    path = ground.child("bad", content)
    ground.child("good")
    settings = ground.load()
    assert [entry.name for entry in settings.servers] == ["good"]
    assert {warning.path for warning in settings.warnings} == {str(path)}
    assert any("left out" in warning.message for warning in settings.warnings)


def test_an_unknown_field_of_a_child_is_only_warned_of(ground: Ground) -> None:
    ground.child("x", {"name": "x", "version": 2, "command": {"cmd": "x", "shell": True}})
    settings = ground.load()
    assert len(settings.servers) == 1
    assert [warning.key for warning in settings.warnings] == ["version", "command.shell"]


@requirement("S2.33")
def test_of_two_children_with_one_name_the_first_path_wins(ground: Ground) -> None:
    ground.child("a", {"name": "same", "command": {"cmd": "first"}})
    ground.child("b", {"name": "same", "command": {"cmd": "second"}})
    settings = ground.load()
    assert [entry.command for entry in settings.servers] == ["first"]
    assert "already declared" in settings.warnings[0].message


@pytest.mark.parametrize("link", ["file", "folder"])
def test_a_link_out_of_the_workspace_is_not_followed(
    ground: Ground, tmp_path: Path, link: str
) -> None:
    outside = ground.put(tmp_path / "outside" / ".mcp.json", {"name": "evil"})
    folder = ground.own / "mcps" / "evil"
    folder.parent.mkdir(parents=True)
    if link == "folder":
        folder.symlink_to(outside.parent)
    else:
        folder.mkdir()
        (folder / ".mcp.json").symlink_to(outside)
    settings = ground.load()
    assert settings.servers == ()
    assert "outside" in settings.warnings[0].message


def test_a_link_inside_the_workspace_is_followed(ground: Ground) -> None:
    real = ground.put(ground.workspace / "servers" / "a.json", {"name": "a"})
    folder = ground.own / "mcps" / "a"
    folder.mkdir(parents=True)
    (folder / ".mcp.json").symlink_to(real)
    assert [entry.name for entry in ground.load().servers] == ["a"]


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["**/.mcp.json"], ["a", "b", "c"]),
        (["x/{a,b}/.mcp.json"], ["a", "b"]),
        (["x/*/.mcp.json", "!x/b/.mcp.json"], ["a"]),
        (["x/[ab]/.mcp.json", "x/a/.mcp.json"], ["a", "b"]),
        (["./x/?/.mcp.json"], ["a", "b"]),
        (["x/a"], []),
        (["nowhere/*/x.json"], []),
    ],
)
@requirement("S2.11")
def test_patterns_find_files(ground: Ground, patterns: list[str], names: list[str]) -> None:
    for path in ("x/a", "x/b", "x/deep/c", "node_modules/n"):
        ground.put(ground.workspace / path / ".mcp.json", {"name": path[-1]})
    (ground.workspace / "x" / "loop").symlink_to(ground.workspace)
    ground.put(ground.workspace / "switchboard.config.json", {"discoverGlobs": patterns})
    assert sorted(entry.name for entry in ground.load().servers) == names


@requirement("S2.37")
def test_the_digest_of_every_file_is_kept_and_changes_with_it(ground: Ground) -> None:
    path = ground.child("a")
    before = {source.path: source.digest for source in ground.load().files}
    assert ground.load().files == ground.load().files
    ground.child("a", {"name": "a", "command": {"cmd": "new"}})
    settings = ground.load()
    assert {source.path: source.digest for source in settings.files}[str(path)] != before[str(path)]
    assert str(path) in settings.watched
    assert str(ground.own / "mcps") in settings.watched


def test_a_suite_without_a_server_is_warned_of(ground: Ground) -> None:
    ground.child("memory")
    ground.put(ground.workspace / "switchboard.config.json", {"suites": {"memroy": {}}})
    ground.put(ground.workspace / "switchboard.config.json", {"suites": {"memroy": {"idleMs": 1}}})
    (warning,) = ground.load().warnings
    assert warning.hint == "did you mean `memory`?"


@pytest.mark.parametrize("name", ["b_suite", "codex", "switchboard_status"])
def test_a_suite_name_that_is_taken_or_reserved_is_not_shown(ground: Ground, name: str) -> None:
    ground.child("a")
    ground.child("b")
    ground.child("c")
    ground.put(ground.workspace / "switchboard.config.json", {"suites": {"a": {"suiteName": name}}})
    settings = ground.load()
    names = [entry.name for entry in settings.servers]
    assert names == (["c"] if name == "b_suite" else ["b", "c"])
    left_out = [omission.entry.name for omission in settings.omitted]
    assert left_out == (["a", "b"] if name == "b_suite" else ["a"])
    assert ["left out" in each.message for each in settings.warnings] == [True] * len(left_out)


def test_servers_whose_tools_would_have_one_address_are_left_out(ground: Ground) -> None:
    for name in ("a", "b", "c"):
        ground.child(name)
    ground.put(ground.workspace / "switchboard.config.json", {"suites": {"a": {"suiteName": "B"}}})
    settings = ground.load()
    assert [entry.name for entry in settings.servers] == ["c"]
    reasons = {each.entry.name: each.reason for each in settings.omitted}
    assert "its tools would be called `B.tool`, as those of `b`" in reasons["a"]
    assert "its tools would be called `b.tool`, as those of `a`" in reasons["b"]


def test_suites_whose_names_differ_only_in_case_are_left_out_and_name_each_other(
    ground: Ground,
) -> None:
    for name in ("a", "b", "c"):
        ground.child(name)
    suites = {"a": {"suiteName": "Notes"}, "b": {"suiteName": "notes"}, "c": {"suiteName": "NOTES"}}
    ground.put(ground.workspace / "switchboard.config.json", {"suites": suites})
    settings = ground.load()
    assert settings.servers == ()
    reasons = {each.entry.name: each.reason for each in settings.omitted}
    assert "`Notes`" in reasons["a"]
    assert "`b`" in reasons["a"]
    assert "`c`" in reasons["a"]
    assert [warning.key for warning in settings.warnings] == [
        f"suites.{name}.suiteName" for name in "abc"
    ]


def test_a_server_that_nobody_trusts_cannot_hide_one_of_the_home(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", {"mcpServers": {"github": {"command": "gh"}}})
    ground.child("GitHub")
    settings = ground.load(trusted=False)
    assert [entry.name for entry in settings.servers] == ["github"]
    assert settings.untrusted == ()
    assert [(each.entry.name, each.waits) for each in settings.omitted] == [("GitHub", True)]
    both = ground.load(trusted=True)
    assert {each.entry.name for each in both.omitted} == {"github", "GitHub"}


def test_an_unreadable_child_is_left_out(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ground.child("a")
    ground.child("b")
    real_open = os.open

    # Root reads everything, so the refusal of the system is played here.
    def refusing(name: str, *rest: Any, dir_fd: int | None = None) -> int:
        around = "" if dir_fd is None else Path(f"/proc/self/fd/{dir_fd}").readlink()
        if Path(around, name) == path:
            raise PermissionError(13, "Permission denied")
        return real_open(name, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refusing)
    settings = ground.load()
    assert [entry.name for entry in settings.servers] == ["b"]
    assert "permission denied" in settings.warnings[0].message


# Cyrillic, Greek, full width, and a hyphen that is none.
LOOKS_LIKE = {
    "github": "g\u0456thub",
    "notes": "n\u03bftes",
    "jira": "\uff4aira",
    "a-b": "a\u2010b",
}


@pytest.mark.parametrize("name", LOOKS_LIKE)
def test_a_name_that_looks_like_another_is_left_out_by_file_and_line(
    ground: Ground, name: str
) -> None:
    """A server that a person takes for their own would be trusted and approved as that one."""
    twin = LOOKS_LIKE[name]
    ground.put(
        ground.home / "mcp.json", servers(**{twin: {"command": "x"}, name: {"command": "y"}})
    )
    settings = ground.load()
    assert [entry.name for entry in settings.servers] == [name]
    [warning] = [each for each in settings.warnings if "looks like" in each.message]
    assert f"`{name}`" in warning.message
    assert warning.line
    assert warning.path.endswith("mcp.json")
    assert "rename it" in warning.hint


def test_names_that_are_only_unusual_stay(ground: Ground) -> None:
    names = [
        "io.github.someone/notes",
        "my notes",
        "caf\u00e9",
        "cafe",
        "\u0437\u0430\u043c\u0435\u0442\u043a\u0438",
    ]
    ground.put(ground.home / "mcp.json", servers(**{name: {"command": "x"} for name in names}))
    settings = ground.load()
    assert sorted(entry.name for entry in settings.servers) == sorted(names)


@pytest.mark.parametrize(
    "name", ["../x", "/x", "a//b", "a/./b", "a/..", "a`b", "a\\b", "a\x1b[2Jb", "a\u202eb"]
)
def test_a_name_that_is_a_path_or_steers_what_shows_it_is_refused_by_file_and_line(
    ground: Ground, name: str
) -> None:
    path = ground.put(ground.home / "mcp.json", servers(**{name: {"command": "x"}}))
    [problem] = ground.refused()
    assert "must not" in problem.message
    assert (problem.path, problem.line > 1) == (str(path), True)
    assert "rename it" in problem.hint
    path.unlink()
    toml = f"[mcp_servers.{json.dumps(name)}]\ncommand = 'x'\n"
    ground.put(ground.home / "config.toml", toml)
    [problem] = ground.refused()
    assert "must not" in problem.message
    assert problem.line == 1
