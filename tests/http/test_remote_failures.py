"""What a server over HTTP can answer that is no answer, and what a call then says."""

from collections.abc import AsyncIterator

import pytest
from edges.children import remote_child
from edges.failures import SECRET, fault_of
from edges.scripted import Asked, Json, Told, error, handshake, result, scripted

from switchboard.core.events import ChildExited
from switchboard.core.faults import Fault, FaultCode
from switchboard.wire.frames import MAX_MESSAGE_BYTES


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
async def test_a_session_that_ended_is_replaced_and_the_call_made_in_it(status: int) -> None:
    calls = 0

    def answer(asked: Asked) -> Told:
        nonlocal calls
        if asked.rpc == "tools/call":
            calls += 1
            if calls == 1:
                return error(asked, -32000, "Bad Request: No valid session ID provided", status)
        return handshake(asked, **{"mcp-session-id": "s"}) or result(asked, {"content": []})

    async with scripted(answer) as server, remote_child(server.url) as remote:
        assert await remote.call("echo") == {"content": []}
        assert len(server.said("tools/call")) == 2
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
            "call-interrupted",
        )
        assert await remote.call("echo") == {"content": []}


async def test_a_body_that_cannot_be_unpacked_fails_its_call() -> None:
    def answer(asked: Asked) -> Told:
        headers = {"content-type": "application/json", "content-encoding": "gzip"}
        return handshake(asked) or Told(200, b"not gzip", headers)

    async with scripted(answer) as server:
        fault = await fault_of(server.url)
    assert fault.code is FaultCode.UNAVAILABLE
