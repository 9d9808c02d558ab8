"""`scope` says who shares a server, in every file that declares one."""

import json
from pathlib import Path

import pytest

from support.workspace import Workspace, server
from switchboard.config.problems import ConfigInvalid
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Settings


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def loaded(workspace: Workspace) -> Settings:
    return load_settings(workspace=str(workspace.root), environ=workspace.env)


def scopes(workspace: Workspace) -> dict[str, str]:
    return {entry.name: entry.scope for entry in loaded(workspace).servers}


def test_a_server_is_shared_by_its_workspace_unless_told_otherwise(workspace: Workspace) -> None:
    workspace.mcp_json({"plain": server(["true"]), "own": server(["true"], scope="session")})
    workspace.echo_child("child")
    workspace.child("common", ["true"], scope="user")
    assert scopes(workspace) == {
        "plain": "workspace",
        "own": "session",
        "child": "workspace",
        "common": "user",
    }


def test_toml_and_suite_settings_say_it_too(workspace: Workspace) -> None:
    workspace.config_toml('[mcp_servers.one]\ncommand = "true"\nscope = "session"\n')
    workspace.mcp_json({"two": server(["true"], scope="session")})
    workspace.config_json({"suites": {"two": {"scope": "user"}}})
    assert scopes(workspace) == {"one": "session", "two": "user"}


@pytest.mark.parametrize("place", ["mcp.json", "config.toml", "switchboard.config.json"])
def test_an_unknown_scope_is_a_mistake_with_a_place(workspace: Workspace, place: str) -> None:
    match place:
        case "mcp.json":
            workspace.mcp_json({"one": server(["true"], scope="planet")})
        case "config.toml":
            workspace.config_toml('[mcp_servers.one]\ncommand = "true"\nscope = "planet"\n')
        case _:
            workspace.config_json({"suites": {"one": {"scope": "planet"}}})
    with pytest.raises(ConfigInvalid) as invalid:
        loaded(workspace)
    (problem,) = invalid.value.problems
    assert problem.path.endswith(place)
    assert problem.line > 0
    assert "planet" in json.dumps(problem.to_dict())


def test_only_the_home_says_how_long_the_daemon_stays(workspace: Workspace) -> None:
    workspace.config_toml("[daemon]\nidle_ms = 5000\n", scope="home")
    workspace.config_toml("[daemon]\nidle_ms = 1\n")
    settings = loaded(workspace)
    assert settings.keeping.idle_ms == 5000
    assert any("idle_ms" in warning.key for warning in settings.warnings)
    workspace.env["SWITCHBOARD_DAEMON_IDLE_MS"] = "7"
    assert loaded(workspace).keeping.idle_ms == 7
