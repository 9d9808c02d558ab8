"""Which file wins: the order of the layers, and how each kind of file is laid."""

from pathlib import Path

import pytest

from settings.ground import Ground
from support.requirements import requirement
from switchboard.core.origins import Scope
from switchboard.settings.load import load_settings

ARRAY = '[[mcp_servers]]\nname = "{name}"\ncommand = "{command}"\n'


def _command(ground: Ground, name: str = "x") -> str:
    return next(entry.command for entry in ground.load().servers if entry.name == name)


@requirement("S4.59", "S4.60", "S4.61", "S4.62", "S4.63", "S4.56", "S4.53")
def test_the_load_order_is_home_toml_home_json_workspace_toml_workspace_json(
    ground: Ground,
) -> None:
    agh = ground.workspace / ".agh"
    steps = [
        (ground.agh_home / "config.toml", "toml"),
        (ground.home / "config.toml", "toml"),
        (ground.agh_home / "mcp.json", "json"),
        (ground.home / "mcp.json", "json"),
        (ground.own / "mcps" / "x" / ".mcp.json", "child"),
        (agh / "config.toml", "toml"),
        (ground.own / "config.toml", "toml"),
        (agh / "mcp.json", "json"),
        (ground.own / "mcp.json", "json"),
    ]
    assert ground.load().servers == ()
    for number, (path, kind) in enumerate(steps):
        command = f"step{number}"
        if kind == "toml":
            ground.put(path, ARRAY.format(name="x", command=command))
        elif kind == "json":
            ground.put(path, {"mcpServers": {"x": {"command": command}}})
        else:
            ground.put(path, {"name": "x", "command": {"cmd": command}})
        assert _command(ground) == command, path


@requirement("S4.54", "S4.55")
def test_toml_of_the_workspace_covers_only_the_fields_that_it_fills(ground: Ground) -> None:
    ground.put(
        ground.home / "config.toml",
        """
[[mcp_servers]]
name = "x"
command = "old"
args = ["a"]
env = { KEEP = "1", CHANGE = "1" }
secret_env = { S = "env:S" }

[[mcp_servers]]
name = "r"
url = "https://old.example"
transport = "sse"
[mcp_servers.auth]
type = "oauth2_pkce"
client_id = "me"
issuer_url = "https://a.example"
""",
    )
    ground.put(
        ground.own / "config.toml",
        """
[[mcp_servers]]
name = "x"
command = ""
args = []
env = { CHANGE = "2", ADD = "3" }

[[mcp_servers]]
name = "r"
url = "https://new.example"
[mcp_servers.auth]
client_id = "you"
""",
    )
    x, r = ground.load().servers
    assert (x.command, x.args) == ("old", ("a",))
    assert x.env == {"KEEP": "1", "CHANGE": "2", "ADD": "3"}
    # Nothing of its user's secrets goes to what a repository has a hand in.
    assert x.secret_env == {}
    assert (r.transport, r.url) == ("sse", "https://new.example")
    assert r.auth is not None
    assert (r.auth.client_id, r.auth.issuer_url) == ("you", "https://a.example")


@requirement("S4.53", "S4.56")
def test_json_keeps_nothing_of_the_server_that_it_replaces(ground: Ground) -> None:
    ground.put(
        ground.home / "config.toml",
        '[mcp_servers.x]\ncommand = "a"\nargs = ["1"]\nsecret_env = { T = "env:T" }\n',
    )
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": {"url": "https://a.example"}}})
    (x,) = ground.load().servers
    assert (x.transport, x.command, x.args, x.secret_env) == ("http", "", (), {})


@requirement("S4.54")
def test_toml_over_json_fills_fields_and_is_judged_when_merged(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", {"mcpServers": {"x": {"command": "a", "args": ["1"]}}})
    ground.put(ground.own / "config.toml", '[mcp_servers.x]\nenv = { A = "1" }\n')
    (x,) = ground.load().servers
    assert (x.command, x.args, x.env) == ("a", ("1",), {"A": "1"})
    ground.put(ground.own / "config.toml", '[mcp_servers.x]\nurl = "https://a.example"\n')
    (problem,) = ground.refused()
    assert (problem.key, problem.line, problem.column) == ("mcp_servers.x.url", 2, 1)


def test_an_overlay_that_completes_nothing_is_refused(ground: Ground) -> None:
    ground.put(ground.own / "config.toml", '[mcp_servers.x]\nenv = { A = "1" }\n')
    (problem,) = ground.refused()
    assert "`command` is required" in problem.message


def test_a_file_has_one_shape_of_servers(ground: Ground) -> None:
    ground.put(
        ground.home / "config.toml",
        ARRAY.format(name="x", command="a") + '[mcp_servers.y]\ncommand = "b"\n',
    )
    (problem,) = ground.refused()
    assert problem.line == 4


def test_the_first_occurrence_of_a_server_keeps_its_position(ground: Ground) -> None:
    ground.put(
        ground.home / "mcp.json", {"mcpServers": {"b": {"command": "1"}, "a": {"command": "1"}}}
    )
    ground.put(
        ground.own / "mcp.json", {"mcpServers": {"c": {"command": "2"}, "b": {"command": "2"}}}
    )
    assert [(entry.name, entry.command) for entry in ground.load().servers] == [
        ("b", "2"),
        ("a", "1"),
        ("c", "2"),
    ]


@requirement("S4.64")
def test_boot_settings_of_the_home_hold_without_a_workspace_file(ground: Ground) -> None:
    ground.put(ground.home / "config.toml", "[server]\nport = 9000\n")
    ground.put(ground.home / "mcp.json", {"mcpServers": {"x": {"command": "a"}}})
    settings = ground.load()
    assert settings.listener.port == 9000
    assert [entry.name for entry in settings.servers] == ["x"]


def test_settings_go_flag_environment_workspace_home_default(ground: Ground) -> None:
    assert ground.load().listener.port == 8081
    ground.put(ground.home / "config.toml", "[server]\nport = 1\n[logging]\nlevel = 'warn'\n")
    assert ground.load().listener.port == 1
    ground.put(ground.own / "config.toml", "[server]\nport = 2\n")
    assert ground.load().listener.port == 2
    assert ground.load().logging.filter == "warn"
    assert ground.load(PORT="3").listener.port == 3
    assert ground.load(PORT="3", flags={"port": 4}).listener.port == 4
    assert ground.load(PORT="3", flags={"port": None}).listener.port == 3


def test_a_given_file_wins_over_all_and_needs_no_trust(ground: Ground, tmp_path: Path) -> None:
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": {"command": "workspace"}}})
    given = ground.put(
        tmp_path / "claude.json",
        {
            "mcpServers": {
                "x": {
                    "type": "stdio",
                    "command": "given",
                    "cwd": "sub",
                    "env": {"PYTHONPATH": "."},
                },
                "h": {
                    "type": "http",
                    "url": "https://a.example",
                    "headers": {"Authorization": "b"},
                },
                "s": {"type": "streamable-http", "url": "https://a.example", "alwaysAllow": []},
                "off": {"command": "off", "disabled": True},
            },
            "numStartups": 4,
        },
    )
    settings = ground.load(config=given, trusted=False)
    assert settings.untrusted == ()
    x, h, s = settings.servers
    assert (x.command, x.cwd, x.origin.scope) == (
        "given",
        str(ground.workspace / "sub"),
        Scope.FLAG,
    )
    assert (h.transport, s.transport) == ("http", "http")
    assert {warning.severity for warning in settings.warnings} == {"warning"}
    assert {warning.key for warning in settings.warnings} >= {
        "numStartups",
        "mcpServers.s.alwaysAllow",
    }


def test_a_given_file_that_is_absent_is_a_problem(ground: Ground, tmp_path: Path) -> None:
    (problem,) = ground.refused(config=tmp_path / "none.json")
    assert problem.message == "there is no such file"


def test_the_home_itself_is_not_a_workspace(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", {"mcpServers": {"x": {"command": "a"}}})
    ground.put(ground.home / "mcps" / "c" / ".mcp.json", {"name": "c"})
    settings = load_settings(workspace=str(ground.user_home), environ=ground.environ())
    assert [entry.origin.scope for entry in settings.servers] == [Scope.HOME, Scope.HOME]
    assert settings.untrusted == ()


def test_a_workspace_hides_more_but_never_shows_what_its_user_hid(ground: Ground) -> None:
    ground.put(ground.home / "config.toml", '[tools]\nallow = ["a*", "b"]\ndeny = ["x"]\n')
    ground.put(ground.own / "config.toml", '[tools]\nallow = ["a1", "c"]\ndeny = ["y"]\n')
    suites = '{"suites": {"s": {"expose": {"deny": ["%s"]}}}}'
    ground.put(ground.home / "switchboard.config.json", suites % "drop")
    ground.put(ground.workspace / "switchboard.config.json", suites % "make")
    settings = ground.load()
    assert (settings.tools.allow, settings.tools.deny) == (("a1",), ("x", "y"))
    assert settings.suites["s"].deny == ("drop", "make")


@pytest.mark.parametrize(
    "text",
    [
        "[server]\nallow_remote = true\n",
        '[skills]\nallowed_marketplace_mcp = ["evil"]\n',
        '[providers.p.mcp_servers.x]\ncommand = "evil"\n',
    ],
)
def test_a_workspace_cannot_decide_for_its_user(ground: Ground, text: str) -> None:
    ground.put(ground.own / "config.toml", text)
    settings = ground.load()
    assert not settings.listener.allow_remote
    assert settings.allowed_marketplace_mcp == ()
    assert settings.providers == {}
    assert "only its user" in settings.warnings[0].message


def test_a_missing_workspace_is_a_problem(ground: Ground, tmp_path: Path) -> None:
    ground.workspace = tmp_path / "nowhere"
    (problem,) = ground.refused()
    assert "not a directory" in problem.message


@requirement("S0.124", "S0.19")
def test_the_workspace_and_the_home_come_from_the_environment(
    ground: Ground, tmp_path: Path
) -> None:
    settings = load_settings(environ=ground.environ(WORKSPACE_DIR=str(ground.workspace)))
    assert (settings.workspace, settings.home) == (str(ground.workspace), str(ground.home))
    moved = ground.load(SWITCHBOARD_HOME=str(tmp_path / "h"))
    assert moved.home == str(tmp_path / "h")


def test_the_origin_of_a_mixed_server_is_its_highest_layer(ground: Ground) -> None:
    ground.put(ground.home / "config.toml", '[mcp_servers.x]\ncommand = "a"\nargs = ["1"]\n')
    own = ground.put(ground.own / "config.toml", '[mcp_servers.x]\ncommand = "b"\n')
    (entry,) = ground.load().servers
    assert (entry.origin.scope, entry.origin.path) == (Scope.WORKSPACE, str(own))


def test_a_server_without_fields_is_refused(ground: Ground) -> None:
    ground.put(ground.home / "config.toml", "[mcp_servers.x]\n")
    assert ground.refused_keys() == ["mcp_servers.x"]
