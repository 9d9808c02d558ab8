"""Remote servers that are there and say nothing, or are gone: bounded time, and then as before."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from support.logging_in import Ended, ran
from support.remotes import everything_running
from support.workspace import Workspace

pytestmark = pytest.mark.timeout(120)
LIMIT_S = 1.5
HELLO = '{"message": "hello"}'
# Far more than it takes, and far less than it would take if nobody limited it.
BOUND_S = 20.0


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace(tmp_path, daemon=True)
    yield made
    made.stop_daemon()


class Relay:
    """A way to a server that can lose what travels on it, without a word to either end."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.loses = False
        self._ends: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", self._port)
        self._ends += [writer, there[1]]
        # Whoever breaks a connection off need not be polite.
        with suppress(OSError):
            await asyncio.gather(self._pass(reader, there[1]), self._pass(there[0], writer))
        for end in (writer, there[1]):
            end.close()

    def hang_up(self) -> None:
        for end in self._ends:
            end.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_lost = False
        while data := await reader.read(65_536):
            # Once lost, always lost: only another connection leads there again.
            is_lost = is_lost or self.loses
            if not is_lost:
                writer.write(data)
                await writer.drain()
        if not is_lost:
            writer.close()


@asynccontextmanager
async def relayed(port: int) -> AsyncGenerator[tuple[Relay, str]]:
    relay = Relay(port)
    server = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
    try:
        yield relay, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()
        relay.hang_up()


async def called(workspace: Workspace) -> Ended:
    began = time.monotonic()
    done = await ran(workspace, "call", "far", "echo", "--args", HELLO, "--json")
    assert time.monotonic() - began < BOUND_S
    return done


async def told(workspace: Workspace) -> dict[str, object]:
    """What `status` says of the server, soon."""
    began = time.monotonic()
    status = json.loads((await ran(workspace, "status", "--json")).stdout)
    assert time.monotonic() - began < BOUND_S
    (child,) = status["daemon"]["children"]
    return child


async def test_a_server_that_is_stopped_lost_or_gone_costs_one_call(workspace: Workspace) -> None:
    async with everything_running() as running:
        async with relayed(running.port) as (relay, url):
            workspace.mcp_json({"far": {"url": url, "rpc_timeout_ms": int(LIMIT_S * 1000)}})
            assert "Echo: hello" in (await called(workspace)).stdout

            # Its process is stopped: the kernel still takes what is sent, and nobody reads it.
            os.kill(running.pid, signal.SIGSTOP)
            try:
                stopped = json.loads((await called(workspace)).stdout)
                async with asyncio.timeout(BOUND_S):
                    # What it last said still counts for a few seconds.
                    while (child := await told(workspace))["is_running"]:  # noqa: ASYNC110 - nobody tells
                        await asyncio.sleep(0.5)
            finally:
                os.kill(running.pid, signal.SIGCONT)
            assert stopped["code"] == "deadline_exceeded"
            assert child["last_error"] == "it does not answer"
            assert "Echo: hello" in (await called(workspace)).stdout

            # The connection leads nowhere any more, and neither end was told.
            relay.loses = True
            lost = json.loads((await called(workspace)).stdout)
            assert lost["code"] == "deadline_exceeded"
            relay.loses = False
            assert "Echo: hello" in (await called(workspace)).stdout
            assert (await told(workspace))["is_running"] is True
        # Nobody listens any more. Its limit ends the call before our patience does.
        gone = json.loads((await called(workspace)).stdout)
        assert gone["code"] in {"deadline_exceeded", "unavailable"}
        child = await told(workspace)
        assert child["is_running"] is False
        assert child["last_error"]
        assert "not running" in (await ran(workspace, "status")).stdout
