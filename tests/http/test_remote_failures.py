"""Everything that can go wrong between us and a server over HTTP, and what a call then says."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from edges.children import remote_child
from edges.scripted import Asked, Json, Told, error, handshake, result, scripted

from support.processes import until_true
from switchboard.children.child import Limits
from switchboard.core.events import ChildExited
from switchboard.core.faults import Fault, FaultCode
from switchboard.wire.frames import MAX_MESSAGE_BYTES

SECRET = "s3cr3t-of-the-header"
EVENTS = {"content-type": "text/event-stream"}


async def fault_of(url: str, **more: Any) -> Fault:
    async with remote_child(url, **more) as remote:
        with pytest.raises(Fault) as caught:
            await remote.call("echo", text="x")
        seen = f"{remote.events} {caught.value.message} {caught.value.hint} {caught.value.details}"
        assert SECRET not in seen
        return caught.value


@pytest.mark.parametrize(
    ("status", "headers", "reason"),
    [
        (401, {}, "login-required"),
        (401, {"Authorization": f"Bearer {SECRET}"}, "token-refused"),
        (403, {"Authorization": f"Bearer {SECRET}"}, "token-refused"),
    ],
)
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_server_that_wants_a_login(
    status: int, headers: dict[str, str], reason: str, transport: str
) -> None:
    async with scripted(lambda _: Told(status, b"no")) as server:
        fault = await fault_of(server.url, transport=transport, headers=headers)
        assert (fault.code, fault.reason) == (FaultCode.UNAUTHENTICATED, reason)
        assert len(server.asked) == 1
        assert server.asked[0].headers.get("authorization") == headers.get("Authorization")


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_port_where_nobody_listens(transport: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    fault = await fault_of(f"http://127.0.0.1:{port}/mcp", transport=transport)
    assert (fault.code, fault.reason) == (FaultCode.UNAVAILABLE, "remote-unreachable")
    assert "127.0.0.1" in fault.message


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_host_that_does_not_exist(transport: str) -> None:
    url = f"http://user:{SECRET}@nowhere.invalid/mcp?key={SECRET}"
    fault = await fault_of(url, transport=transport)
    assert (fault.code, fault.reason) == (FaultCode.UNAVAILABLE, "remote-unreachable")
    assert "nowhere.invalid" in fault.message


async def test_a_server_without_tls_where_tls_is_expected() -> None:
    async def speak_plainly(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(speak_plainly, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        fault = await fault_of(f"https://127.0.0.1:{port}/mcp")
        server.close()
    assert (fault.code, fault.reason) == (FaultCode.UNAVAILABLE, "remote-unreachable")
    assert "TLS" in fault.message


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_origin_is_not_followed(status: int) -> None:
    async with scripted(lambda asked: handshake(asked) or Told(500)) as other:
        moved = Told(status, b"", {"location": other.url})
        async with scripted(lambda _: moved) as server:
            headers = {"Authorization": f"Bearer {SECRET}"}
            fault = await fault_of(server.url, headers=headers)
        assert (fault.code, fault.reason) == (FaultCode.UNAVAILABLE, "remote-redirected")
        assert other.asked == []


async def test_a_redirect_within_the_origin_is_followed() -> None:
    def move(asked: Asked) -> Told:
        if asked.path == "/mcp":
            return Told(307, b"", {"location": "/mcp/"})
        return handshake(asked) or result(asked, {"content": []})

    async with scripted(move) as server, remote_child(server.url) as remote:
        assert await remote.call("echo") == {"content": []}


async def test_a_circle_of_redirects_ends() -> None:
    async with scripted(lambda _: Told(307, b"", {"location": "/mcp"})) as server:
        fault = await fault_of(server.url)
    assert fault.reason == "remote-redirected"


@pytest.mark.parametrize(
    "answer",
    [
        Told(404, b"not here"),
        Told(500, b"<html>oops</html>", {"content-type": "text/html"}),
        Told(200, b"<html>hello</html>", {"content-type": "text/html"}),
        Told(200, b"junk", {"content-type": "application/json"}),
        Told(200, b'{"jsonrpc":"2.0","id":999,"result":{}}', {"content-type": "application/json"}),
        Told(202),
        Told(400, b'{"error":"bad"}', {"content-type": "application/json"}),
    ],
)
async def test_a_page_that_is_no_server(answer: Told) -> None:
    """Neither era gets an answer that makes sense; each is asked once."""
    async with scripted(lambda _: answer) as server:
        fault = await fault_of(server.url)
        assert fault.code in {FaultCode.INTERNAL, FaultCode.UNIMPLEMENTED}
        assert [asked.rpc for asked in server.asked] == ["server/discover", "initialize"]


async def test_a_gateway_that_finds_nobody() -> None:
    async with scripted(lambda _: Told(503, b"later")) as server:
        fault = await fault_of(server.url)
    assert (fault.code, fault.reason) == (FaultCode.UNAVAILABLE, "remote-unreachable")


async def test_an_error_of_the_protocol_keeps_its_words_whatever_the_status() -> None:
    def answer(asked: Asked) -> Told:
        return handshake(asked) or error(asked, -32602, "no such thing", 400)

    async with scripted(answer) as server:
        fault = await fault_of(server.url)
    assert (fault.code, fault.reason) == (FaultCode.INVALID_ARGUMENT, "child-rejected")
    assert "no such thing" in fault.message


async def test_a_secret_header_that_a_server_repeats_is_not_passed_on() -> None:
    def answer(asked: Asked) -> Told:
        return handshake(asked) or error(asked, -32000, f"bad key {asked.headers['x-key']}")

    async with scripted(answer) as server:
        fault = await fault_of(server.url, headers={"X-Key": SECRET})
    assert SECRET not in fault.message


async def test_headers_follow_from_what_was_agreed_on() -> None:
    def answer(asked: Asked) -> Told:
        told = handshake(asked, **{"mcp-session-id": "the-session"})
        return told or result(asked, {"content": []})

    async with scripted(answer) as server:
        async with remote_child(server.url, headers={"X-Key": SECRET}) as remote:
            await remote.call("echo")
        probe = server.said("server/discover")[0].headers
        assert (probe["mcp-protocol-version"], probe["mcp-method"]) == (
            "2026-07-28",
            "server/discover",
        )
        first = server.said("initialize")[0].headers
        assert "mcp-protocol-version" not in first
        assert "mcp-session-id" not in first
        then = server.said("tools/call")[0].headers
        assert (then["mcp-protocol-version"], then["mcp-session-id"]) == (
            "2025-06-18",
            "the-session",
        )
        last = server.asked[-1]
        assert (last.method, last.headers["mcp-session-id"]) == ("DELETE", "the-session")
        assert {asked.headers["x-key"] for asked in server.asked} == {SECRET}
        order = [asked.rpc for asked in server.asked if asked.rpc]
        assert order.index("notifications/initialized") < order.index("tools/call")


@pytest.mark.parametrize("name", ["echo", "größer", " blank", "=?base64?x?="])
async def test_the_name_of_a_tool_is_repeated_in_a_header(name: str) -> None:
    def answer(asked: Asked) -> Told:
        if asked.rpc == "server/discover":
            found: Json = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
            return result(asked, {**found, "resultType": "complete"})
        return result(asked, {"content": [], "resultType": "complete"})

    async with scripted(answer) as server, remote_child(server.url) as remote:
        await remote.call(name)
        sent = server.said("tools/call")[0].headers
        assert sent["mcp-method"] == "tools/call"
        assert sent["mcp-name"] == name if name == "echo" else sent["mcp-name"].startswith("=?")
        assert "mcp-session-id" not in sent


@pytest.mark.parametrize("status", [404, 400])
async def test_a_session_that_ended_is_replaced_on_the_next_call(status: int) -> None:
    calls = 0

    def answer(asked: Asked) -> Told:
        nonlocal calls
        if asked.rpc == "tools/call":
            calls += 1
            if calls == 1:
                return error(asked, -32000, "Bad Request: No valid session ID provided", status)
        return handshake(asked, **{"mcp-session-id": "s"}) or result(asked, {"content": []})

    async with scripted(answer) as server, remote_child(server.url) as remote:
        with pytest.raises(Fault) as caught:
            await remote.call("echo")
        assert (caught.value.code, caught.value.reason) == (FaultCode.UNAVAILABLE, "child-exited")
        assert "ended the session" in caught.value.message
        assert await remote.call("echo") == {"content": []}
        assert len(server.said("initialize")) == 2
        assert [e.reason for e in remote.events if isinstance(e, ChildExited)]


async def test_a_message_that_is_too_large_fails_its_own_call_only() -> None:
    def answer(asked: Asked) -> Told:
        if asked.rpc == "tools/call" and b"huge" in asked.body:
            huge = b'"' + b"x" * MAX_MESSAGE_BYTES + b'"'
            body = b"data: " + huge + b"\n\n" if b"stream" in asked.body else huge
            kind = "text/event-stream" if b"stream" in asked.body else "application/json"
            return Told(200, body, {"content-type": kind})
        return handshake(asked) or result(asked, {"content": []})

    async with scripted(answer) as server, remote_child(server.url) as remote:
        for how in ("json", "stream"):
            with pytest.raises(Fault) as caught:
                await remote.call("echo", how=how, size="huge")
            assert caught.value.reason == "message-too-large"
        assert await remote.call("echo") == {"content": []}
        assert len(server.said("initialize")) == 1


async def test_a_stream_that_ends_without_an_answer_is_an_error() -> None:
    def answer(asked: Asked) -> Told:
        return handshake(asked) or Told(200, b": nothing\n\n", EVENTS)

    async with scripted(answer) as server:
        fault = await fault_of(server.url)
    assert (fault.code, fault.reason) == (FaultCode.INTERNAL, "child-error")


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


async def test_a_connection_that_breaks_fails_the_call_and_not_the_next() -> None:
    broken = False

    async def nothing() -> AsyncIterator[bytes]:
        return
        yield

    def answer(asked: Asked) -> Told:
        nonlocal broken
        if asked.rpc == "tools/call" and not broken:
            broken = True
            headers = {"content-type": "application/json", "content-length": "100"}
            return Told(200, nothing(), headers)
        return handshake(asked) or result(asked, {"content": []})

    async with scripted(answer) as server, remote_child(server.url) as remote:
        with pytest.raises(Fault) as caught:
            await remote.call("echo")
        assert (caught.value.code, caught.value.reason) == (
            FaultCode.UNAVAILABLE,
            "remote-unreachable",
        )
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
        limits = Limits(spawn_s=0.3, rpc_s=1)
        fault = await fault_of(server.url, transport="sse", limits=limits)
    assert (fault.code, fault.reason) == (FaultCode.DEADLINE_EXCEEDED, "child-start-timeout")


async def test_proxies_have_no_part_in_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    async with (
        scripted(lambda asked: handshake(asked) or result(asked, {"content": []})) as server,
        remote_child(server.url) as remote,
    ):
        assert await remote.call("echo") == {"content": []}


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


async def test_a_body_that_cannot_be_unpacked_fails_its_call() -> None:
    def answer(asked: Asked) -> Told:
        headers = {"content-type": "application/json", "content-encoding": "gzip"}
        return handshake(asked) or Told(200, b"not gzip", headers)

    async with scripted(answer) as server:
        fault = await fault_of(server.url)
    assert fault.code is FaultCode.UNAVAILABLE


@pytest.mark.parametrize("value", [f"{SECRET}\nevil: 1", f"{SECRET} ü"])
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_header_that_http_cannot_carry_is_said_without_its_value(
    value: str, transport: str
) -> None:
    async with scripted(lambda _: Told(500)) as server:
        fault = await fault_of(server.url, transport=transport, headers={"X-Key": value})
        assert fault.code in {FaultCode.UNAVAILABLE, FaultCode.FAILED_PRECONDITION}
        assert "header" in fault.message
        assert server.asked == []


async def test_an_address_that_is_none_is_said() -> None:
    fault = await fault_of("http://somewhere:port/mcp")
    assert (fault.code, fault.reason) == (FaultCode.FAILED_PRECONDITION, "remote-entry-invalid")


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
    monkeypatch.setattr("switchboard.children.remote_streamable.PAUSE_S", 0.05)
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
