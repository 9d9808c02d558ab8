"""Who may ask for a browser in a sandbox, where it shows, and where it cannot be."""

from pathlib import Path
from typing import Any

import pytest

from cli.commands import switchboard
from sandbox.den import Den
from settings.ground import Ground
from support.requirements import requirement
from support.workspace import Workspace, server
from switchboard.children.schema import ServerEntry
from switchboard.children.server_launches import ServerLaunches
from switchboard.config.problems import ConfigInvalid
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.faults import Fault
from switchboard.sandbox.probe import Probe
from switchboard.sandbox.sandbox import Sandbox
from switchboard.settings.fingerprints import sealed

BROWSER = {"sandbox_profile": "default", "sandbox_features": ["browser"]}


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def write(ground: Ground, place: Path, **fields: Any) -> None:
    ground.put(place / "mcp.json", {"mcpServers": {"web": {"command": "web", **fields}}})


@requirement("S3.38")
def test_only_the_home_asks_for_a_browser(ground: Ground) -> None:
    write(ground, ground.home, **BROWSER)
    (entry,) = ground.load().servers
    assert entry.sandbox_features == ("browser",)
    assert entry.sandbox_profile == "default"
    (ground.home / "mcp.json").unlink()
    write(ground, ground.own, **BROWSER)
    loaded = ground.load()
    assert [each.sandbox_features for each in loaded.servers] == [()]
    assert any("`sandbox_features` is ignored" in each.message for each in loaded.warnings)


def test_a_browser_and_the_network_of_the_machine_exclude_each_other(ground: Ground) -> None:
    write(ground, ground.home, **BROWSER, allow_network=True)
    with pytest.raises(ConfigInvalid, match="needs a network of its own"):
        ground.load()


def test_trust_is_bound_to_it_and_older_trust_stays() -> None:
    plain = ServerEntry(name="web", transport="stdio", command="web", sandbox_profile="default")
    with_it = ServerEntry(
        name="web",
        transport="stdio",
        command="web",
        sandbox_profile="default",
        sandbox_features=("browser",),
    )
    assert sealed(plain, "/w").fingerprint != sealed(with_it, "/w").fingerprint
    tool = ToolSpec(name="open", provider="suites")
    assert ServerLaunches(with_it, "/w").named(tool, "open").sandbox == "default for a browser"
    assert ServerLaunches(plain, "/w").named(tool, "open").sandbox == "default"


def test_the_list_says_that_it_is_for_a_browser(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.mcp_json({"web": server(["sh"], **BROWSER)}, scope="home")
    [shown] = switchboard(workspace, "list", "--json").report["servers"]
    assert "for a browser" in shown["sandbox"]


async def test_where_only_landlock_works_no_browser_starts(den: Den) -> None:
    den.sandbox = Sandbox(Probe(folders=(str(den.home / "nothing"),)))
    with pytest.raises(Fault, match="needs the sandbox of Linux, bubblewrap"):
        await den.python("print(1)", fallback="landlock", features=("browser",))
