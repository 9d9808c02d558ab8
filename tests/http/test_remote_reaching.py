"""Getting to a server over HTTP, and to no other: hosts, logins, redirects, proxies."""

import asyncio
import socket

import pytest
from edges.children import remote_child
from edges.failures import SECRET, fault_of
from edges.scripted import Asked, Told, handshake, result, scripted

from support.requirements import attack, requirement
from switchboard.core.faults import FaultCode


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


@requirement("S3.55")
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_what_a_refusal_says_is_for_the_user_alone(transport: str) -> None:
    said = f'Bearer error="invalid_token", error_description="{SECRET} is \\"over\\""'
    refusal = Told(401, b"no", {"www-authenticate": said})
    async with scripted(lambda _: refusal) as server:
        headers = {"Authorization": f"Bearer {SECRET}"}
        fault = await fault_of(server.url, transport=transport, headers=headers)
    assert "over" not in f"{fault.message} {fault.hint} {fault.details}"
    assert fault.details_for_owner == {"server": '[redacted] is "over"'}


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_port_where_nobody_listens(transport: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    fault = await fault_of(f"http://127.0.0.1:{port}/mcp", transport=transport)
    assert (fault.code, fault.reason) == (FaultCode.UNAVAILABLE, "remote-unreachable")
    assert f"127.0.0.1:{port}" in fault.message
    assert str(port) in fault.hint


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
@attack("X1")
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


async def test_a_gateway_that_finds_nobody() -> None:
    async with scripted(lambda _: Told(503, b"later")) as server:
        fault = await fault_of(server.url)
    assert (fault.code, fault.reason) == (FaultCode.UNAVAILABLE, "remote-unreachable")


async def test_proxies_have_no_part_in_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    async with (
        scripted(lambda asked: handshake(asked) or result(asked, {"content": []})) as server,
        remote_child(server.url) as remote,
    ):
        assert await remote.call("echo") == {"content": []}


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
