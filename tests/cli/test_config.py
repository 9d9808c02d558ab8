"""`config check`, `config show` and `config explain`."""

import pytest

from cli.commands import switchboard
from support.workspace import Workspace


def test_a_good_configuration_is_said_to_be_fine(workspace: Workspace) -> None:
    workspace.mcp_json({"a": {"command": "true"}})
    done = switchboard(workspace, "config", "check")
    out = "the configuration is fine: 1 server\n  .switchboard/mcp.json\n"
    assert done == (0, out, "")
    report = switchboard(workspace, "config", "check", "--json").report
    assert (report["servers"], report["waiting"], report["warnings"]) == (1, 0, [])


def test_warnings_are_told_and_do_not_fail(workspace: Workspace) -> None:
    workspace.mcp_json({"a": {"command": "true"}})
    workspace.config_json({"suites": {"b": {"suiteName": "x"}}})
    done = switchboard(workspace, "config", "check")
    assert done.code == 0
    assert "warning: 1 warning in the configuration" in done.err
    assert "no server is named `b`" in done.err


def test_a_bad_configuration_ends_with_2(workspace: Workspace) -> None:
    workspace.config_json({"timeouts": {"rpcMs": "soon", "childSpawn": 1}})
    done = switchboard(workspace, "config", "check")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: 2 problems in the configuration\n")


def test_every_value_is_shown_with_its_origin(workspace: Workspace) -> None:
    workspace.mcp_json({"a": {"command": "true", "env": {"API_TOKEN": "hunter2"}}}, scope="home")
    done = switchboard(workspace, "config", "show", env={"PORT": "9000"})
    assert done.code == 0
    assert "server.port = 9000  # environment, PORT\n" in done.out
    assert "timeouts.rpcMs = 60000  # default\n" in done.out
    assert "hunter2" not in done.out
    shown = switchboard(workspace, "config", "show", "--json").report
    values = {each["key"]: each for each in shown["values"]}
    assert values["mcp_servers.a.command"]["scope"] == "home"


def test_a_value_is_explained_with_what_it_replaced(workspace: Workspace) -> None:
    workspace.config_json({"timeouts": {"rpcMs": 5000}})
    done = switchboard(workspace, "config", "explain", "timeouts.rpcMs")
    assert done == (
        0,
        (
            "timeouts.rpcMs = 5000\n"
            "  from workspace, switchboard.config.json:3\n"
            "  instead of 60000 from default\n"
        ),
        "",
    )
    report = switchboard(workspace, "config", "explain", "timeouts.rpcMs", "--json").report
    assert [step["value"] for step in report["replaced"]] == [60000]


def test_a_default_is_from_no_file_though_its_section_is_in_one(workspace: Workspace) -> None:
    workspace.config_toml('[results]\nmode = "passthrough"\n', scope="home")
    shown = switchboard(workspace, "config", "show").out.splitlines()
    assert 'results.keep = "24h"  # default' in shown
    (mode,) = (line for line in shown if line.startswith("results.mode = "))
    assert "config.toml:" in mode
    explained = switchboard(workspace, "config", "explain", "results.keep").out
    assert explained == 'results.keep = "24h"\n  from default\n'


def test_a_key_that_is_not_there_is_guessed(workspace: Workspace) -> None:
    done = switchboard(workspace, "config", "explain", "timeouts.rpc_ms")
    assert (done.code, done.out) == (1, "")
    assert "hint: did you mean `timeouts.rpcMs`?\n" in done.err


@pytest.mark.parametrize(
    "words", [("config",), ("config", "chek"), ("config", "explain"), ("config", "show", "x")]
)
def test_config_that_makes_no_sense_ends_with_2(
    workspace: Workspace, words: tuple[str, ...]
) -> None:
    done = switchboard(workspace, *words)
    assert (done.code, done.out) == (2, "")
