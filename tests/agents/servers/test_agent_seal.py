"""An agent of a workspace is trusted with the scripts that its servers start."""

from pathlib import Path

import pytest

from agents.servers.host_bench import HostBench
from cli.commands import UNTRUSTING, switchboard
from support.sources import agents
from support.workspace import Workspace
from switchboard.core.faults import Fault
from switchboard.providers.agents.found_agents import FoundAgents
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Settings
from switchboard.settings.trust import trust

AGENT = """name = "rev"
[run]
sandbox_mode = "read-only"
[mcp_servers.own]
command = "python3"
args = ["tools/server.py"]
{more}
"""
DIRECT, BRIDGED = "", 'secret_env = { KEY = "vault:mcp/own/env/KEY" }'


def settings_of(bench: HostBench) -> Settings:
    return load_settings(workspace=str(bench.workspace.root), environ=bench.environ)


def found(bench: HostBench) -> FoundAgents:
    return agents(settings_of(bench))


@pytest.mark.parametrize("more", [DIRECT, BRIDGED], ids=["direct", "bridged"])
async def test_a_changed_script_asks_again_and_is_not_started(bench: HostBench, more: str) -> None:
    del bench.environ["SWITCHBOARD_TRUST_WORKSPACE"]
    bench.workspace.write(".agents/rev.toml", AGENT.format(more=more))
    script = bench.workspace.write("tools/server.py", "print(1)\n")
    trust(settings_of(bench))
    before = found(bench)
    agent = before.usable["agent_rev"]
    assert str(script) in before.watched
    assert [each.name for each in (await bench.attached_to(agent)).servers] == ["own"]
    script.write_text("print(2)\n", "utf-8")
    # Between the change and the next look at the files, too.
    with pytest.raises(Fault, match="has changed since it was trusted"):
        await bench.attached_to(agent)
    assert list(found(bench).untrusted) == ["agent_rev"]
    script.write_text("print(1)\n", "utf-8")
    assert list(found(bench).usable) == ["agent_rev"]


async def test_a_workspace_that_is_trusted_as_a_whole_may_change(bench: HostBench) -> None:
    bench.workspace.write(".agents/rev.toml", AGENT.format(more=DIRECT))
    script = bench.workspace.write("tools/server.py", "print(1)\n")
    agent = found(bench).usable["agent_rev"]
    script.write_text("print(2)\n", "utf-8")
    assert [each.name for each in (await bench.attached_to(agent)).servers] == ["own"]


def test_trust_says_that_servers_are_outside_of_the_sandbox(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.write(".agents/rev.toml", AGENT.format(more=DIRECT))
    workspace.write(".agents/bare.toml", 'name = "bare"\n[run]\nsandbox_mode = "read-only"\n')
    said = switchboard(workspace, "trust", "--list", env=UNTRUSTING).out.splitlines()
    assert "  sandbox   read-only; the agent's servers run outside of it" in said
    assert "  sandbox   read-only" in said
