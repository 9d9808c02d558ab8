"""Streams of a server over HTTP that break, keep silent or lead elsewhere."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from edges.children import remote_child
from edges.failures import EVENTS, fault_of
from edges.scripted import Asked, Json, Told, handshake, result, scripted

from support.processes import until_true
from support.requirements import attack
from switchboard.children.http.event_stream import PAUSE_S
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.core.faults import FaultCode


async def test_a_stream_that_ends_without_an_answer_is_an_error() -> None:
    def answer(asked: Asked) -> Told:
        return handshake(asked) or Told(200, b": nothing\n\n", EVENTS)

    async with scripted(answer) as server:
        fault = await fault_of(server.url)
    assert (fault.code, fault.reason) == (FaultCode.UNAVAILABLE, "call-interrupted")


async def test_a_stream_that_breaks_off_is_taken_up_where_it_ended() -> None:
    waiting: list[int] = []

    def answer(asked: Asked) -> Told:
        if asked.rpc == "tools/call":
            waiting.append(asked.message["id"])
            return Told(200, b"id: one\nretry: 1\ndata:\n\n", EVENTS)
        if asked.method == "GET" and asked.headers.get("last-event-id") == "one":
            body = b'data: {"id":%d,"result":{"content":[]}}\n\n' % waiting[0]
            return Told(200, body, EVENTS)
        told = handshake(asked, **{"mcp-session-id": "s"})
        assert told is not None
        return told

    async with scripted(answer) as server, remote_child(server.url) as remote:
        assert await remote.call("echo") == {"content": []}


async def test_cancelling_closes_the_answer_in_the_modern_era() -> None:
    async def silence() -> AsyncIterator[bytes]:
        yield b": wait\n\n"
        await asyncio.sleep(60)

    def answer(asked: Asked) -> Told:
        if asked.rpc == "server/discover":
            found: Json = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
            return result(asked, {**found, "resultType": "complete"})
        return Told(200, silence(), EVENTS)

    async with scripted(answer) as server, remote_child(server.url) as remote:
        stalled = asyncio.ensure_future(remote.call("echo"))
        await until_true(lambda: bool(server.said("tools/call")))
        async with asyncio.timeout(5):
            stalled.cancel()
            await server.hung_up.wait()
        assert server.said("notifications/cancelled") == []


async def test_an_sse_server_that_points_elsewhere_gets_nothing() -> None:
    async with scripted(lambda _: Told(202)) as other:
        body = f"event: endpoint\ndata: {other.url}\n\n".encode()
        async with scripted(lambda _: Told(200, body, EVENTS)) as server:
            fault = await fault_of(server.url, transport="sse")
        assert fault.reason == "remote-unreachable"
        assert other.asked == []


async def test_an_sse_server_that_names_no_address_is_given_up() -> None:
    async def silence() -> AsyncIterator[bytes]:
        yield b": wait\n\n"
        await asyncio.sleep(60)

    async with scripted(lambda _: Told(200, silence(), EVENTS)) as server:
        limits = ChildLimits(spawn_s=0.3, rpc_s=1)
        fault = await fault_of(server.url, transport="sse", limits=limits)
    assert (fault.code, fault.reason) == (FaultCode.DEADLINE_EXCEEDED, "child-start-timeout")


async def test_a_server_that_keeps_silent_to_a_notification_holds_nobody_up() -> None:
    async def silence() -> AsyncIterator[bytes]:
        yield b": wait\n\n"
        await asyncio.sleep(60)

    def answer(asked: Asked) -> Told:
        if asked.rpc == "notifications/initialized":
            return Told(200, silence(), EVENTS)
        return handshake(asked) or result(asked, {"content": []})

    async with scripted(answer) as server, remote_child(server.url) as remote:
        async with asyncio.timeout(5):
            assert await remote.call("echo") == {"content": []}


async def test_a_slow_post_does_not_hold_up_the_next_over_sse() -> None:
    out: asyncio.Queue[bytes] = asyncio.Queue()

    async def stream() -> AsyncIterator[bytes]:
        yield b"event: endpoint\ndata: /messages\n\n"
        while True:
            yield b"data: " + await out.get() + b"\n\n"

    async def never() -> AsyncIterator[bytes]:
        yield b""
        await asyncio.sleep(60)

    def answer(asked: Asked) -> Told:
        if asked.method == "GET":
            return Told(200, stream(), EVENTS)
        told = handshake(asked) or result(asked, {"content": []})
        if "id" in asked.message and b"slow" not in asked.body:
            assert isinstance(told.body, bytes)
            out.put_nowait(told.body.replace(b"\n", b""))
        return Told(200, never()) if b"slow" in asked.body else Told(202)

    async with scripted(answer) as server, remote_child(server.url, transport="sse") as remote:
        assert await remote.call("echo") == {"content": []}
        slow = asyncio.ensure_future(remote.call("echo", how="slow"))
        await until_true(lambda: any(b"slow" in asked.body for asked in server.asked))
        async with asyncio.timeout(5):
            assert await remote.call("echo") == {"content": []}
        slow.cancel()


@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_a_stream_of_news_that_breaks_is_opened_again(
    era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What changed while nobody listened is unknown, so the tools are listed anew."""
    monkeypatch.setattr("switchboard.children.http.streamable_pipe.PAUSE_S", 0.05)
    opened = 0

    def news(_: Asked) -> Told:
        nonlocal opened
        opened += 1
        return Told(200, b": nothing new\nretry: 50\n\n", EVENTS)

    def answer(asked: Asked) -> Told:
        if asked.method == "GET" or asked.rpc == "subscriptions/listen":
            return news(asked)
        if asked.rpc == "server/discover" and era == "modern":
            offers: Json = {"tools": {"listChanged": True}}
            found: Json = {"supportedVersions": ["2026-07-28"], "capabilities": offers}
            return result(asked, found)
        told = handshake(asked, **{"mcp-session-id": "s"})
        assert told is not None
        return told

    async with scripted(answer) as server, remote_child(server.url) as remote:
        await remote.tools()
        await until_true(lambda: opened >= 3)
        assert remote.changed.is_set()
        await remote.tools()
        assert len(server.said("tools/list")) == 2


@attack("X2")
async def test_a_stream_that_ends_at_once_does_not_make_us_ask_without_a_pause() -> None:
    """The server says `retry: 0` and closes, each time: some 500 requests a second otherwise."""
    opened = 0

    def answer(asked: Asked) -> Told:
        nonlocal opened
        if asked.method == "GET":
            opened += 1
            return Told(200, b"id: one\nretry: 0\ndata:\n\n", EVENTS)
        told = handshake(asked, **{"mcp-session-id": "s"})
        assert told is not None
        return told

    async with scripted(answer) as server, remote_child(server.url) as remote:
        await remote.tools()
        # By then it has heard how long to wait.
        await until_true(lambda: opened >= 2)
        began = time.monotonic()
        await until_true(lambda: opened >= 4)
        assert time.monotonic() - began >= PAUSE_S
