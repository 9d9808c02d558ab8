"""A large result passes without being taken apart or piled up."""

import json
from pathlib import Path

import pytest

from support.mcp_stdio import text_of
from support.measuring import unmeasured
from support.requirements import requirement
from support.workspace import Workspace
from surface.hosts import hosting, memory_kb, misbehaving

MEGABYTES = 10


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    made.env = unmeasured(made.env)
    return made


async def test_an_idle_switchboard_is_small(workspace: Workspace) -> None:
    workspace.echo_child()
    async with hosting(workspace) as client:
        await client.tools()
        await client.introspect("echo_suite")
        assert memory_kb(client.pid, "VmRSS") < 48 * 1024


@requirement("S2.49")
@pytest.mark.parametrize("mode", ["passthrough", "json"])
async def test_ten_megabytes_pass_in_three_copies_at_most(mode: str, workspace: Workspace) -> None:
    suite = misbehaving(workspace, "huge-line")
    workspace.config_json({"suites": {"huge-line": {"resultMode": mode}}})
    async with hosting(workspace) as client:
        await client.call_subtool(suite, "huge", {"megabytes": 0})
        before = memory_kb(client.pid, "VmHWM")
        result = await client.call_subtool(suite, "huge", {"megabytes": MEGABYTES})
        grown_mb = (memory_kb(client.pid, "VmHWM") - before) / 1024
        text = text_of(result)
        if mode == "json":
            text = json.loads(text)["content"][0]["text"]
        assert text == "x" * (MEGABYTES << 20)
        assert grown_mb < 3 * MEGABYTES + 4
