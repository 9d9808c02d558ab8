"""What a client shows to Switchboard stays between the two."""

import asyncio
import json
import secrets
from asyncio.subprocess import PIPE
from pathlib import Path

import httpx2
import pytest

from oauth.scripted_servers import scripted_servers
from oauth.test_remote_login import wanting
from support.workspace import Workspace

PATIENCE = 60.0


@pytest.mark.timeout(120)
async def test_the_authorization_of_a_client_never_travels_to_a_server(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    own = secrets.token_urlsafe()
    async with scripted_servers() as servers:
        servers.script["/mcp"] = wanting("the-servers-own")
        workspace.mcp_json({"notes": {"url": servers.url}})
        process = await asyncio.create_subprocess_exec(
            *workspace.command("serve", "--http", "--port", "0", "--json"),
            cwd=workspace.root,
            env={**workspace.env, "SWITCHBOARD_TOKEN": own},
            stdout=PIPE,
        )
        try:
            assert process.stdout is not None
            async with asyncio.timeout(PATIENCE):
                url = json.loads(await process.stdout.readuntil(b"\n}\n"))["url"]
            called = await _call(url, {"authorization": f"Bearer {own}", "x-token": "canary"})
        finally:
            process.terminate()
            await process.wait()
        assert "switchboard mcp auth login notes" in called
        assert servers.asked
        for asked in servers.asked:
            assert own not in str(asked)
            assert "canary" not in str(asked)


async def _call(url: str, headers: dict[str, str]) -> str:
    arguments = {"action": "call", "subtool": "x", "args": {}}
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "notes_suite", "arguments": arguments, "_meta": meta},
    }
    sent = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "notes_suite",
        **headers,
    }
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        return (await client.post(url, json=message, headers=sent)).text
