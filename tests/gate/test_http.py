"""The gate over HTTP: a session of 2025-11-25 can be trusted, a request of 2026-07-28 only once."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from cli.commands import report_of
from gate.ground import Gate
from gate.over_http import TOKEN, VERSIONS, Hesitant, Person, connected, write
from support.requirements import attack, requirement

OTHER_TOKEN = "a-token-for-another-server"


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
