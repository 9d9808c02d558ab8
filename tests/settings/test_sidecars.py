"""`mcp.json`: what it may hold, in the words of the reference."""

import json
from pathlib import Path
from typing import Any

import pytest

from settings.examples import BAD, COMPLETE, SNAKE, remote, servers
from settings.ground import Ground
from support.requirements import requirement
from switchboard.children.schema import OAuth
from switchboard.core.origins import Scope


@requirement("S4.16", "S4.03", "S4.18", "S4.20", "S4.38", "S4.41", "S4.45", "S4.46", "S4.51")
def test_the_complete_example_loads(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", COMPLETE)
    files, github, docs = ground.load().servers
    assert (files.name, files.transport, files.command) == ("filesystem", "stdio", "npx")
    assert files.args == ("-y", "@modelcontextprotocol/server-filesystem", "/Users/you/work")
    assert files.env == {"LOG_LEVEL": "info"}
    assert github.secret_env == {"GITHUB_TOKEN": "vault:mcp/github/env/GITHUB_TOKEN"}
    assert (docs.transport, docs.url) == ("sse", "https://mcp.example.com/sse")
    assert docs.auth == OAuth(
        client_id="agh-desktop",
        issuer_url="https://auth.example.com",
        client_secret_ref="env:REMOTE_DOCS_MCP_CLIENT_SECRET",
        scopes=("mcp.read", "mcp.write"),
    )
    assert files.origin.scope is Scope.HOME
    assert files.origin.line == 3


@requirement("S4.17", "S4.04")
def test_the_snake_case_example_loads(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", SNAKE)
    (entry,) = ground.load().servers
    assert entry.args[-1] == "."


@requirement("S4.07", "S4.83", "S4.01", "S4.03", "S4.04", "S2.28")
def test_without_any_file_there_are_no_servers_and_no_problems(ground: Ground) -> None:
    settings = ground.load()
    assert settings.servers == ()
    assert settings.warnings == ()
    ground.put(ground.home / "mcp.json", "{}")
    assert ground.load().servers == ()


@requirement("S4.09", "S4.10")
def test_the_snake_case_map_replaces_whole_servers_of_the_camel_case_map(ground: Ground) -> None:
    ground.put(
        ground.home / "mcp.json",
        {
            "mcp_servers": {"x": {"command": "new"}},
            "mcpServers": {"x": {"command": "old", "env": {"A": "1"}}, "y": {"command": "y"}},
        },
    )
    x, y = ground.load().servers
    assert (x.command, x.env) == ("new", {})
    assert y.command == "y"


@requirement("S4.02", "S4.11", "S4.12", "S4.13", "S4.84", "S4.85")
def test_global_and_workspace_files_are_read_at_their_places(
    ground: Ground, tmp_path: Path
) -> None:
    ground.put(ground.agh_home / "mcp.json", servers(a={"command": "agh-home"}))
    ground.put(ground.workspace / ".agh" / "mcp.json", servers(b={"command": "agh-workspace"}))
    ground.put(ground.home / "mcp.json", servers(c={"command": "home"}))
    ground.put(ground.own / "mcp.json", servers(d={"command": "workspace"}))
    assert {entry.command for entry in ground.load().servers} == {
        "agh-home",
        "agh-workspace",
        "home",
        "workspace",
    }
    elsewhere = tmp_path / "elsewhere"
    ground.put(elsewhere / "mcp.json", servers(a={"command": "moved"}))
    moved = ground.load(AGH_HOME=str(elsewhere)).servers
    assert {entry.name: entry.command for entry in moved}["a"] == "moved"


@requirement("S4.21", "S4.22", "S4.20")
def test_the_transport_is_inferred(ground: Ground) -> None:
    ground.put(
        ground.home / "mcp.json",
        servers(
            local={"command": "x"},
            remote={"url": "https://a.example/mcp"},
            old={"url": "https://a.example/sse", "transport": "sse"},
        ),
    )
    assert [entry.transport for entry in ground.load().servers] == ["stdio", "http", "sse"]


@requirement("S4.28", "S4.29", "S4.30", "S4.31", "S4.32")
def test_values_are_taken_literally(ground: Ground) -> None:
    wild = {"A": "$HOME", "B": "~/x", "C": "$(id) `id` * ; &&", "D": "${HOME}"}
    ground.put(ground.home / "mcp.json", servers(x={"command": "x", "env": wild, "args": ["$A"]}))
    settings = ground.load()
    assert settings.servers[0].env == wild
    assert settings.servers[0].args == ("$A",)
    (warning,) = settings.warnings
    assert warning.key == "mcpServers.x.env.D"
    ground.put(ground.home / "mcp.json", servers(x={"command": "x"}))
    assert (ground.load().servers[0].args, ground.load().servers[0].env) == ((), {})


@requirement("S4.18")
def test_names_are_trimmed(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", servers(**{"  x ": {"command": " run "}}))
    assert [(entry.name, entry.command) for entry in ground.load().servers] == [("x", "run")]


@pytest.mark.parametrize(
    ("content", "key", "words"),
    [
        pytest.param(content, key, words, marks=requirement(*ids.split()), id=f"{ids}-{key}"[:60])
        for ids, content, key, words in BAD
    ],
)
def test_a_wrong_server_is_refused_at_its_key(
    ground: Ground, content: dict[str, Any], key: str, words: str
) -> None:
    path = ground.put(ground.home / "mcp.json", content)
    problems = ground.refused()
    assert [problem.key for problem in problems] == [key]
    assert words in problems[0].message
    assert problems[0].path == str(path)
    line = path.read_text().splitlines()[problems[0].line - 1]
    last = key.rsplit(".", 1)[-1].split("[", maxsplit=1)[0]
    assert line[problems[0].column - 1 :].startswith(('"', "1")), line
    if "[" not in key:
        assert json.dumps(last) in line


GOOD_AUTH: list[dict[str, Any]] = [
    {"issuer_url": "http://127.0.0.1:9/x"},
    {"metadata_url": "https://a.example/.well-known/x"},
    {"authorization_url": "https://a.example/a", "token_url": "https://a.example/t"},
    {"issuer_url": "https://a.example", "revocation_url": "https://a.example/r"},
    {"issuer_url": "https://a.example", "client_secret_ref": "vault:mcp/x/oauth/client-secret"},
    {"issuer_url": "https://a.example", "scopes": []},
]


@requirement(
    "S4.42", "S4.43", "S4.44", "S4.45", "S4.46", "S4.47", "S4.48", "S4.49", "S4.50", "S4.52"
)
@pytest.mark.parametrize("extra", GOOD_AUTH)
def test_every_way_to_say_where_to_log_in_loads(ground: Ground, extra: dict[str, Any]) -> None:
    ground.put(ground.home / "mcp.json", remote(type="oauth2_pkce", client_id="me", **extra))
    (entry,) = ground.load().servers
    assert entry.auth is not None
    for key, value in extra.items():
        assert getattr(entry.auth, key) == (() if value == [] else value)


@requirement("S4.06", "S4.73")
def test_a_second_json_value_fails_the_file(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", '{"mcpServers": {}}\n{"mcpServers": {}}')
    (problem,) = ground.refused()
    assert (problem.line, problem.column) == (2, 1)


@requirement("S4.34")
def test_arguments_and_environment_of_a_remote_server_are_only_warned_of(ground: Ground) -> None:
    ground.put(
        ground.home / "mcp.json", servers(x={"url": "https://a", "args": ["a"], "env": {"A": "b"}})
    )
    assert [warning.key for warning in ground.load().warnings] == [
        "mcpServers.x.args",
        "mcpServers.x.env",
    ]


@requirement("S4.33")
def test_references_are_checked_but_never_looked_up(ground: Ground) -> None:
    refs = {"A": "env:NOT_SET_ANYWHERE", "B": "vault:mcp/x/env/B"}
    ground.put(ground.home / "mcp.json", servers(x={"command": "x", "secret_env": refs}))
    assert ground.load().servers[0].secret_env == refs


def test_a_value_that_looks_like_a_secret_is_warned_of(ground: Ground) -> None:
    env = {"GITHUB_TOKEN": "x", "MAX_TOKENS": "1", "TOKEN_URL": "u", "my_api_key": "k"}
    ground.put(ground.home / "mcp.json", servers(x={"command": "x", "env": env}))
    assert [warning.key.rsplit(".", 1)[-1] for warning in ground.load().warnings] == [
        "GITHUB_TOKEN",
        "my_api_key",
    ]


def test_names_that_differ_only_in_case_are_warned_of(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", servers(Memory={"command": "a"}, memory={"command": "b"}))
    suites = {"suites": {"memory": {"suiteName": "notes"}}}
    ground.put(ground.home / "switchboard.config.json", suites)
    settings = ground.load()
    assert len(settings.servers) == 2
    assert "case" in settings.warnings[0].message


def test_headers_and_the_other_extensions_load(ground: Ground) -> None:
    ground.put(
        ground.home / "mcp.json",
        servers(
            web={"url": "https://a", "headers": {"X-Key": "k"}, "protocol": "modern"},
            old={
                "command": "x",
                "framing": "content-length",
                "rpc_timeout_ms": 5,
                "inherit_env": True,
            },
        ),
    )
    web, old = ground.load().servers
    assert (web.headers, web.protocol) == ({"X-Key": "k"}, "modern")
    assert (old.framing, old.rpc_timeout_ms, old.inherit_env) == ("content-length", 5, True)
