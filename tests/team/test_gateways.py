"""Gateways of a team behind round robin: any request may come to any of them."""

import asyncio
import signal
from collections import Counter
from pathlib import Path

import httpx2
import pytest

from cli.commands import switchboard
from gate.ground import CAPABILITIES, FORMS, SUITE, Gate, call
from gate.over_http import VERSIONS, Person, connected, write
from support.mcp_stdio import modern_meta
from support.postgres import Cluster
from support.processes import describe
from support.reading import read_it, reply
from switchboard.postgres.address import DatabaseAddress
from team.callers import ACCEPTS, initialize, request
from team.ground import TOKEN, gateway, http_client, team_of_two


@VERSIONS
async def test_calls_and_answers_find_their_way_whichever_gateway_they_come_to(
    gate: Gate, database: DatabaseAddress, tmp_path: Path, version: str
) -> None:
    person = Person("allow_once")
    async with team_of_two(gate, database, tmp_path / "nginx") as team:
        for round_ in range(2):
            async with connected(team.url, version, person, token=TOKEN) as client:
                texts = [f"{round_}-{number}" for number in range(4)]
                results = [await write(client, text) for text in texts]
                assert [result.is_error for result in results] == [False] * 4
        log = team.log()
        rows = [row async for row in log.read()]
        found = await log.verify()
        await log.aclose()
    assert gate.written == [f"{round_}-{number}" for round_ in range(2) for number in range(4)]
    assert (found.findings, found.segments) == ((), 2)
    assert len(rows) == found.records


@VERSIONS
async def test_when_a_gateway_is_killed_the_other_serves_and_only_what_was_its_own_is_lost(
    gate: Gate, database: DatabaseAddress, tmp_path: Path, version: str
) -> None:
    person = Person("allow_once")
    async with team_of_two(gate, database, tmp_path / "nginx") as team:
        async with connected(team.url, version, person, token=TOKEN) as client:
            assert not (await write(client, "before")).is_error
            team.gateways[0].process.send_signal(signal.SIGKILL)
            await team.gateways[0].process.wait()
            if version == "2026-07-28":
                # Nothing of it was that gateway's own.
                assert not (await write(client, "after")).is_error
        async with connected(team.url, version, person, token=TOKEN) as client:
            results = [await write(client, f"later-{number}") for number in range(3)]
            assert [result.is_error for result in results] == [False] * 3
        log = team.log()
        assert (await log.verify()).findings == ()
        await log.aclose()
    assert Counter(gate.written).most_common(1)[0][1] == 1
    assert gate.written[-3:] == ["later-0", "later-1", "later-2"]


async def test_a_session_of_a_killed_gateway_is_unknown_and_says_how_to_go_on(
    gate: Gate, database: DatabaseAddress, tmp_path: Path
) -> None:
    async with team_of_two(gate, database, tmp_path / "nginx") as team, http_client() as http:
        first, second = team.gateways
        begun = await http.post(first.url, json=initialize(), headers=ACCEPTS)
        session = {**ACCEPTS, "mcp-session-id": begun.headers["mcp-session-id"]}
        listed = await http.post(second.url, json=request("tools/list", {}), headers=session)
        assert listed.status_code == 200
        first.process.send_signal(signal.SIGKILL)
        await first.process.wait()
        lost = await http.post(second.url, json=request("tools/list", {}), headers=session)
        assert lost.status_code == 404
        assert "begin with `initialize`" in lost.json()["error"]["message"]
        # Of a call whose stream broke, nobody knows whether it was done.
        broken = {**session, "last-event-id": "1-1"}
        resumed = await http.get(second.url, headers=broken)
        assert resumed.status_code == 404
        assert "it may have been done" in resumed.json()["error"]["message"]


@pytest.mark.parametrize("to", ["one", "both"])
async def test_an_answer_that_is_sent_many_times_runs_its_call_once(
    gate: Gate, database: DatabaseAddress, tmp_path: Path, to: str
) -> None:
    """A state may be replayed as long as it holds, also at a gateway that did not ask."""
    async with team_of_two(gate, database, tmp_path / "nginx") as team, http_client() as http:
        params = {**call("write", text="held"), "_meta": {**modern_meta(), CAPABILITIES: FORMS}}
        asked = request("tools/call", params)
        headers = {**ACCEPTS, "accept": "application/json", "mcp-method": "tools/call"}
        headers |= {"mcp-protocol-version": "2026-07-28", "mcp-name": SUITE}
        first, second = team.gateways
        found = (await http.post(first.url, json=asked, headers=headers)).json()["result"]
        assert found["requestState"]
        asked["params"] |= {
            "requestState": found["requestState"],
            "inputResponses": {key: reply("allow_once") for key in found["inputRequests"]},
        }
        await read_it()
        places = [second.url] * 4 if to == "one" else [first.url, second.url] * 2
        answers = await asyncio.gather(
            *(http.post(place, json=asked, headers=headers) for place in places)
        )
    bodies = [answer.json() for answer in answers]
    ran = [body for body in bodies if "result" in body and not body["result"].get("isError")]
    assert len(ran) == 1
    refused = [body["error"]["message"] for body in bodies if "error" in body]
    assert refused == ["`requestState` is unknown, spent or of another request"] * 3
    assert gate.written == ["held"]


async def test_health_is_told_without_a_token_and_nothing_else_is(
    gate: Gate, database: DatabaseAddress, tmp_path: Path
) -> None:
    async with team_of_two(gate, database, tmp_path / "nginx") as team:
        async with httpx2.AsyncClient(trust_env=False) as stranger:
            for path in ("/healthz", "/readyz"):
                told = await stranger.get(team.gateways[0].origin + path)
                assert (told.status_code, told.text) == (200, "ok\n")
                refused = await stranger.post(team.gateways[0].origin + path)
                assert refused.status_code == 405
            assert (await stranger.post(team.url, json={})).status_code == 401
        async with http_client() as http:
            # Whoever has the token alone is no gateway.
            forged = {**ACCEPTS, "x-switchboard-relayed": f"10.0.0.1 {'0' * 64}"}
            refused = await http.post(team.gateways[0].url, json=initialize(), headers=forged)
            assert refused.status_code == 400


@VERSIONS
async def test_while_the_database_is_away_calls_are_refused_in_words_and_then_go_on(
    gate: Gate, database: DatabaseAddress, tmp_path: Path, postgres: Cluster, version: str
) -> None:
    person = Person("allow_once")
    async with (
        team_of_two(gate, database, tmp_path / "nginx") as team,
        connected(team.url, version, person, token=TOKEN) as client,
    ):
        assert not (await write(client, "before")).is_error
        postgres.crash()
        try:
            refused = await write(client, "never")
            assert refused.is_error
            assert "cannot be" in refused.content[0].text  # type: ignore[union-attr]
        finally:
            postgres.start()
        assert not (await write(client, "after")).is_error
        log = team.log()
        assert (await log.verify()).findings == ()
        await log.aclose()
    assert gate.written == ["before", "after"]


async def test_a_gateway_is_no_part_of_the_daemon_of_its_user(
    gate: Gate, database: DatabaseAddress
) -> None:
    async with gateway(gate, database) as running:
        assert not list(gate.workspace.home.rglob("*.sock"))
        assert not (gate.workspace.home / "state" / "approvals.db").exists()
        [row] = describe([running.process.pid])
        assert ("--http" in row, "postgresql" in row) == (True, False)


def test_a_password_on_the_command_line_is_refused_without_being_repeated(gate: Gate) -> None:
    done = switchboard(
        gate.workspace, "serve", "--http", "--db", "postgresql://sb:canary@127.0.0.1/team"
    )
    assert done.code == 2
    assert "no password belongs there" in done.err
    assert "canary" not in done.err + done.out


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        ("SWITCHBOARD_TOKEN", "team-token-missing"),
        ("SWITCHBOARD_TEAM_KEY", "team-key-missing"),
        ("SWITCHBOARD_DB", "database-address"),
    ],
)
async def test_a_gateway_that_lacks_something_says_what_and_does_not_start(
    gate: Gate, database: DatabaseAddress, missing: str, says: str
) -> None:
    wrong = {missing: "nonsense" if missing == "SWITCHBOARD_DB" else ""}
    with pytest.raises(AssertionError, match=says):
        async with gateway(gate, database, env=wrong):
            """It is not there."""


async def test_tables_of_another_version_keep_a_gateway_from_starting(
    gate: Gate, database: DatabaseAddress, postgres: Cluster
) -> None:
    async with gateway(gate, database):
        """It makes the tables."""
    postgres.run("UPDATE switchboard.versions SET version = 9 WHERE part = 'audit'", database)
    with pytest.raises(AssertionError, match="of version 9, and this Switchboard knows 1"):
        async with gateway(gate, database):
            """It is not there."""
