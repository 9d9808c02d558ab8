"""Many calls in a row leave nothing behind: no memory, no open files, no processes."""

import asyncio
from pathlib import Path

import pytest

from support.mcp_stdio import StdioClient, talking_to, text_of
from support.processes import PROC, children_of, wait_until_none_mention
from support.workspace import Workspace, child_command

CALLS = 300_000
IN_FLIGHT = 32
MEGABYTES_OF_GROWTH = 12


def resident_megabytes(pid: int) -> float:
    pages = int((PROC / str(pid) / "statm").read_text().split()[1])
    return pages * 4096 / (1 << 20)


def open_files(pid: int) -> int:
    return len(list((PROC / str(pid) / "fd").iterdir()))


async def make_calls(client: StdioClient, count: int) -> None:
    for start in range(0, count, IN_FLIGHT):
        texts = [f"call {n}" for n in range(start, start + IN_FLIGHT)]
        calls = (client.call_subtool("echo_suite", "echo", {"text": text}) for text in texts)
        for text, result in zip(texts, await asyncio.gather(*calls), strict=True):
            assert f"echo: {text}" in text_of(result)
        client.messages.clear()
        client.framings.clear()


@pytest.mark.soak
@pytest.mark.timeout(1200)
async def test_many_calls_leave_nothing_behind(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.echo_child()
    async with talking_to(
        workspace.command("serve", "--stdio"), cwd=workspace.root, env=workspace.env
    ) as client:
        await client.initialize()
        await make_calls(client, CALLS // 10)
        before = resident_megabytes(client.pid), open_files(client.pid), children_of(client.pid)
        await make_calls(client, CALLS)
        assert resident_megabytes(client.pid) < before[0] + MEGABYTES_OF_GROWTH
        assert open_files(client.pid) == before[1]
        assert children_of(client.pid) == before[2]
        assert await client.close() == 0
    wait_until_none_mention(str(workspace.root))


@pytest.mark.soak
@pytest.mark.timeout(1200)
async def test_a_child_that_keeps_dying_leaves_nothing_behind(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.echo_child()
    workspace.child("mortal", child_command("misbehaving_child", "dies-on-tool"))
    async with talking_to(
        workspace.command("serve", "--stdio"), cwd=workspace.root, env=workspace.env
    ) as client:
        await client.initialize()
        await make_calls(client, IN_FLIGHT)
        before = open_files(client.pid)
        for _ in range(20):
            await client.call_subtool("mortal_suite", "die")
            await make_calls(client, IN_FLIGHT)
        assert open_files(client.pid) <= before + 4
        assert await client.close() == 0
    wait_until_none_mention(str(workspace.root))
