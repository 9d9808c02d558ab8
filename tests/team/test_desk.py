"""The people of a team: they answer at any machine that knows the database."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from cli.commands import Finished
from gate.ground import PATIENCE, Gate
from gate.over_http import VERSIONS, Hesitant, Person, connected, write
from support.postgres import Cluster
from switchboard.core.faults import Fault
from switchboard.postgres.address import DatabaseAddress
from switchboard.vault.keys.team_key import read_team_keys
from switchboard.vault.postgres_vault import PostgresVault
from team.ground import SECRET, TOKEN, gateway, team_of_two


def of_team(address: DatabaseAddress) -> dict[str, str]:
    return {"SWITCHBOARD_DB": address.url, "SWITCHBOARD_TEAM_KEY": SECRET}


async def typed(gate: Gate, address: DatabaseAddress, *words: str) -> Finished:
    return await gate.type(*words, env=of_team(address))


async def calls_of(
    gate: Gate, address: DatabaseAddress, is_it: Callable[[list[str]], bool]
) -> list[str]:
    """Wait until the calls of a team are in such states."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await typed(gate, address, "calls", "--json")
            assert found.code == 0, found.err
            states = [each["state"] for each in found.report["calls"]]
            if is_it(states):
                return states


def run_in(address: DatabaseAddress, sql: LiteralString) -> None:
    with psycopg.connect(address.url, autocommit=True) as connection:
        connection.execute(sql)


async def listed(gate: Gate, address: DatabaseAddress) -> str:
    """Wait until something waits for an answer, and give its id."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await typed(gate, address, "approvals", "list", "--json")
            assert found.code == 0, found.err
            if found.report["approvals"]:
                return found.report["approvals"][0]["id"]


@VERSIONS
async def test_a_question_of_any_gateway_is_answered_at_the_desk_of_the_team(
    gate: Gate, database: DatabaseAddress, tmp_path: Path, version: str
) -> None:
    async with (
        team_of_two(gate, database, tmp_path / "nginx") as team,
        connected(team.url, version, None, token=TOKEN) as client,
    ):
        for verb, more in (("approve", ("--yes",)), ("deny", ())):
            waiting = asyncio.ensure_future(write(client, "held"))
            question = await listed(gate, database)
            done = await typed(gate, database, "approvals", verb, question, *more)
            assert done.code == 0, done.err
            assert (await waiting).is_error is (verb == "deny")
        # Nobody of this home has asked anything.
        assert (await gate.type("approvals", "list", "--json")).report["approvals"] == []
        verified = await typed(gate, database, "audit", "verify", "--json")
        assert verified.code == 0, verified.out
        shown = await typed(gate, database, "audit", "export", "--json")
    assert gate.written == ["held"]
    assert "approval.decided" in shown.out


async def test_calls_and_their_use_are_those_of_the_team(
    gate: Gate, database: DatabaseAddress, tmp_path: Path
) -> None:
    async with (
        team_of_two(gate, database, tmp_path / "nginx") as team,
        connected(team.url, "2026-07-28", Person("allow_once"), token=TOKEN) as client,
        connected(team.url, "2026-07-28", Hesitant(), token=TOKEN) as hesitant,
    ):
        for number in range(4):
            assert not (await write(client, f"held-{number}")).is_error
        waiting = asyncio.ensure_future(write(hesitant, "asked"))
        found = await calls_of(gate, database, lambda states: "waiting" in states)
        assert sorted(found) == ["ok"] * 4 + ["waiting"]
        used = await typed(gate, database, "usage", "--json")
        [tool] = used.report["tools"]
        assert (tool["tool"], tool["calls"], tool["errors"]) == ("write", 4, 0)
        for each in team.gateways:
            each.process.kill()
            await each.process.wait()
        waiting.cancel()
        await asyncio.wait({waiting})
        postgres_aged = "UPDATE switchboard.members SET beat_at = now() - interval '2 minutes'"
        await asyncio.to_thread(run_in, database, postgres_aged)
        # Who asked is gone, so nothing will run.
        await calls_of(gate, database, lambda states: "waiting" not in states)
    # The home has its own, and knows of none.
    assert (await gate.type("usage", "--json")).report["tools"] == []


async def test_the_secret_of_a_team_is_changed_without_a_break(
    gate: Gate, database: DatabaseAddress
) -> None:
    new = "canary-another-secret-of-a-team-2222"
    rings = [SECRET, f"{SECRET}\n{new}", f"{new}\n{SECRET}"]
    for ring in rings:
        async with (
            gateway(gate, database, env={"SWITCHBOARD_TEAM_KEY": ring}) as running,
            connected(running.url, "2026-07-28", Person("allow_once"), token=TOKEN) as client,
        ):
            assert not (await write(client, "held")).is_error
    vault = PostgresVault(database, read_team_keys(SECRET))
    vault.put("mcp/a/env/TOKEN", "canary-of-the-vault")
    vault.close()
    env = {**of_team(database), "SWITCHBOARD_TEAM_KEY": rings[-1]}
    assert (await gate.type("audit", "verify", "--json", env=env)).code == 0
    for changed in (1, 0):
        done = await gate.type("vault", "rotate", "--team", "--json", env=env)
        assert (done.code, done.report["changed"]) == (0, changed), done.err
    for ring, value in ((new, "canary-of-the-vault"), (SECRET, None)):
        vault = PostgresVault(database, read_team_keys(ring))
        if value is None:
            with pytest.raises(Fault, match="not known here"):
                vault.get("mcp/a/env/TOKEN")
        else:
            assert vault.get("mcp/a/env/TOKEN") == value
        vault.close()
    # The log needs the old one for as long as its records lie there.
    alone = {**env, "SWITCHBOARD_TEAM_KEY": new}
    assert (await gate.type("audit", "verify", "--json", env=alone)).code == 1
    assert "canary" not in done.out + done.err


@pytest.mark.parametrize("what", ["well", "newer", "away", "no-key"])
async def test_doctor_says_what_keeps_a_gateway_from_starting(
    gate: Gate, database: DatabaseAddress, postgres: Cluster, what: str
) -> None:
    env: Mapping[str, str] = {**of_team(database), "SWITCHBOARD_TOKEN": TOKEN}
    if what == "newer":
        postgres.run(
            "CREATE SCHEMA switchboard; SET search_path = switchboard;"
            " CREATE TABLE versions (part TEXT, version INT);"
            " CREATE TABLE members (id TEXT, role TEXT, host TEXT, beat_at TIMESTAMPTZ);"
            " INSERT INTO versions VALUES ('runs', 7)",
            database,
        )
    elif what == "away":
        env = {**env, "SWITCHBOARD_DB": "postgresql://sb:canary@127.0.0.1:1/team"}
    elif what == "no-key":
        env = {**env, "SWITCHBOARD_TEAM_KEY": "-"}
    told = await gate.type("doctor", "--db", "--json", env=env)
    errors = [each["message"] for each in told.report["findings"] if each["severity"] == "error"]
    expected = {
        "well": [],
        "newer": ["runs is of version 7, and this Switchboard knows 1"],
        "away": ["the database cannot be used: OperationalError"],
        "no-key": ["a team has a secret that all of its processes know, and here is none"],
    }[what]
    assert [
        error[: len(wanted)] for error, wanted in zip(errors, expected, strict=True)
    ] == expected
    assert "canary" not in told.out + told.err
    if what == "well":
        notes = {each["subject"]: each["message"] for each in told.report["findings"]}
        assert notes["tables"] == "there are none yet; the first gateway makes them"
        assert notes["database"] == str(database)
