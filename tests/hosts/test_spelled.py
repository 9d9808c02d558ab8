"""What each host says of a server, in our words, and why some servers stay where they are."""

from typing import Any

import pytest

from hosts.ground import named
from switchboard.hosts.spelled import our_entry, read_server
from switchboard.hosts.table import HOSTS


def fields(host: str, entry: dict[str, Any]) -> dict[str, Any]:
    server = read_server("x", entry, named(host).spelling)
    assert server.reason == ""
    return server.fields


def reason(host: str, entry: Any) -> str:
    server = read_server("x", entry, named(host).spelling)
    assert server.fields == {}
    return server.reason


URL = "https://mcp.example.com"


@pytest.mark.parametrize(
    ("host", "entry", "meant"),
    [
        # A bare address means something else in each of them.
        ("codex", {"url": URL}, {"url": URL, "transport": "http"}),
        ("cline", {"url": URL}, {"url": URL, "transport": "sse"}),
        ("qwen", {"url": URL}, {"url": URL, "transport": "sse"}),
        ("qwen", {"httpUrl": URL}, {"url": URL, "transport": "http"}),
        ("gemini", {"url": URL, "type": "sse"}, {"url": URL, "transport": "sse"}),
        ("gemini", {"httpUrl": URL, "url": "old"}, {"url": URL, "transport": "http"}),
        ("claude-code", {"type": "http", "url": URL}, {"url": URL, "transport": "http"}),
        ("devin", {"url": URL, "transport": "sse"}, {"url": URL, "transport": "sse"}),
        ("antigravity", {"serverUrl": URL}, {"url": URL, "transport": "http"}),
        ("windsurf", {"serverUrl": URL}, {"url": URL, "transport": "http"}),
        ("opencode", {"type": "remote", "url": URL}, {"url": URL, "transport": "http"}),
        ("goose", {"type": "streamable_http", "uri": URL}, {"url": URL, "transport": "http"}),
        (
            "cline",
            {"transport": {"type": "streamableHttp", "url": URL}},
            {"url": URL, "transport": "http"},
        ),
        ("cline", {"url": URL, "transportType": "http"}, {"url": URL, "transport": "http"}),
        # Commands.
        (
            "opencode",
            {"type": "local", "command": ["npx", "-y", "x"], "environment": {"K": "{env:V}"}},
            {"command": "npx", "args": ["-y", "x"], "env": {"K": "${V}"}},
        ),
        ("goose", {"type": "stdio", "cmd": "x", "args": [1]}, {"command": "x", "args": ["1"]}),
        (
            "goose",
            {"cmd": "x", "envs": {"A": 1, "B": True}},
            {"command": "x", "env": {"A": "1", "B": "true"}},
        ),
        ("zed", {"command": {"path": "x", "args": ["a"]}}, {"command": "x", "args": ["a"]}),
        ("warp", {"command": "x", "working_directory": "w"}, {"command": "x", "cwd": "w"}),
        # Names of variables in place of values.
        (
            "codex",
            {
                "command": "x",
                "env": {"A": "1"},
                "env_vars": ["B", {"name": "C", "source": "local"}],
            },
            {"command": "x", "env": {"A": "1", "B": "${B}", "C": "${C}"}},
        ),
        (
            "codex",
            {
                "url": URL,
                "bearer_token_env_var": "T",
                "http_headers": {"X-A": "a"},
                "env_http_headers": {"X-B": "V"},
            },
            {
                "url": URL,
                "transport": "http",
                "headers": {"X-A": "a", "X-B": "${V}", "Authorization": "Bearer ${T}"},
            },
        ),
        # Variables as each of them writes them.
        ("vscode", {"command": "x", "args": ["${env:A}"]}, {"command": "x", "args": ["${A}"]}),
        (
            "cursor",
            {"command": "${workspaceFolder}/x", "env": {"K": "${input:key}"}},
            {"command": "${workspaceFolder}/x", "env": {"K": "${input:key}"}},
        ),
        (
            "gemini",
            {"command": "x", "env": {"A": "$B-${C}-$5"}},
            {"command": "x", "env": {"A": "${B}-${C}-$5"}},
        ),
        ("amp", {"command": "x", "args": ["$A"]}, {"command": "x", "args": ["${A}"]}),
        ("droid", {"command": "x", "args": ["${A:-b}"]}, {"command": "x", "args": ["${A:-b}"]}),
        (
            "goose",
            {"uri": URL, "envs": {"T": "s"}, "headers": {"Authorization": "Bearer $T"}},
            {"url": URL, "transport": "http", "headers": {"Authorization": "Bearer s"}},
        ),
        ("goose", {"cmd": "x", "args": ["$T"]}, {"command": "x", "args": ["$T"]}),
        # How long a call may take, each in its own unit.
        (
            "codex",
            {"command": "x", "tool_timeout_sec": 60},
            {"command": "x", "rpc_timeout_ms": 60_000},
        ),
        ("gemini", {"command": "x", "timeout": 60_000}, {"command": "x", "rpc_timeout_ms": 60_000}),
        ("cline", {"command": "x", "timeout": 60}, {"command": "x", "rpc_timeout_ms": 60_000}),
        ("cline", {"command": "x", "timeout": 60_000}, {"command": "x", "rpc_timeout_ms": 60_000}),
        ("claude-code", {"command": "x", "timeout": 999}, {"command": "x"}),
        (
            "claude-code",
            {"command": "x", "timeout": 2_000},
            {"command": "x", "rpc_timeout_ms": 2_000},
        ),
        (
            "opencode-2",
            {"command": ["x"], "timeout": {"request": 5_000}},
            {"command": "x", "rpc_timeout_ms": 5_000},
        ),
        ("crush", {"type": "stdio", "command": "x", "timeout": 10}, {"command": "x"}),
        ("kiro", {"command": "x", "timeout": 10}, {"command": "x"}),
        ("codex", {"command": "x", "tool_timeout_sec": True}, {"command": "x"}),
    ],
)
def test_a_server_of_a_host_is_said_in_our_words(
    host: str, entry: dict[str, Any], meant: dict[str, Any]
) -> None:
    assert fields(host, entry) == meant


LEFT: list[tuple[str, Any, str]] = [
    ("cursor", [], "not an object"),
    ("cursor", None, "not an object"),
    ("cursor", {}, "neither a command nor an address"),
    ("cursor", {"command": 5}, "neither a command nor an address"),
    ("cursor", {"command": "x", "args": "y"}, "`args` is not a list"),
    ("cursor", {"command": "x", "args": [{}]}, "more than texts"),
    ("cursor", {"command": "x", "env": ["A=b"]}, "`env` is not an object"),
    ("cursor", {"url": 3}, "not an HTTP URL"),
    ("cursor", {"url": URL, "headers": {"A": {}}}, "more than texts"),
    ("vscode", {"type": "http", "url": "unix:///run/x.sock"}, "not an HTTP URL"),
    ("claude-code", {"url": URL}, "without a `type`"),
    ("claude-code", {"type": "ws", "url": URL}, "no transport `ws`"),
    ("claude-code", {"type": "http", "url": URL, "headersHelper": "x"}, "asks a program"),
    ("claude-code", {"command": "${env:A}"}, "passes `${env:A}` on"),
    ("crush", {"type": "stdio", "command": "x", "args": ["$(id)"]}, "runs `$(…)`"),
    ("crush", {"type": "http", "url": URL, "headers": {"A": "x $(id)"}}, "runs `$(…)`"),
    ("codex", {"command": "x", "args": ["${A}"]}, "passes `${A}` on"),
    (
        "codex",
        {"command": "x", "env_vars": [{"name": "A", "source": "remote"}]},
        "machine of its",
    ),
    ("codex", {"url": URL, "http_headers_helper": ["x"]}, "asks a program"),
    ("vscode", {"command": "x", "envFile": ".env"}, "`envFile`"),
    ("vscode", {"command": "x", "args": ["${A}"]}, "passes `${A}` on"),
    ("vscode", {"command": "x", "args": ["${command:pick}"]}, "passes `${command:pick}` on"),
    ("devin", {"command": "x", "env": {"A": "${file:key}"}}, "from a file"),
    ("opencode", {"command": ["x"], "environment": {"A": "{file:key}"}}, "from a file"),
    ("opencode", {"command": ["x", "${A}"]}, "passes `${A}` on"),
    ("opencode", {"command": []}, "neither a command nor an address"),
    ("copilot-cli", {"command": "x", "env": {"A": "${A}"}}, "passes `${A}` on"),
    ("goose", {"cmd": "x", "env_keys": ["TOKEN"]}, "keeps TOKEN in the keychain"),
    ("goose", {"uri": URL, "headers": {"A": "$T"}}, "from what it keeps"),
    ("goose", {"type": "builtin", "name": "developer"}, "brought it"),
    ("goose", {"type": "stdio", "cmd": "x", "bundled": True}, "brought it"),
    ("zed", {"settings": {"a": 1}}, "brought it"),
    ("zed", {"source": "extension", "settings": {}}, "brought it"),
    ("cline", {"remoteConfigured": True, "url": URL}, "brought it"),
    ("gemini", {"httpUrl": URL, "authProviderType": "google"}, "signs in for it"),
    ("gemini", {"tcp": "localhost:1"}, "neither a command nor an address"),
]


@pytest.mark.parametrize(("host", "entry", "why"), LEFT)
def test_a_server_that_would_mean_something_else_stays_with_a_reason(
    host: str, entry: Any, why: str
) -> None:
    assert why in reason(host, entry)


def test_what_a_host_does_besides_is_told() -> None:
    entry = {
        "command": "x",
        "autoApprove": ["read"],
        "disabledTools": ["write"],
        "oauth": {"clientId": "1"},
        "watchPaths": ["a"],
        "description": "words",
    }
    assert read_server("x", entry, named("kiro").spelling).remarks == (
        "its host has `autoApprove`: read",
        "its host has `disabledTools`: write",
        "its host signs in to it; sign in again behind Switchboard",
        "not taken over: `watchPaths`",
    )


@pytest.mark.parametrize(
    ("host", "entry"),
    [
        ("cline", {"command": "x", "disabled": True}),
        ("codex", {"command": "x", "enabled": False}),
        ("opencode", {"command": ["x"], "enabled": False}),
        ("cline", {"disabled": True}),
    ],
)
def test_a_server_that_is_off_is_known_to_be(host: str, entry: dict[str, Any]) -> None:
    assert read_server("x", entry, named(host).spelling).is_off


@pytest.mark.parametrize("host", [host.id for host in HOSTS])
def test_our_own_entry_reads_as_what_it_is(host: str) -> None:
    entry = our_entry(named(host), ("switchboard", "mcp"), is_guarded=True, variables={"HOME": "h"})
    found = fields(host, entry)
    assert (found["command"], found["args"]) == ("switchboard", ["mcp"])


def test_only_a_gate_that_asks_lets_a_host_not_ask() -> None:
    def entry(host: str, *, is_guarded: bool) -> dict[str, Any]:
        return our_entry(named(host), ("switchboard",), is_guarded=is_guarded, variables={})

    assert entry("codex", is_guarded=True)["default_tools_approval_mode"] == "approve"
    assert entry("gemini", is_guarded=True)["trust"] is True
    assert "default_tools_approval_mode" not in entry("codex", is_guarded=False)
    assert "trust" not in entry("gemini", is_guarded=False)


def test_tools_that_only_read_and_the_folder_are_said_in_the_words_of_the_host() -> None:
    kiro = our_entry(named("kiro"), ("s",), is_guarded=False, variables={}, reading=["a_read"])
    assert kiro["autoApprove"] == ["a_read"]
    code = our_entry(named("vscode"), ("s", "mcp"), is_guarded=False, variables={}, in_project=True)
    assert code["args"] == ["mcp", "--workspace", "${workspaceFolder}"]


def test_variables_are_named_where_a_host_hands_none_on() -> None:
    def env(host: str) -> dict[str, Any]:
        entry = our_entry(named(host), ("s",), is_guarded=False, variables={"XDG_RUNTIME_DIR": "r"})
        return {key: each for key, each in entry.items() if "env" in key}

    assert env("codex") == {"env_vars": ["XDG_RUNTIME_DIR"]}
    assert env("copilot-cli") == env("cline") == {"env": {"XDG_RUNTIME_DIR": "r"}}
    assert env("cursor") == {}
