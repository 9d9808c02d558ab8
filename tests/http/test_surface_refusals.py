"""What the HTTP surface refuses, each with the right status, before any call is made."""

import asyncio
import json
from urllib.parse import urlsplit

import pytest
from edges.board import MODERN, TOKEN, Served, call, initialize, modern, request

from switchboard.wire.frames import MAX_MESSAGE_BYTES


async def raw(board: Served, head: str, body: bytes = b"") -> bytes:
    """Send bytes as they are, and read until the server has nothing more to say."""
    port = urlsplit(board.url).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [*head.replace("PORT", str(port)).strip().splitlines(), f"content-length: {len(body)}"]
    writer.write(("\r\n".join(line.strip() for line in lines) + "\r\n\r\n").encode() + body)
    await writer.drain()
    async with asyncio.timeout(10):
        answer = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    return answer


def status(answer: bytes) -> int:
    return int(answer.split()[1])


HEAD = f"""
    POST /mcp HTTP/1.1
    authorization: Bearer {TOKEN}
    content-type: application/json
    accept: application/json, text/event-stream
"""


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN],
)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS"])
async def test_a_token_is_always_required(served: Served, authorization: str, method: str) -> None:
    async with served.client(authorization=authorization) as http:
        response = await http.request(method, served.url, content=json.dumps(initialize()))
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert "mcp-session-id" not in response.headers


async def test_a_missing_token_is_refused(served: Served) -> None:
    async with served.client() as http:
        del http.headers["authorization"]
        assert (await http.post(served.url, json=initialize())).status_code == 401


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:PORT",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.example:PORT",
    ],
)
async def test_a_foreign_host_is_refused(served: Served, host: str) -> None:
    answer = await raw(served, HEAD + f"host: {host}", json.dumps(initialize()).encode())
    assert status(answer) == 421


@pytest.mark.parametrize("host", ["127.0.0.1:PORT", "localhost:PORT", "[::1]:PORT"])
async def test_our_own_names_are_welcome(served: Served, host: str) -> None:
    answer = await raw(served, HEAD + f"host: {host}", json.dumps(initialize()).encode())
    assert status(answer) == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost:1",
        "https://127.0.0.1:PORT",
        "http://127.0.0.1:PORT.evil.example",
        "file://",
    ],
)
async def test_a_foreign_origin_is_refused(served: Served, origin: str) -> None:
    port = str(urlsplit(served.url).port)
    async with served.client(origin=origin.replace("PORT", port)) as http:
        response = await http.post(served.url, json=initialize())
    assert response.status_code == 403
    assert not [name for name in response.headers if name.startswith("access-control")]


async def test_our_own_origin_is_welcome(served: Served) -> None:
    async with served.client(origin=served.url.removesuffix("/mcp")) as http:
        response = await http.post(served.url, json=initialize())
    assert response.status_code == 200
    assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "line",
    [
        f"authorization: Bearer {TOKEN}",
        "origin: http://127.0.0.1:PORT\norigin: http://127.0.0.1:PORT",
        "content-type: application/json",
        "mcp-session-id: a\nmcp-session-id: b",
        "host: localhost:PORT",
    ],
)
async def test_a_header_that_counts_may_not_appear_twice(served: Served, line: str) -> None:
    head = HEAD + "host: 127.0.0.1:PORT\n" + line
    answer = await raw(served, head, json.dumps(initialize()).encode())
    assert status(answer) == 400


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_only_json_is_taken(served: Served, kind: str) -> None:
    async with served.client(**{"content-type": kind}) as http:
        response = await http.post(served.url, content=json.dumps(initialize()))
    assert response.status_code == 415


async def test_a_client_must_take_json(served: Served) -> None:
    async with served.client(accept="text/html") as http:
        assert (await http.post(served.url, json=initialize())).status_code == 406


async def test_a_huge_body_is_refused_whether_it_is_announced_or_not(served: Served) -> None:
    huge = b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * MAX_MESSAGE_BYTES + b'"}'

    async def pieces():  # noqa: ANN202 - an async generator
        for start in range(0, len(huge), 1 << 20):
            yield huge[start : start + (1 << 20)]

    async with served.client() as http:
        assert (await http.post(served.url, content=huge)).status_code == 413
        assert (await http.post(served.url, content=pieces())).status_code == 413
        assert (await http.post(served.url, json=initialize())).status_code == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"junk", -32700),
        (b'{"jsonrpc":', -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32600),
        (b"17", -32600),
        (b"{}", -32600),
        (b'{"id":[1],"method":"ping"}', -32600),
        (b'{"id":null,"method":"initialize"}', -32600),
    ],
)
@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_junk_is_refused(served: Served, body: bytes, code: int, era: str) -> None:
    async with served.client() as http:
        if era == "modern":
            http.headers["mcp-protocol-version"] = MODERN
        else:
            await served.session(http)
            if b"initialize" in body:
                del http.headers["mcp-session-id"]
        response = await http.post(served.url, content=body)
    assert response.status_code == 400
    error = response.json()
    assert error["id"] is None
    assert error["error"]["code"] in {code, -32600}


async def test_a_request_without_a_session_is_refused(served: Served) -> None:
    async with served.client() as http:
        for response in (
            await http.post(served.url, json=request("tools/list")),
            await http.get(served.url),
            await http.delete(served.url),
        ):
            assert response.status_code == 400


async def test_an_unknown_session_is_not_found(served: Served) -> None:
    async with served.client(**{"mcp-session-id": "guessed"}) as http:
        for response in (
            await http.post(served.url, json=request("tools/list")),
            await http.post(served.url, json=initialize()),
            await http.get(served.url),
            await http.delete(served.url),
        ):
            assert response.status_code == 404


async def test_an_unknown_version_is_refused_within_a_session(served: Served) -> None:
    async with served.client() as http:
        await served.session(http)
        http.headers["mcp-protocol-version"] = "1999-01-01"
        response = await http.post(served.url, json=request("tools/list"))
    assert response.status_code == 400


async def test_other_paths_and_methods_are_not_there(served: Served) -> None:
    async with served.client() as http:
        assert (await http.get(served.url + "/other")).status_code == 404
        response = await http.put(served.url, json={})
        assert response.status_code == 405
        assert response.headers["allow"] == "GET, POST, DELETE"
        http.headers["mcp-protocol-version"] = MODERN
        response = await http.get(served.url)
        assert (response.status_code, response.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"mcp-protocol-version": "2099-01-01"}, -32020),
        ({"mcp-method": "tools/list"}, -32020),
        ({"mcp-method": ""}, -32020),
        ({"mcp-name": "other"}, -32020),
        ({"mcp-name": "=?base64?broken!?="}, -32020),
    ],
)
async def test_headers_that_contradict_the_body_are_refused(
    served: Served, change: dict[str, str], code: int
) -> None:
    body, headers = modern(call("echo", {"text": "x"}))
    async with served.client() as http:
        response = await http.post(served.url, json=body, headers=headers | change)
    assert response.status_code == 400
    assert (response.json()["id"], response.json()["error"]["code"]) == (1, code)


async def test_a_repeated_routing_header_is_refused(served: Served) -> None:
    body, headers = modern(request("tools/list"))
    head = HEAD + "host: 127.0.0.1:PORT\nmcp-method: tools/list\n"
    head += "\n".join(f"{name}: {value}" for name, value in headers.items())
    assert status(await raw(served, head, json.dumps(body).encode())) == 400


@pytest.mark.parametrize(
    ("body", "version", "expected"),
    [
        (request("tools/list"), "2099-01-01", (400, -32022)),
        (request("resources/burn"), MODERN, (404, -32601)),
        (request("initialize"), MODERN, (404, -32601)),
        (request("ping"), MODERN, (404, -32601)),
        (request("tools/call", {"name": "nobody"}), MODERN, (400, -32602)),
    ],
)
async def test_errors_of_the_modern_era_have_their_status(
    served: Served, body: dict[str, object], version: str, expected: tuple[int, int]
) -> None:
    dressed, headers = modern(body, version)
    async with served.client() as http:
        response = await http.post(served.url, json=dressed, headers=headers)
    assert (response.status_code, response.json()["error"]["code"]) == expected


async def test_a_modern_request_without_its_meta_is_refused(served: Served) -> None:
    async with served.client(**{"mcp-protocol-version": MODERN}) as http:
        response = await http.post(served.url, json=request("tools/list"))
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32602)


async def test_a_modern_body_without_its_headers_is_refused(served: Served) -> None:
    body, _ = modern(request("tools/list"))
    async with served.client() as http:
        response = await http.post(served.url, json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32020)


async def test_a_subscription_needs_a_client_that_takes_events(served: Served) -> None:
    body, headers = modern(request("subscriptions/listen", {"notifications": {}}))
    async with served.client(accept="application/json") as http:
        assert (await http.post(served.url, json=body, headers=headers)).status_code == 406


async def test_no_refusal_reaches_a_child(served: Served) -> None:
    """Whatever is refused costs nothing: the child was never started."""
    body, _ = modern(call("echo", {"text": "x"}))
    async with served.client() as http:
        await http.post(served.url, json=body)
        await http.post(served.url, json=call("echo"), headers={"authorization": "Bearer no"})
    assert not [event for event in served.events if type(event).__name__ == "ChildStarted"]


@pytest.mark.parametrize("body", [b"\xff", b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', b"[\xff]"])
async def test_a_body_that_is_no_text_is_refused(served: Served, body: bytes) -> None:
    answer = await raw(served, HEAD + "host: 127.0.0.1:PORT", body)
    assert status(answer) == 400
