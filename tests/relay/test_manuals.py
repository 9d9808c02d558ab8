"""The instructions of servers under their own names reach a client before its first word."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.daemons import shim
from support.mcp_stdio import talking_to
from support.processes import until_true
from support.workspace import Json, Workspace, child_command


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        workspace = Workspace(Path(folder), daemon=True)
        yield workspace
        workspace.stop_daemon()


async def told(workspace: Workspace) -> str:
    """What a client that begins now is told."""
    command = workspace.command("mcp")
    async with talking_to(command, cwd=workspace.root, env=workspace.env) as client:
        about: Json = await client.initialize()
        return about["instructions"]


async def test_a_session_that_begins_after_a_server_ran_has_its_instructions(
    workspace: Workspace,
) -> None:
    workspace.child("wide", child_command("wide_child", "3", "100", "400"), expose="tools")
    first = await told(workspace)
    assert first == "Switchboard: tools of MCP servers, under their own names."
    async with shim(workspace) as client:
        assert "do_thing_0" in await client.tools()
    await until_true((workspace.home / "cache" / "suite-words.json").exists)
    then = await told(workspace)
    head, _, words = then.partition("\n\nThe server `wide` says of its use:\n")
    assert head == first
    # All of it, and not the few words that a suite's description has room for.
    assert words.startswith("Begin with thing 0.")
    assert len(words) > 300
    workspace.stop_daemon()
    assert await told(workspace) == then


async def test_those_of_a_suite_come_with_its_introspection_only(workspace: Workspace) -> None:
    workspace.child("wide", child_command("wide_child", "3", "100", "400"))
    workspace.child("shown", child_command("wide_child", "3", "100", "400"), expose="tools")
    async with shim(workspace) as client:
        await client.tools()
        await client.introspect("wide_suite")
    await until_true((workspace.home / "cache" / "suite-words.json").exists)
    words = await told(workspace)
    assert "a suite is a tool that stands for one MCP server (wide_suite)" in words
    assert "The server `wide` says" not in words


async def test_what_a_session_is_told_is_within_what_hosts_read(workspace: Workspace) -> None:
    """Claude Code cuts it after 2,048 letters: no server takes the room of the others."""
    for name in ("one", "two", "three"):
        workspace.child(name, child_command("wide_child", "1", "0", "3000"), expose="tools")
    workspace.child("short", child_command("wide_child", "1", "0", "90"), expose="tools")
    async with shim(workspace) as client:
        await client.tools()

    async def is_learned() -> bool:
        return "The server `short` says" in await told(workspace)

    async with asyncio.timeout(30):
        while not await is_learned():
            pass
    words = await told(workspace)
    assert 1_900 < len(words) <= 2_048
    for name in ("one", "two", "three", "short"):
        assert f"The server `{name}` says of its use:\nBegin with thing 0." in words


async def test_a_server_that_is_alone_has_all_the_room_that_hosts_read(
    workspace: Workspace,
) -> None:
    workspace.child("wide", child_command("wide_child", "1", "0", "1700"), expose="tools")
    async with shim(workspace) as client:
        await client.tools()
    await until_true((workspace.home / "cache" / "suite-words.json").exists)
    words = await told(workspace)
    assert len(words) > 1_700
    assert not words.endswith("\u2026")
