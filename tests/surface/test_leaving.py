"""However Switchboard ends, whatever its children do, nothing of it is left running."""

import json
import os
import signal
from pathlib import Path

import pytest

from support.mcp_stdio import StdioClient, text_of
from support.processes import alive, mentioning, until_gone, until_true
from support.requirements import requirement
from support.workspace import Json, Workspace
from surface.hosts import hosting, misbehaving, scripted


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


async def start_family(client: StdioClient, suite: str) -> list[int]:
    """Start a child that ignores SIGTERM, with a grandchild that does so too."""
    result = await client.call_subtool(suite, "family")
    family: dict[str, int] = json.loads(json.loads(text_of(result))["content"][0]["text"])
    pids = list(family.values())
    assert all(map(alive, pids))
    return pids


def begin_stall(client: StdioClient, suite: str) -> int:
    arguments: Json = {"action": "call", "subtool": "stall"}
    return client.begin("tools/call", {"name": suite, "arguments": arguments})


@requirement("S2.09", "S2.52", "S2.82")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_ends_all_children_and_what_waits(number: int, workspace: Workspace) -> None:
    suite = misbehaving(workspace, "stubborn-family")
    workspace.echo_child()
    async with hosting(workspace) as client:
        family = await start_family(client, suite)
        await client.introspect("echo_suite")
        begin_stall(client, suite)
        os.kill(client.pid, number)
        assert await client.ended() == 0
        assert client.junk == []
        await until_gone(family)
        assert mentioning(str(workspace.root)) == []


@requirement("S2.52")
async def test_not_even_a_kill_leaves_a_child_behind(workspace: Workspace) -> None:
    suite = misbehaving(workspace, "stubborn-family")
    async with hosting(workspace) as client:
        family = await start_family(client, suite)
        client.process.kill()
        await client.ended()
        await until_gone(family)


@requirement("S2.09", "S2.83")
async def test_a_host_that_leaves_in_the_middle_of_a_call_ends_everything(
    workspace: Workspace,
) -> None:
    suite = misbehaving(workspace, "stubborn-family")
    async with hosting(workspace) as client:
        family = await start_family(client, suite)
        begin_stall(client, suite)
        assert await client.close() == 0
        await until_gone(family)


@requirement("S2.83")
async def test_a_child_is_told_that_nobody_waits_any_more(
    workspace: Workspace, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    suite = scripted(workspace, {"tools/call": ["hush"]}, notes)
    async with hosting(workspace) as client:
        arguments = {"action": "call", "subtool": "slow"}
        client.begin("tools/call", {"name": suite, "arguments": arguments})
        await until_true(lambda: notes.exists() and "tools/call" in notes.read_text())
        assert await client.close() == 0
    heard = [json.loads(line) for line in notes.read_text().splitlines()]
    call, cancelled = heard[-2:]
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == call["id"]


@requirement("S2.83")
async def test_a_host_that_dies_without_a_word_ends_everything(workspace: Workspace) -> None:
    """Only its ends of the pipes close; nobody sends a signal."""
    suite = misbehaving(workspace, "stubborn-family")
    async with hosting(workspace) as client:
        family = await start_family(client, suite)
        begin_stall(client, suite)
        assert client.process.stdin is not None
        client.process.stdin.transport.abort()
        await client.ended()
        await until_gone(family)


async def test_a_host_that_leaves_during_a_start_leaves_no_process(workspace: Workspace) -> None:
    suite = misbehaving(workspace, "hang-at-start")
    async with hosting(workspace) as client:
        client.begin("tools/call", {"name": suite, "arguments": {"action": "introspect"}})
        folder = str(workspace.settings / "mcps" / "hang-at-start")
        await until_true(lambda: len(mentioning(folder)) > 0)
        assert await client.close() == 0
