"""Calls of clients over HTTP that leave, are impatient, or send the same again."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from receipts.ground import TIMED_OUT, Post, call, repeats
from support.endpoints import Endpoint, serving
from support.mcp_stdio import META, MODERN, Json, text_of
from support.processes import until_true

HANDSHAKES = ("2025-03-26", "2025-06-18", "2025-11-25")


class Web:
    """A client over HTTP, of either era."""

    def __init__(self, endpoint: Endpoint, http: httpx2.AsyncClient, version: str) -> None:
        self._url = endpoint.url
        self.http = http
        self._version = version
        self.count = 0

    async def hello(self, name: str = "web") -> None:
        about: Json = {"protocolVersion": self._version, "capabilities": {}}
        params = {**about, "clientInfo": {"name": name, "version": "1"}}
        opened = await self.send("initialize", params)
        self.http.headers["mcp-session-id"] = opened.headers["mcp-session-id"]

    async def send(self, method: str, params: Json, **more: Any) -> httpx2.Response:
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params, **more}
        headers: dict[str, str] = {}
        if self._version == MODERN:
            meta = {
                META + "protocolVersion": MODERN,
                META + "clientInfo": {"name": "web", "version": "1"},
                META + "clientCapabilities": {},
            }
            message["params"] = {**params, "_meta": meta}
            headers = {
                "mcp-protocol-version": MODERN,
                "mcp-method": method,
                "mcp-name": params["name"],
            }
        return await self.http.post(self._url, json=message, headers=headers)

    async def result(self, params: Json) -> Json:
        """The result of a call, as a response or as the last event of one."""
        text = (await self.send("tools/call", params)).text
        events = [line for line in text.splitlines() if line.startswith("data: {")]
        result: Json = json.loads(events[-1].removeprefix("data: ") if events else text)["result"]
        return result

    async def leave(self, post: Post, tool: str = "post", text: str = "a") -> None:
        """Begin a call, and close the connection while it works."""
        begun = asyncio.ensure_future(self.send("tools/call", call(tool, text)))
        await until_true(lambda: f"{tool} {text}" in post.done, 60)
        begun.cancel()
        await asyncio.gather(begun, return_exceptions=True)


@asynccontextmanager
async def web(endpoint: Endpoint, version: str, name: str = "web") -> AsyncGenerator[Web]:
    async with endpoint.http(endpoint.token()) as http:
        client = Web(endpoint, http, version)
        if version != MODERN:
            await client.hello(name)
        yield client


@pytest.mark.parametrize("version", HANDSHAKES)
async def test_who_leaves_has_not_cancelled_and_finds_its_call_again(
    post: Post, version: str
) -> None:
    async with serving(post.workspace) as endpoint, web(endpoint, version) as client:
        await client.leave(post)
        # In the last of these the client could come back to the stream for a while.
        (known,) = await post.until_calls("working")
        again = asyncio.ensure_future(client.result(call()))
        await until_true(lambda: len(post.calls()) == 2, 60)
        post.answer()
        assert repeats(await again) == known.id
        assert repeats(await client.result(call())) == ""
    assert post.done == ["post a", "post a"]


@pytest.mark.parametrize("version", HANDSHAKES[:2])
async def test_what_is_done_after_it_left_is_kept_for_it(post: Post, version: str) -> None:
    async with serving(post.workspace) as endpoint, web(endpoint, version) as client:
        await client.leave(post)
        await until_true(lambda: post.calls()[0].given_up == "left", 60)
        post.answer()
        (known,) = await post.until_answers("kept")
        (kept,) = post.kept
        assert kept.stem == known.id
        assert "posted: a" in kept.read_text("utf-8")
        # Without a terminal it may be whoever has the token that would be shown it.
        assert (await post.type("result", known.id)).code != 0
        async with web(endpoint, version) as other:
            # Another session of the same client, while the first is there.
            assert repeats(await other.result(call())) == ""
        assert repeats(await client.result(call())) == known.id
        await until_true(lambda: post.kept == [], 60)
    assert post.done == ["post a", "post a"]


async def test_in_the_modern_era_who_leaves_has_cancelled(post: Post) -> None:
    async with serving(post.workspace) as endpoint, web(endpoint, MODERN) as client:
        await client.leave(post)
        await post.until_done("post a", "cancelled a")
        await post.until_calls("cancelled")
    assert post.kept == []


async def test_in_the_modern_era_a_repeat_keeps_the_first_going(post: Post) -> None:
    async with serving(post.workspace) as endpoint, web(endpoint, MODERN) as client:
        begun = asyncio.ensure_future(client.send("tools/call", call()))
        await post.until_done("post a")
        again = asyncio.ensure_future(client.result(call()))
        await until_true(lambda: len(post.calls()) == 2, 60)
        begun.cancel()
        await until_true(lambda: post.calls()[0].given_up == "cancelled", 60)
        post.answer()
        result = await again
        assert text_of(result).startswith("posted: a")
        assert repeats(result) == post.calls()[0].id
    assert post.done == ["post a"]


async def test_another_listener_or_token_is_another_client(post: Post) -> None:
    other_token = {"SWITCHBOARD_TOKEN": "another-token-that-is-long-enough-to-be-one"}
    async with (
        serving(post.workspace) as endpoint,
        serving(post.workspace, env=other_token) as other,
        web(endpoint, MODERN) as client,
    ):
        begun = asyncio.ensure_future(client.result(call()))
        await post.until_done("post a")
        async with other.http(other_token["SWITCHBOARD_TOKEN"]) as http:
            stranger = asyncio.ensure_future(Web(other, http, MODERN).result(call()))
            await post.until_done("post a", "post a")
            post.answer()
            assert repeats(await stranger) == ""
        assert repeats(await begun) == ""


async def test_a_session_that_its_client_ends_ends_what_it_left(post: Post) -> None:
    async with serving(post.workspace) as endpoint, web(endpoint, HANDSHAKES[0]) as client:
        await client.leave(post)
        await until_true(lambda: post.calls()[0].given_up == "left", 60)
        assert (await client.http.delete(endpoint.url)).status_code == 204
        await post.until_done("post a", "cancelled a")
    assert post.kept == []


async def test_a_cancellation_for_impatience_ends_the_response_and_not_the_work(
    post: Post,
) -> None:
    async with serving(post.workspace) as endpoint, web(endpoint, HANDSHAKES[2]) as client:
        begun = asyncio.ensure_future(client.send("tools/call", call()))
        await post.until_done("post a")
        number = client.count
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        params = {"requestId": number, "reason": TIMED_OUT}
        posted = await client.http.post(endpoint.url, json={**note, "params": params})
        assert posted.status_code == 202
        assert b'"result"' not in (await begun).content
        post.answer()
        (known,) = await post.until_answers("kept")
        assert known.given_up == "timed-out"
        assert repeats(await client.result(call())) == known.id
    assert post.done == ["post a"]


async def test_results_are_not_told_over_http(post: Post) -> None:
    post.answer()
    async with serving(post.workspace) as endpoint, web(endpoint, HANDSHAKES[0]) as client:
        await client.result(call())
        async with endpoint.control() as control:
            (known,) = (await control.ask("calls"))["calls"]
            refused = await control.post("result", id=known["id"])
            assert refused.status_code == 403
            assert "presence-unproven" in refused.text
