"""The keys of a server's sandbox: read from every kind of file, judged, sealed and narrowed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.commands import switchboard
from support.requirements import requirement
from support.sources import command_tools
from support.workspace import Workspace, server
from switchboard.children.schema import ServerEntry
from switchboard.children.server_launches import ServerLaunches
from switchboard.core.catalog.tools import ToolSpec
from switchboard.settings.fingerprints import sealed
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Settings
from switchboard.settings.workspace_limits import narrowed_server

KEYS: dict[str, Any] = {
    "sandbox_profile": "default",
    "allow_network": True,
    "read_roots": ["~/tools"],
    "writable_roots": ["build"],
    "read_env_files": True,
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def loaded(workspace: Workspace) -> Settings:
    return load_settings(workspace=str(workspace.root), environ=workspace.env)


def keys_of(entry: ServerEntry) -> dict[str, Any]:
    fields = msgspec.json.decode(msgspec.json.encode(entry), type=dict[str, Any])
    return {name: fields[name] for name in KEYS}


def words(settings: Settings) -> str:
    return "\n".join(map(str, settings.warnings))


def test_every_file_that_declares_servers_takes_the_keys(workspace: Workspace) -> None:
    workspace.mcp_json({"sidecar": server(["true"], **KEYS)})
    workspace.config_toml(
        """
[mcp_servers.toml]
command = "true"
sandbox_profile = "default"
allow_network = true
read_roots = ["~/tools"]
writable_roots = ["build"]
read_env_files = true
"""
    )
    workspace.child(
        "child",
        ["true"],
        sandboxProfile="default",
        allowNetwork=True,
        readRoots=["~/tools"],
        writableRoots=["build"],
        readEnvFiles=True,
    )
    entries = {entry.name: keys_of(entry) for entry in loaded(workspace).servers}
    assert entries == dict.fromkeys(("sidecar", "toml", "child"), KEYS)


def test_a_server_that_does_not_ask_is_not_confined(workspace: Workspace) -> None:
    workspace.mcp_json({"plain": server(["true"])})
    (entry,) = loaded(workspace).servers
    assert entry.sandbox_profile == "none"


def test_keys_without_a_sandbox_are_told_to_mean_nothing(workspace: Workspace) -> None:
    workspace.mcp_json(
        {
            "plain": server(["true"], allow_network=True),
            "remote": {"url": "https://example.org/mcp", "sandbox_profile": "default"},
        }
    )
    said = words(loaded(workspace))
    assert "`allow_network` means nothing without a sandbox" in said
    assert "`sandbox_profile` means nothing when `transport` is `http`" in said


@pytest.mark.parametrize("key", [{"limits": {"memory": "1G"}}, {"egress": ["example.org"]}])
def test_what_needs_a_sandbox_has_one_and_the_keys_beside_it_count(
    workspace: Workspace, key: Mapping[str, Any]
) -> None:
    given = server(["true"], read_roots=["~/data"], **key)
    workspace.mcp_json({"confined": given}, scope="home")
    settings = loaded(workspace)
    (entry,) = settings.servers
    assert entry.sandbox_profile == "default"
    assert "means nothing" not in words(settings)


def test_limits_that_cannot_count_are_told(workspace: Workspace) -> None:
    limits = {"limits": {"memory": "1G"}}
    workspace.mcp_json(
        {
            "free": server(["true"], sandbox_profile="none", **limits),
            "remote": {"url": "https://example.org/mcp", **limits},
        }
    )
    settings = loaded(workspace)
    assert {entry.sandbox_profile for entry in settings.servers} == {"none"}
    assert "`limits` means nothing without a sandbox" in words(settings)
    assert "`limits` means nothing when `transport` is `http`" in words(settings)


CHANGES: tuple[Mapping[str, Any], ...] = (
    {"sandbox_profile": "none"},
    {"allow_network": True},
    {"read_roots": ("/srv",)},
    {"writable_roots": ("/srv",)},
    {"read_env_files": True},
)


@requirement("S3.97", "S3.98")
@pytest.mark.parametrize("change", CHANGES)
def test_a_looser_sandbox_is_another_server_that_nobody_trusted(
    change: Mapping[str, Any],
) -> None:
    fields: dict[str, Any] = {"name": "x", "transport": "stdio", "sandbox_profile": "default"}
    tight = sealed(ServerEntry(**fields), "/workspace")
    loose = sealed(ServerEntry(**{**fields, **change}), "/workspace")
    assert tight.fingerprint != loose.fingerprint


def test_a_workspace_cannot_open_the_sandbox_of_its_users_server(workspace: Workspace) -> None:
    """It lays one key over the server of the home, and the whole waits for trust."""
    del workspace.env["SWITCHBOARD_TRUST_WORKSPACE"]
    own = '[mcp_servers.own]\ncommand = "true"\nsandbox_profile = "default"\n'
    workspace.config_toml(own, scope="home")
    assert [entry.name for entry in loaded(workspace).servers] == ["own"]
    workspace.config_toml('[mcp_servers.own]\nsandbox_profile = "none"\n')
    settings = loaded(workspace)
    assert [entry.sandbox_profile for entry in settings.servers] == ["default"]
    assert [entry.sandbox_profile for entry in settings.untrusted] == ["none"]


def test_a_workspace_may_only_narrow_the_limits_of_its_users_server(workspace: Workspace) -> None:
    """Laid over it, larger ones count for nothing, and those it does not name stay."""
    own = (
        '[mcp_servers.own]\ncommand = "true"\nsandbox_profile = "default"\n'
        'limits = {memory = "1G", processes = 64, cpu = 9}\n'
    )
    workspace.config_toml(own, scope="home")
    theirs = '[mcp_servers.own]\nlimits = {memory = "2048M", processes = 8, files = 99}\n'
    workspace.config_toml(theirs)
    [entry] = loaded(workspace).servers
    assert entry.limits == {"memory": "1G", "processes": 8, "cpu": 9, "files": 99}
    launch = ServerLaunches(entry, "/")[ToolSpec(name="x", provider="direct")]
    assert launch.limits == ("at most cpu 9 s, files 99, memory 1G, processes 8",)
    assert f"limits     own: {launch.limits[0]}" in switchboard(workspace, "doctor").out


def test_a_skill_that_replaces_a_confined_server_stays_as_confined() -> None:
    fields: dict[str, Any] = {"name": "x", "transport": "stdio"}
    below = ServerEntry(
        **fields, sandbox_profile="default", read_roots=("/a",), limits={"cpu": 3, "disk": "1M"}
    )
    above = ServerEntry(
        **fields,
        allow_network=True,
        read_roots=("/a", "/b"),
        writable_roots=("/c",),
        limits={"cpu": 2, "disk": "1G"},
    )
    kept = narrowed_server(above, below)
    assert kept.sandbox_profile == "default"
    assert not kept.allow_network
    assert kept.limits == {"cpu": 2, "disk": "1M"}
    assert (kept.read_roots, kept.writable_roots) == (("/a",), ())
    # Of a server that was free it may decide everything.
    assert narrowed_server(above, ServerEntry(**fields)) == above


@requirement("S3.38")
def test_doctor_names_the_sandbox_and_who_cannot_have_theirs(workspace: Workspace) -> None:
    workspace.mcp_json({"mac": server(["true"], sandbox_profile="seatbelt")})
    done = switchboard(workspace, "doctor")
    assert done.code == 1
    assert "sandbox    bubblewrap 0." in done.out
    assert "error: mac: not shown: sandbox unavailable" in done.out
    assert 'sandbox_profile = "default"' in done.out
    assert switchboard(workspace, "doctor", "--json").report["sandbox"].startswith("bubblewrap")


@requirement("S3.40", "S3.98")
def test_only_the_home_takes_a_command_tool_out_of_its_sandbox(workspace: Workspace) -> None:
    tool = '[mcp.tool]\ncommand = "true"\nsandbox_profile = "none"\n'
    workspace.config_toml(tool, scope="home")
    assert command_tools(loaded(workspace)).usable["tool"].sandbox_profile == "none"
    (workspace.home / "config.toml").unlink()
    workspace.config_toml(tool)
    settings = loaded(workspace)
    assert command_tools(settings).usable["tool"].sandbox_profile == "default"
    assert "`sandbox_profile` is ignored in a workspace" in words(settings)


@requirement("S3.98")
def test_a_workspace_cannot_take_the_users_command_tool_out_of_its_sandbox(
    workspace: Workspace,
) -> None:
    workspace.config_toml('[mcp.tool]\ncommand = "true"\n', scope="home")
    workspace.config_toml('[mcp.tool]\ncommand = "true"\nsandbox_profile = "none"\n')
    assert command_tools(loaded(workspace)).usable["tool"].sandbox_profile == "default"


def test_whoever_trusts_a_server_is_shown_what_its_sandbox_opens(workspace: Workspace) -> None:
    workspace.mcp_json({"files": server(["true"], **KEYS)})
    done = switchboard(workspace, "trust")
    told = "sandbox   default, network, reads ~/tools, writes build, reads .env files"
    assert told in done.out
    (entry,) = switchboard(workspace, "trust", "--json").report["entries"]
    assert entry["sandbox"].startswith("default, network")
