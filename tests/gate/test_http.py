"""The gate over HTTP: a session of 2025-11-25 can be trusted, a request of 2026-07-28 only once."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitResult

from cli.commands import report_of
from gate.ground import SUITE, Gate, call
from support.reading import read_it, reply
from support.requirements import attack, requirement

TOKEN = "a-token-for-tests-of-the-gate"
OTHER_TOKEN = "a-token-for-another-server"
MODES: Any = {"2025-11-25": "legacy", "2026-07-28": "2026-07-28"}
VERSIONS = pytest.mark.parametrize("version", list(MODES))


@asynccontextmanager
async def serving(gate: Gate, *, token: str = TOKEN) -> AsyncGenerator[str]:
    """Run `switchboard serve --http`, and give its address."""
    workspace = gate.workspace
    process = await asyncio.create_subprocess_exec(
        *workspace.command("serve", "--http", "--port", "0", "--json"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=workspace.root,
        env={**workspace.env, "SWITCHBOARD_TOKEN": token},
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            text = (await process.stdout.readuntil(b"\n}\n")).decode()
        yield report_of(text)["url"]
    finally:
        process.terminate()
        await process.communicate()


class Person:
    """Whoever sits in front of the client, and what they were offered."""

    def __init__(self, decision: str) -> None:
        self.decision = decision
        self.offered: list[list[str]] = []

    async def __call__(self, context: object, params: Any) -> ElicitResult:
        del context
        choice = params.requested_schema["properties"].get("remember", {"oneOf": []})
        self.offered.append([each["const"] for each in choice["oneOf"]])
        await read_it()
        return ElicitResult.model_validate(reply(self.decision))


class Hesitant(Person):
    """Whoever is asked and does not answer."""

    def __init__(self) -> None:
        super().__init__("")

    async def __call__(self, context: object, params: Any) -> ElicitResult:
        del context, params
        return await asyncio.get_running_loop().create_future()


@asynccontextmanager
async def connected(
    url: str, version: str, person: Person | None, *, token: str = TOKEN
) -> AsyncGenerator[Client]:
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=90) as http,
        Client(
            streamable_http_client(url, http_client=http),
            mode=MODES[version],
            elicitation_callback=person,
        ) as client,
    ):
        yield client


async def write(client: Client, text: str) -> CallToolResult:
    result = await client.call_tool(SUITE, call("write", text=text)["arguments"])
    assert isinstance(result, CallToolResult)
    return result


@requirement("S3.35", "S3.36", "S3.37")
@VERSIONS
async def test_session_trust_needs_a_session(gate: Gate, version: str) -> None:
    person = Person("allow_session")
    async with serving(gate) as url:
        async with connected(url, version, person) as client:
            results = [await write(client, text) for text in ("one", "two")]
        if version == "2025-11-25":
            assert [result.is_error for result in results] == [False, False]
            assert person.offered == [["once", "session", "always"]]
            assert gate.written == ["one", "two"]
        else:
            # What was not offered cannot be chosen.
            assert [result.is_error for result in results] == [True, True]
            assert person.offered == [[]] * 2
            assert gate.written == []
            person.decision = "allow_once"
            async with connected(url, version, person) as client:
                assert not (await write(client, "three")).is_error
            assert gate.written == ["three"]
        # Another client of the same server is asked for itself.
        person.decision = "deny"
        asked = len(person.offered)
        async with connected(url, version, person) as client:
            assert (await write(client, "four")).is_error
        assert len(person.offered) == asked + 1
    assert "four" not in gate.written


@VERSIONS
async def test_a_client_without_forms_is_answered_at_the_desk(gate: Gate, version: str) -> None:
    async with serving(gate) as url, connected(url, version, None) as client:
        waiting = asyncio.ensure_future(write(client, "held"))
        [entry] = await gate.waiting(meanwhile=waiting)
        if version == "2026-07-28":
            refused = await gate.type("approvals", "approve", entry["id"], "--session", "--yes")
            assert "it is answered once" in refused.err
        await gate.decide("approve")
        assert not (await waiting).is_error
        again = asyncio.ensure_future(write(client, "held"))
        await gate.waiting(meanwhile=again)
        await gate.decide("deny")
        assert (await again).is_error
    assert gate.written == ["held"]


@attack("PB3", "H37")
async def test_what_was_agreed_to_at_one_server_is_of_no_use_at_another(gate: Gate) -> None:
    """Somebody with a token of another server in this folder would use up what a person gave."""
    version = "2026-07-28"
    async with (
        serving(gate) as url,
        serving(gate, token=OTHER_TOKEN) as other,
        connected(url, version, Hesitant()) as client,
        connected(other, version, Hesitant(), token=OTHER_TOKEN) as stranger,
    ):
        waiting = asyncio.ensure_future(write(client, "held"))
        [entry] = await gate.waiting(meanwhile=waiting)
        same = asyncio.ensure_future(write(stranger, "held"))
        listed = await gate.waiting(2, meanwhile=same)
        # It is a question of its own, not one that both wait for.
        [another] = [each["id"] for each in listed if each["id"] != entry["id"]]
        done = await gate.type("approvals", "approve", entry["id"], "--yes")
        assert done.code == 0, done.err
        assert [each["id"] for each in await gate.waiting()] == [another]
        await gate.decide("deny")
        async with asyncio.timeout(60):
            while not gate.written:  # noqa: ASYNC110 - a file of another process
                await asyncio.sleep(0.05)
        waiting.cancel()
        same.cancel()
        await asyncio.wait((waiting, same))
    assert gate.written == ["held"]
