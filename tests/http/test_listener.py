"""Where the command line serves: the variables of the environment decide."""

import asyncio
import json
import socket
from pathlib import Path

import httpx2
from edges.board import HEADERS, TOKEN, initialize

from support.requirements import requirement
from support.workspace import Workspace


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


async def serve(workspace: Workspace, **env: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *workspace.command("serve"),
        cwd=workspace.root,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=workspace.env | env,
    )


async def until_listening(port: int) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


@requirement("S0.120", "S0.121")
async def test_transport_http_serves_on_host_and_port(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    port = free_port()
    where = {"TRANSPORT": "http", "HOST": "127.0.0.1", "PORT": str(port)}
    process = await serve(workspace, **where, SWITCHBOARD_TOKEN=TOKEN)
    try:
        await until_listening(port)
        async with httpx2.AsyncClient(headers=HEADERS, timeout=60, trust_env=False) as http:
            response = await http.post(f"http://127.0.0.1:{port}/mcp", json=initialize())
        assert response.json()["result"]["serverInfo"]["name"] == "switchboard"
    finally:
        process.terminate()
        await process.communicate()
    assert process.returncode == 0


@requirement("S0.120", "S0.121")
async def test_stdio_is_the_default_and_listens_nowhere(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    port = free_port()
    process = await serve(workspace, HOST="127.0.0.1", PORT=str(port))
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(initialize()).encode() + b"\n")
    async with asyncio.timeout(20):
        answer = json.loads(await process.stdout.readline())
    assert answer["result"]["serverInfo"]["name"] == "switchboard"
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    process.stdin.close()
    async with asyncio.timeout(20):
        assert await process.wait() == 0
