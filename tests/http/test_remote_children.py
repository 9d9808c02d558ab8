"""Real servers as children over HTTP: the Python SDK and the TypeScript reference server."""

import asyncio
import json
import os
import socket
from pathlib import Path

import pytest
from edges.board import TOKEN, Served, echo_entry, settings_of
from edges.children import Remote, everything, remote_child, sdk_server
from msgspec import Raw

from support.requirements import requirement
from switchboard.children.schema import ServerEntry
from switchboard.core.bus import EventBus
from switchboard.core.calls.call import Call
from switchboard.core.events import ChildStarted
from switchboard.core.sessions import Session
from switchboard.daemon.board.runtime import Runtime, running

ENVIRON = {"PATH": os.environ["PATH"]}

KINDS = [
    ("streamable", "auto", "2026-07-28"),
    ("streamable", "handshake", "2025-11-25"),
    ("json", "auto", "2026-07-28"),
    ("json", "handshake", "2025-11-25"),
    ("stateless", "auto", "2026-07-28"),
    ("stateless", "handshake", "2025-11-25"),
    ("sse", "auto", "2025-11-25"),
]
REAL = pytest.mark.parametrize(("kind", "protocol", "spoken"), KINDS)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def protocol_of(remote: Remote) -> str:
    return next(event.protocol for event in remote.events if isinstance(event, ChildStarted))


@REAL
async def test_a_server_of_the_python_sdk_is_a_child(kind: str, protocol: str, spoken: str) -> None:
    transport = "sse" if kind == "sse" else "http"
    async with (
        sdk_server(kind) as url,
        remote_child(url, transport=transport, protocol=protocol) as remote,
    ):
        assert "echo" in await remote.tools()
        assert protocol_of(remote) == spoken
        assert await remote.text("echo", text="hä") == "echo: hä"
        assert await remote.text("progress") == "done"
        texts = await asyncio.gather(*(remote.text("echo", text=str(n)) for n in range(30)))
        assert texts == [f"echo: {n}" for n in range(30)]
        assert len(await remote.text("big", size=4_000_000)) == 4_000_000


@pytest.mark.parametrize(
    ("kind", "protocol"), [("streamable", "auto"), ("streamable", "handshake"), ("sse", "auto")]
)
async def test_a_cancelled_call_is_cancelled_over_there(kind: str, protocol: str) -> None:
    transport = "sse" if kind == "sse" else "http"
    async with (
        sdk_server(kind) as url,
        remote_child(url, transport=transport, protocol=protocol) as remote,
    ):
        await remote.tools()
        stalled = asyncio.ensure_future(remote.call("stall", name="mine"))
        other = asyncio.ensure_future(remote.call("stall", name="other"))
        await asyncio.sleep(0.5)
        stalled.cancel()
        async with asyncio.timeout(10):
            # The server tells what it has seen only when it is asked.
            while (await remote.call("cancellations"))["content"] == []:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert await remote.text("cancellations") == "mine"
        other.cancel()


@pytest.mark.parametrize(("kind", "protocol"), [("streamable", "handshake"), ("sse", "auto")])
async def test_a_change_of_its_tools_is_heard(kind: str, protocol: str) -> None:
    transport = "sse" if kind == "sse" else "http"
    async with (
        sdk_server(kind) as url,
        remote_child(url, transport=transport, protocol=protocol) as remote,
    ):
        before = await remote.tools()
        await remote.call("grow")
        async with asyncio.timeout(10):
            await remote.changed.wait()
        assert len(await remote.tools()) == len(before) + 1


@pytest.mark.parametrize(("kind", "transport"), [("streamableHttp", "http"), ("sse", "sse")])
async def test_the_reference_server_is_a_child(kind: str, transport: str) -> None:
    async with (
        everything(kind, free_port()) as url,
        remote_child(url, transport=transport) as remote,
    ):
        assert "echo" in await remote.tools()
        assert await remote.text("echo", message="hä") == "Echo: hä"


@pytest.mark.parametrize("kind", ["streamableHttp", "sse"])
async def test_a_server_that_was_started_anew_is_found_again(kind: str) -> None:
    """The session is gone with the old one, and nobody notices."""
    port = free_port()
    transport = "sse" if kind == "sse" else "http"
    url = f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"
    async with remote_child(url, transport=transport) as remote:
        async with everything(kind, port):
            assert await remote.text("echo", message="a") == "Echo: a"
        async with everything(kind, port):
            assert await remote.text("echo", message="b") == "Echo: b"
        assert sum(isinstance(event, ChildStarted) for event in remote.events) == 2


async def test_arguments_that_a_server_wants_in_headers_are_repeated_there() -> None:
    async with sdk_server("streamable") as url, remote_child(url) as remote:
        # The first call is made before anybody has seen the tools.
        assert await remote.text("route", region="größer", urgent=True) == "größer True"
        assert await remote.text("route", region="eu") == "eu False"


@pytest.mark.parametrize("protocol", ["handshake", "modern"])
async def test_switchboard_is_a_child_of_switchboard(served: Served, protocol: str) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with remote_child(served.url, protocol=protocol, headers=headers) as remote:
        assert await remote.tools() == ["echo"]
        arguments = {"action": "call", "subtool": "echo", "args": {"text": "x"}}
        assert await remote.text("echo", **arguments) == "echo: x"
        folder = served.folder
        both = (echo_entry(folder), echo_entry(folder, "second"))
        # The stream for news opens behind the first answer.
        async with asyncio.timeout(10):
            while not remote.changed.is_set():
                served.runtime.adopt(settings_of(folder, *both[:1]))
                served.runtime.adopt(settings_of(folder, *both))
                await asyncio.sleep(0.1)
        assert await remote.tools() == ["echo", "second"]


@requirement("S2.107")
async def test_children_over_stdio_and_http_serve_side_by_side(tmp_path: Path) -> None:
    """A third transport, WebSocket, is a plan of the seed; what `transport` may say is closed."""
    async with sdk_server("streamable") as url:
        remote = ServerEntry(name="far", transport="http", url=url)
        settings = settings_of(tmp_path, echo_entry(tmp_path, "near"), remote)
        async with running(settings, environ=ENVIRON, events=EventBus()) as runtime:
            near, far = await asyncio.gather(
                call_suite(runtime, "near", "echo", {"text": "1"}),
                call_suite(runtime, "far", "echo", {"text": "2"}),
            )
    assert (b"1" in near, b"echo: 2" in far) == (True, True)


async def call_suite(runtime: Runtime, suite: str, subtool: str, args: dict[str, str]) -> bytes:
    arguments = json.dumps({"action": "call", "subtool": subtool, "args": args}).encode()
    session = Session(id="s", via="test", workspace="/")
    with runtime.boards.lease() as board:
        tool = board.catalog.tools[suite]
        call = Call(id="c", session=session, tool=tool, arguments=Raw(arguments))
        outcome = await board.pipeline(call)
    assert outcome.raw is not None
    return bytes(outcome.raw)
