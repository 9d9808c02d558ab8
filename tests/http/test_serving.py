"""The whole program over HTTP, as a process: its port, its token, its signals, its end."""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from edges.board import HEADERS, call, initialize, modern, request

from support.processes import children_of, until_gone, until_true

SERVE = Path(__file__).parent / "servers" / "serve.py"


class Program:
    """A running `serve_http`."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, token: str) -> None:
        self.process = process
        self.url = url
        self.token = token

    def client(self) -> httpx2.AsyncClient:
        headers = HEADERS | {"authorization": f"Bearer {self.token}"}
        return httpx2.AsyncClient(headers=headers, trust_env=False, timeout=20)


async def start(
    folder: Path, host: str = "127.0.0.1", port: int = 0, *more: str, **env: str
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(SERVE),
        str(folder),
        host,
        str(port),
        *more,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], **env},
    )


@asynccontextmanager
async def program(
    folder: Path, host: str = "127.0.0.1", port: int = 0, *more: str, **env: str
) -> AsyncGenerator[Program]:
    process = await start(folder, host, port, *more, **env)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(20):
            line = await process.stdout.readline()
        url, token = line.decode().split()
        yield Program(process, url, token)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_ends_it_with_streams_and_calls_open_and_leaves_no_child(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with program(tmp_path) as running, running.client() as http:
        answer = await http.post(running.url, json=initialize())
        session = {"mcp-session-id": answer.headers["mcp-session-id"]}
        await http.post(running.url, json=call("echo", {"text": "x"}), headers=session)
        body, headers = modern(request("subscriptions/listen", {"notifications": {}}))
        stalled = asyncio.ensure_future(http.post(running.url, json=call("stall"), headers=session))
        async with (
            http.stream("GET", running.url, headers=session) as stream,
            http.stream("POST", running.url, json=body, headers=headers) as subscription,
        ):
            assert (stream.status_code, subscription.status_code) == (200, 200)
            children = children_of(running.process.pid)
            assert children
            began = time.monotonic()
            running.process.send_signal(number)
            async with asyncio.timeout(10):
                assert await running.process.wait() == 0
            assert time.monotonic() - began < 5
        await until_gone(children)
        stalled.cancel()
        assert running.process.stderr is not None
        assert b"Traceback" not in await running.process.stderr.read()


async def test_a_call_that_is_cut_off_by_the_end_does_not_hang_its_client(tmp_path: Path) -> None:
    async with program(tmp_path) as running, running.client() as http:
        body, headers = modern(call("stall"))
        stalled = asyncio.ensure_future(http.post(running.url, json=body, headers=headers))
        await until_true(lambda: len(children_of(running.process.pid)) > 0)
        running.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            await asyncio.wait({stalled})
            assert await running.process.wait() == 0
        stalled.exception()


async def test_host_and_port_say_where_it_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    async with program(tmp_path, "localhost", port) as running, running.client() as http:
        assert running.url == f"http://127.0.0.1:{port}/mcp"
        answer = await http.post(f"http://localhost:{port}/mcp", json=initialize())
        assert answer.status_code == 200


async def test_a_taken_port_is_said_and_ends_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = await start(tmp_path, "127.0.0.1", port)
        out, err = await process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert str(port).encode() in err
    assert b"`--port`" in err
    assert b"Traceback" not in err


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
async def test_other_machines_are_not_served_unless_that_is_allowed(
    tmp_path: Path, host: str
) -> None:
    process = await start(tmp_path, host)
    out, err = await process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert b"`--allow-remote`" in err


async def test_allowed_to_it_serves_every_address_but_no_other_name(tmp_path: Path) -> None:
    async with program(tmp_path, "0.0.0.0", 0, "allow-remote") as running:
        url, port = running.url, httpx2.URL(running.url).port
        async with running.client() as http:
            assert (await http.post(url, json=initialize())).status_code == 200
            foreign = await http.post(url, json=initialize(), headers={"host": f"evil:{port}"})
            assert foreign.status_code == 421


async def test_the_token_stays_the_same_from_run_to_run(tmp_path: Path) -> None:
    async with program(tmp_path) as first:
        token = first.token
    async with program(tmp_path) as second:
        assert second.token == token


async def test_the_token_may_come_from_the_environment(tmp_path: Path) -> None:
    async with program(tmp_path, SWITCHBOARD_TOKEN="given") as running:
        assert running.token == "given"
    assert not (tmp_path / "home" / "http-token").exists()


async def test_a_token_that_is_a_link_ends_it(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "http-token").symlink_to(tmp_path / "elsewhere")
    process = await start(tmp_path)
    _, err = await process.communicate()
    assert process.returncode == 1
    assert b"http-token" in err
    assert not (tmp_path / "elsewhere").exists()
