"""The official SDKs as judges: their clients use Switchboard, their servers are its children."""

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from mcp import Client, StdioServerParameters

from support.mcp_stdio import talking_to, text_of
from support.processes import wait_until_none_mention
from support.requirements import requirement
from support.workspace import CHECKOUT, Json, Workspace, child_command

PARTNERS = CHECKOUT / "tests" / "node"
CALLS: list[Json] = [
    {"name": "echo_suite", "arguments": {"action": "introspect"}},
    {
        "name": "echo_suite",
        "arguments": {"action": "call", "subtool": "echo", "args": {"text": "marco"}},
    },
]
SERVERS = {
    "python-sdk": child_command("sdk_child"),
    "typescript-v1": ["node", str(PARTNERS / "sdk_server.mjs"), "v1"],
    "typescript-v2": ["node", str(PARTNERS / "sdk_server.mjs"), "v2"],
    "typescript-v2-modern": ["node", str(PARTNERS / "sdk_server.mjs"), "v2-modern"],
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(tmp_path, daemon=True)
    workspace.echo_child()
    yield workspace
    workspace.stop_daemon()


@pytest.mark.parametrize(
    ("sdk", "era", "version"),
    [
        ("v1", "legacy", None),
        ("v2", "legacy", "2025-11-25"),
        ("v2", "auto", "2026-07-28"),
        ("v2", "2026-07-28", "2026-07-28"),
    ],
)
async def test_the_typescript_client_uses_a_suite(
    sdk: str, era: str, version: str | None, workspace: Workspace
) -> None:
    program = ["node", str(PARTNERS / "sdk_client.mjs"), sdk, era, json.dumps(CALLS)]
    process = await asyncio.create_subprocess_exec(
        *program,
        *workspace.command("mcp"),
        cwd=workspace.root,
        env=workspace.env,
        stdout=PIPE,
        stderr=PIPE,
    )
    async with asyncio.timeout(90):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    report = json.loads(out)
    assert report["version"] == version
    assert report["tools"] == ["echo_suite"]
    introspected, called = report["results"]
    assert "inputSchema" in text_of(introspected)
    assert "echo: marco" in text_of(called)
    workspace.stop_daemon()
    wait_until_none_mention(str(workspace.root))


@pytest.mark.parametrize(
    ("mode", "version"),
    [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")],
)
async def test_the_python_client_uses_a_suite(
    mode: Literal["legacy", "auto", "2026-07-28"], version: str, workspace: Workspace
) -> None:
    command, *args = workspace.command("mcp")
    board = StdioServerParameters(command=command, args=args, env=workspace.env, cwd=workspace.root)
    async with asyncio.timeout(90), Client(board, mode=mode) as client:
        assert client.protocol_version == version
        assert [tool.name for tool in (await client.list_tools()).tools] == ["echo_suite"]
        introspected, called = [await client.call_tool(**call) for call in CALLS]
        assert "inputSchema" in introspected.model_dump_json()
        assert "echo: marco" in called.model_dump_json()
    workspace.stop_daemon()
    wait_until_none_mention(str(workspace.root))


@requirement("S2.43", "S2.49")
@pytest.mark.parametrize("name", SERVERS)
async def test_a_server_of_an_sdk_is_a_suite(name: str, workspace: Workspace) -> None:
    workspace.child("other", SERVERS[name])
    async with talking_to(
        workspace.command("mcp"), cwd=workspace.root, env=workspace.env
    ) as client:
        await client.initialize()
        tools = (await client.introspect("other_suite"))["tools"]
        assert [tool["name"] for tool in tools] == ["echo"]
        assert tools[0]["inputSchema"]["required"] == ["text"]
        result = await client.call_subtool("other_suite", "echo", {"text": "polo"})
        assert "echo: polo" in text_of(result)
        assert await client.close() == 0
    workspace.stop_daemon()
    wait_until_none_mention(str(workspace.root))


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("framing", ["newline", "content-length"])
async def test_every_version_with_a_handshake_is_served_in_either_framing(
    version: str, framing: Literal["newline", "content-length"], workspace: Workspace
) -> None:
    async with talking_to(
        workspace.command("mcp"), cwd=workspace.root, env=workspace.env, framing=framing
    ) as client:
        assert (await client.initialize(version))["protocolVersion"] == version
        result = await client.call_subtool("echo_suite", "echo", {"text": "polo"})
        assert "echo: polo" in text_of(result)
        assert set(client.framings) == {framing}
        assert client.junk == []
        assert await client.close() == 0
