"""`config.toml`: its tables, its placeholders, and the environment above it."""

import pytest

from settings.ground import Ground
from support.requirements import requirement
from support.sources import agents, command_tools
from switchboard.core.origins import Scope
from switchboard.providers.agents.options import AgentOptions
from switchboard.settings.sections import Listener, Logging

COMMAND = """
[mcp.lint]
command = "ruff"
args = ["check", "{path}"]
cwd = "/tmp"
env = { A = "1" }
sandbox_profile = "default"
allow_network = false
requires_approval = true
timeout_ms = 1000
streaming = true
description = "Lints"
display_name = "Lint"
side_effects = ["filesystem-read"]
[mcp.lint.input_schema]
type = "object"
"""


@requirement("S3.73", "S3.74", "S3.75", "S3.76", "S3.77", "S3.78", "S3.79", "S3.80")
@requirement("S3.81", "S3.82")
def test_a_command_tool_is_checked_and_kept(ground: Ground) -> None:
    ground.put(ground.home / "config.toml", COMMAND)
    entry = command_tools(ground.load()).usable["lint"]
    assert (entry.command, entry.args) == ("ruff", ("check", "{path}"))
    assert (entry.cwd, entry.env) == ("/tmp", {"A": "1"})
    assert (entry.sandbox_profile, entry.allow_network) == ("default", False)
    assert (entry.requires_approval, entry.required_by) == (True, Scope.HOME)
    assert (entry.timeout_ms, entry.streaming) == (1000, True)
    assert (entry.description, entry.display_name) == ("Lints", "Lint")
    assert entry.side_effects == ("filesystem-read",)
    assert bytes(entry.input_schema) == b'{"type":"object"}'


@requirement("S3.95")
def test_two_command_tools_of_one_name_are_refused(ground: Ground) -> None:
    ground.put(ground.home / "config.toml", '[mcp.a]\ncommand = "x"\n[mcp.a]\ncommand = "y"\n')
    (problem,) = ground.refused()
    assert problem.line == 3
    assert "not valid TOML" in problem.message


@requirement("S3.112")
def test_the_global_lists_and_the_gate_are_read(ground: Ground) -> None:
    assert ground.load().is_guarded
    ground.put(
        ground.home / "config.toml",
        'enable_mcp_server_surface = true\n[tools]\nallow = ["a"]\ndeny = ["b"]\n'
        '[skills]\nallowed_marketplace_mcp = ["s"]\n[agents]\nenable_codex = false\n',
    )
    settings = ground.load()
    assert settings.is_guarded
    assert (settings.tools.allow, settings.tools.deny) == (("a",), ("b",))
    assert settings.allowed_marketplace_mcp == ("s",)
    assert not agents(settings).options.enable_codex
    ground.put(ground.home / "config.toml", "guard = true\n")
    assert ground.load().is_guarded
    ground.put(ground.home / "config.toml", "[server]\nenable_mcp_server_surface = true\n")
    assert ground.load().is_guarded
    assert not ground.load(enable_mcp_server_surface="0").is_guarded
    ground.put(ground.home / "config.toml", "guard = false\n")
    assert not ground.load().is_guarded
    assert ground.load(ENABLE_MCP_SERVER_SURFACE="true").is_guarded


@pytest.mark.parametrize("other", ["", "[server]\n"])
def test_two_names_of_one_key_may_not_contradict_each_other(ground: Ground, other: str) -> None:
    text = "guard = true\n" + other + "enable_mcp_server_surface = {}\n"
    ground.put(ground.home / "config.toml", text.format("true"))
    assert ground.load().is_guarded
    ground.put(ground.home / "config.toml", text.format("false"))
    (problem,) = ground.refused()
    assert "another name of `guard`" in problem.message
    assert problem.line == text.count("\n")


@requirement("S3.45", "S3.46", "S3.48")
def test_placeholders_are_filled_from_the_environment_at_every_load(ground: Ground) -> None:
    ground.put(
        ground.home / "config.toml",
        '[mcp_servers.x]\ncommand = "${BIN}/x"\n'
        'args = ["--k=${KEY}", "$$${KEY}", "$${KEY}", "$1"]\n'
        'env = { A = "${KEY}", B = "${NONE:-b}" }\n[mcp.t]\ncommand = "${BIN}/t"\n'
        '[logging]\ndir = "${BIN}/log"\n',
    )
    settings = ground.load(BIN="/bin", KEY="1")
    (x,) = settings.servers
    assert (x.command, x.args) == ("/bin/x", ("--k=1", "$${KEY}", "${KEY}", "$1"))
    assert x.env == {"A": "1", "B": "b"}
    # That of a command tool is filled at each start.
    assert command_tools(settings).usable["t"].command == "${BIN}/t"
    assert settings.logging.dir == "/bin/log"
    assert ground.load(BIN="/bin", KEY="2").servers[0].env["A"] == "2"


@requirement("S3.45")
def test_a_missing_variable_is_named(ground: Ground) -> None:
    ground.put(
        ground.home / "config.toml",
        '[mcp_servers.x]\ncommand = "x"\nargs = ["${NOT_SET}"]\n'
        '[mcp_servers.y]\nurl = "${ALSO_NOT}/mcp"\n[mcp_servers.z]\ncommand = "${}"\n',
    )
    first, second, third = ground.refused()
    assert "`NOT_SET`" in first.message
    assert (first.key, first.line, first.column, first.near) == (
        "mcp_servers.x.args[0]",
        3,
        9,
        False,
    )
    assert "`ALSO_NOT`" in second.message
    assert "not a placeholder" in third.message


def test_a_filled_value_is_judged_again(ground: Ground) -> None:
    ground.put(ground.home / "config.toml", '[mcp_servers.y]\nurl = "${U}"\ntransport = "${T}"\n')
    assert ground.load(U="https://a.example", T="sse").servers[0].transport == "sse"
    assert "absolute" in ground.refused(U="nonsense", T="sse")[0].message
    assert "transport" in ground.refused(U="https://a.example", T="ws")[0].message


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("[logging]\nlevle = 'x'\n", "logging.levle", 2),
        ("[logging]\nformat = 'xml'\n", "logging.format", 2),
        ("[server]\n\nport = 70000\n", "server.port", 3),
        ("server = 3\n", "server", 1),
        ("[mcp.x]\nargs = []\n", "mcp.x", 1),
        ("[mcp.x]\ncommand = 'a'\ntimeout = 1\n", "mcp.x.timeout", 3),
        ("[mcp.x]\ncommand = 'a'\nsandbox_profile = 'off'\n", "mcp.x.sandbox_profile", 3),
        ("[mcp.'odd name']\ncommand = 1\n", "mcp.odd name.command", 2),
        ("[[mcp_servers]]\ncommand = 'a'\n", "mcp_servers[0]", 1),
        (
            "[[mcp_servers]]\nname='a'\ncommand='a'\n[[mcp_servers]]\nname='a '\n",
            "mcp_servers[1].name",
            5,
        ),
        (
            "[[mcp_servers]]\nname='a'\n[[mcp_servers]]\nname='b'\n[mcp_servers.env]\nA=1\n",
            "mcp_servers[1].env.A",
            6,
        ),
        ("[agents]\nenum_fallback = 'some'\n", "agents.enum_fallback", 2),
        ("[mcp_servers.x]\ncommand = 'a'\ncwd = '/'\n", "mcp_servers.x.cwd", 3),
        ("[mcp_servers.x]\ncommand = 1979-05-27\n", "mcp_servers.x.command", 2),
        ("[server]\nport = nan\n", "server.port", 2),
    ],
)
def test_a_wrong_key_is_refused_where_it_stands(
    ground: Ground, text: str, key: str, line: int
) -> None:
    ground.put(ground.home / "config.toml", text)
    problem = ground.refused()[0]
    assert (problem.key, problem.line, problem.near) == (key, line, False)
    there = text.splitlines()[line - 1][problem.column - 1 :]
    assert there.startswith(("[", key.rpartition(".")[2]))


def test_one_problem_of_a_file_hides_no_other(ground: Ground) -> None:
    ground.put(
        ground.own / "config.toml",
        'aprovals = 1\n[server]\nport = "x"\n[mcp_servers.a]\ncommand = 1\n'
        'env = { A = "a", "Bc" = 2 }\nargs = [\n  "{", # [\n  [],\n]\n'
        '[approvals]\nallow = ["a.*"]\n',
    )
    told = [(each.key, each.line, each.column, each.near) for each in ground.refused()]
    assert told == [
        ("aprovals", 1, 1, False),
        ("server.port", 3, 1, False),
        ("mcp_servers.a.command", 5, 1, False),
        ("mcp_servers.a.env.Bc", 6, 18, False),
        ("mcp_servers.a.args[1]", 9, 3, False),
        ("approvals.allow", 12, 1, False),
    ]


def test_an_unknown_table_is_only_warned_of(ground: Ground) -> None:
    ground.put(ground.home / "config.toml", "[loging]\nlevel = 'x'\n[mcpServers]\n")
    first, second = ground.load().warnings
    assert "did you mean `logging`" in first.hint
    assert "mcp_servers" in second.hint


def test_the_settings_of_agh_itself_are_passed_over(ground: Ground) -> None:
    ground.put(
        ground.agh_home / "config.toml",
        '[daemon]\nport = "x"\n[logging]\nanything = 1\n'
        '[skills]\nroots = []\nallowed_marketplace_mcp = ["a"]\n',
    )
    settings = ground.load()
    assert settings.allowed_marketplace_mcp == ("a",)
    assert settings.warnings == ()


@requirement("S0.120", "S0.121")
def test_the_listener_comes_from_the_environment(ground: Ground) -> None:
    assert ground.load().listener == Listener(transport="stdio", host="127.0.0.1", port=8081)
    settings = ground.load(TRANSPORT="HTTP", HOST="::1", PORT="0")
    assert settings.listener == Listener(transport="http", host="::1", port=0)
    assert ground.load(PORT="").listener.port == 8081


@requirement("S0.122")
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "compact"),
        ({"TRACING_PRETTY": "1"}, "pretty"),
        ({"TRACING_PRETTY": "1", "TRACING_COMPACT": "1"}, "compact"),
        ({"TRACING_PRETTY": "1", "TRACING_COMPACT": "1", "TRACING_JSON": "true"}, "json"),
        ({"TRACING_JSON": "0", "TRACING_PRETTY": "yes"}, "pretty"),
    ],
)
def test_the_format_of_the_log_is_chosen(
    ground: Ground, variables: dict[str, str], expected: str
) -> None:
    assert ground.load(variables=variables).logging.format == expected


@requirement("S0.123")
def test_the_filter_of_the_log_goes_tracing_filter_rust_log_file(ground: Ground) -> None:
    ground.put(
        ground.home / "config.toml", "[logging]\nlevel = 'error'\njson = true\nto_file = true\n"
    )
    assert ground.load().logging == Logging(format="json", filter="error", to_file=True)
    assert ground.load(RUST_LOG="debug").logging.filter == "debug"
    assert ground.load(RUST_LOG="debug", TRACING_FILTER="a=trace").logging.filter == "a=trace"


def test_the_flags_of_agents_are_kept_typed(ground: Ground) -> None:
    settings = ground.load(
        AGENTS_ENABLE_CODEX="false",
        AGENTS_DIRS="a, b,",
        AGENTS_MCP_ENUM_TIMEOUT_MS="4000",
        AGENTS_MCP_ENUM_FALLBACK="all",
        AGENTS_FILTER="x y",
        AGENTS_MODEL_MAP_FILE="",
    )
    assert agents(settings).options == AgentOptions(
        enable_codex=False,
        codex_dirs=("a", "b"),
        enum_timeout_ms=4000,
        enum_fallback="all",
        filter="x y",
    )


def test_every_bad_variable_and_flag_is_named_at_once(ground: Ground) -> None:
    problems = ground.refused(
        TRANSPORT="htp",
        PORT="99999",
        TRACING_JSON="maybe",
        AGENTS_MCP_MAX_SERVERS="-1",
        flags={"prot": 1, "allow_remote": "soon"},
    )
    assert [problem.key for problem in problems] == [
        "TRANSPORT",
        "PORT",
        "TRACING_JSON",
        "AGENTS_MCP_MAX_SERVERS",
        "prot",
        "allow_remote",
    ]
    assert problems[0].hint == "did you mean `http`?"
    assert problems[4].hint == "did you mean `port`?"


def test_flags_reach_every_setting_that_has_one(ground: Ground) -> None:
    settings = ground.load(
        flags={
            "transport": "http",
            "host": "::1",
            "port": 2,
            "introspection_mode": "full",
            "allow_remote": True,
        }
    )
    assert settings.introspection.mode == "full"
    assert settings.listener == Listener(transport="http", host="::1", port=2, allow_remote=True)


@requirement("S2.19", "S2.25")
def test_timeouts_may_stand_in_either_file(ground: Ground) -> None:
    assert ground.load().timeouts.rpc_ms == 60_000
    ground.put(ground.home / "config.toml", "[timeouts]\nrpc_ms = 300_000\n")
    assert ground.load().timeouts.rpc_ms == 300_000
    ground.put(ground.workspace / "switchboard.config.json", {"timeouts": {"rpcMs": 90_000}})
    assert ground.load().timeouts.rpc_ms == 90_000
    ground.put(ground.home / "config.toml", "[timeouts]\nrpcMs = 1\n")
    [problem] = ground.refused()
    assert (problem.key, problem.line) == ("timeouts.rpcMs", 2)
    assert "did you mean `rpc_ms`?" in problem.hint
