"""Who may say which hosts are reached, and what must hold between the keys."""

from pathlib import Path
from typing import Any

import pytest

from egress.world import Heard
from settings.ground import Ground
from support.requirements import requirement
from switchboard.approvals.risk import assess
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.texts import references_of
from switchboard.children.server_launches import ServerLaunches
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.faults import Fault
from switchboard.core.network.egress import EgressHost, egress_from, written_egress
from switchboard.core.privacy.secrets import NO_SECRETS
from switchboard.daemon.board.egress import Egress
from switchboard.daemon.board.guard import Guard
from switchboard.providers.commands.launches import standing_launch
from switchboard.providers.commands.schema import CommandEntry, CommandTools
from switchboard.settings.freeze import fields_from_entry
from switchboard.settings.scopes.session_servers import Skill, servers_in_scope

HOSTS = {"api.test": {"methods": ["GET"], "inject": "env:TOKEN"}, "*.cdn.test:8443": {}}


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def one(ground: Ground, **options: Any) -> ServerEntry:
    (entry,) = ground.load(**options).servers
    return entry


def write(ground: Ground, place: Path, **fields: Any) -> None:
    ground.put(place / "mcp.json", {"mcpServers": {"tool": {"command": "tool", **fields}}})


def test_hosts_are_read_from_a_table_or_a_list_and_written_as_they_are(ground: Ground) -> None:
    write(ground, ground.home, egress=HOSTS, egress_ask=True)
    entry = one(ground)
    assert entry.egress == (
        EgressHost(host="api.test", methods=("GET",), inject="env:TOKEN"),
        EgressHost(host="*.cdn.test", port=8443),
    )
    assert entry.egress_ask
    # Whoever chooses hosts is confined, without another word.
    assert entry.sandbox_profile == "default"
    assert references_of(entry) == ("env:TOKEN",)
    assert egress_from(fields_from_entry(entry)["egress"]) == entry.egress
    write(ground, ground.home, egress=["API.test.", "[::1]:80", "10.0.0.5"])
    assert [each.written for each in one(ground).egress] == ["api.test", "[::1]:80", "10.0.0.5"]
    assert written_egress(one(ground).egress) == {"api.test": {}, "[::1]:80": {}, "10.0.0.5": {}}


@pytest.mark.parametrize(
    "fields",
    [
        {"egress": ["api.test"], "allow_network": True},
        {"egress": ["api.test"], "sandbox_profile": "none"},
        {"egress": ["api.test"], "sandbox_profile": "seatbelt"},
        {"egress_ask": True},
        {"egress": ["*"]},
        {"egress": ["*.test"]},
        {"egress": ["https://api.test"]},
        {"egress": ["api.test/path"]},
        {"egress": ["api.test:0"]},
        {"egress": ["api.test:70000"]},
        {"egress": ["0x7f.1"]},
        {"egress": ["b\u00fccher.test"]},
        {"egress": ["api.test", "API.test."]},
        {"egress": {"api.test": {"methods": ["get"]}}},
        {"egress": {"api.test": {"inject": "plain-text"}}},
        {"egress": {"api.test": {"inject": "vault:mcp/other/env/TOKEN"}}},
        {"egress": {"*.api.test": {"inject": "env:TOKEN"}}},
        {"egress": {"api.test": {"inject": "env:LD_PRELOAD"}}},
        {"egress": {"api.test": {"inject": "env:TOKEN"}}, "secret_env": {"TOKEN": "env:TOKEN"}},
        {"egress": {"api.test": {"inject": "env:TOKEN"}}, "env": {"TOKEN": "x"}},
    ],
)
def test_a_contradiction_is_an_error(ground: Ground, fields: dict[str, Any]) -> None:
    write(ground, ground.home, **fields)
    assert ground.refused()


def test_a_workspace_opens_no_host_for_its_own_server(ground: Ground) -> None:
    """A file of a repository that sets `egress`: it is ignored, and the server stays confined."""
    write(ground, ground.own, egress=HOSTS, egress_ask=True)
    settings = ground.load()
    (entry,) = settings.servers
    assert (entry.egress, entry.egress_ask) == ((), False)
    assert entry.sandbox_profile == "default"
    assert references_of(entry) == ()
    assert any("`egress` is ignored" in each.message for each in settings.warnings)


def test_a_workspace_changes_no_part_of_a_server_that_has_hosts(ground: Ground) -> None:
    """One key from a repository, and what the home allows is gone, the sandbox is not."""
    ground.put(
        ground.home / "config.toml",
        '[mcp_servers.tool]\ncommand = "tool"\negress = ["api.test"]\n',
    )
    ground.put(ground.own / "config.toml", '[mcp_servers.tool]\nargs = ["--evil"]\n')
    (entry,) = ground.load().servers
    assert entry.args == ("--evil",)
    assert entry.egress == ()
    assert entry.sandbox_profile == "default"


@requirement("S3.104")
def test_chosen_hosts_count_as_network(ground: Ground) -> None:
    ground.put(
        ground.home / "config.toml",
        '[mcp.tool]\ncommand = "tool"\nrequires_approval = false\n'
        'side_effects = ["filesystem-read"]\negress = ["api.test"]\n',
    )
    tools = ground.load().sources["commands"]
    assert isinstance(tools, CommandTools)
    entry: CommandEntry = tools.usable["tool"]
    spec = ToolSpec(name="tool", provider="commands")
    launch = standing_launch(entry, spec)
    assert launch.network
    assert launch.hosts == ("api.test",)
    assert assess(launch).must_ask
    server = ServerEntry(
        name="s", transport="stdio", sandbox_profile="default", egress=egress_from(["api.test"])
    )
    assert ServerLaunches(server, "/")[spec].network


def test_a_command_tool_of_a_workspace_has_no_hosts(ground: Ground) -> None:
    ground.put(ground.own / "config.toml", '[mcp.tool]\ncommand = "tool"\negress = ["api.test"]\n')
    tools = ground.load().sources["commands"]
    assert isinstance(tools, CommandTools)
    assert tools.usable["tool"].egress == ()


@requirement("S3.104")
def test_a_file_of_the_command_line_opens_no_host(ground: Ground) -> None:
    """A client's command line may be a project's own word."""
    given = ground.put(
        ground.user_home / "given.json",
        {"mcpServers": {"tool": {"command": "tool", "egress": HOSTS, "egress_ask": True}}},
    )
    settings = ground.load(config=given)
    (entry,) = settings.servers
    assert (entry.egress, entry.egress_ask) == ((), False)
    assert entry.sandbox_profile == "default"
    assert any("`egress` is ignored" in each.message for each in settings.warnings)


@pytest.mark.parametrize("of", ["agent", "skill"])
def test_an_agent_and_a_skill_open_no_host_and_change_no_server_that_has_some(
    ground: Ground, of: str
) -> None:
    write(ground, ground.home, egress=HOSTS)
    folder = ground.user_home / of
    file = "AGENT.md" if of == "agent" else "SKILL.md"
    ground.put(folder / file, "---\nname: it\ndescription: It.\n---\nDo it.\n")
    servers = {
        "tool": {"command": "evil"},
        "own": {"command": "evil", "egress": ["evil.test"], "egress_ask": True},
    }
    ground.put(folder / "mcp.json", {"mcpServers": servers})
    settings = ground.load()
    scoped = (
        servers_in_scope(settings, agent=str(folder))
        if of == "agent"
        else servers_in_scope(settings, skills=[Skill(directory=str(folder))])
    )
    found = {each.name: each for each in scoped.servers}
    assert found["tool"].command == "evil"
    for entry in found.values():
        assert (entry.egress, entry.egress_ask) == ((), False)
    assert found["own"].sandbox_profile == "default"
    assert any("`egress` is ignored" in each.message for each in scoped.warnings)


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("api.test", "put it in square brackets"),
        (["https://api.github.com/v3"], "write `api.github.com`"),
        ({"http://api.github.com:8080": {}}, "write `api.github.com:8080`"),
    ],
)
def test_a_slip_is_told_with_what_to_write(ground: Ground, written: Any, hint: str) -> None:
    write(ground, ground.home, egress=written)
    (problem,) = ground.refused()
    assert problem.hint == hint


def test_whatever_is_not_the_users_alone_gets_no_way_out(tmp_path: Path) -> None:
    """The last look before a process starts, should a reader of files have missed it."""
    egress = Egress(Heard(), lambda: Guard(str(tmp_path), Heard()))
    entry = ServerEntry(
        name="s",
        transport="stdio",
        sandbox_profile="default",
        egress=egress_from(["api.test"]),
        fingerprint="sha256:x",
    )

    async def nothing() -> dict[str, str]:
        return {}

    with pytest.raises(Fault) as caught:
        egress(entry, {}, nothing, bound="s", runs="s", cwd="/", hide=NO_SECRETS)
    assert caught.value.reason == "egress-foreign"
