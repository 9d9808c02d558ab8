"""The people of a team: they answer at any machine that knows the database."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from cli.commands import Finished
from gate.ground import PATIENCE, Gate
from gate.over_http import VERSIONS, connected, write
from support.postgres import Cluster
from switchboard.postgres.address import DatabaseAddress
from team.ground import SECRET, TOKEN, team_of_two


def of_team(address: DatabaseAddress) -> dict[str, str]:
    return {"SWITCHBOARD_DB": address.url, "SWITCHBOARD_TEAM_KEY": SECRET}


async def typed(gate: Gate, address: DatabaseAddress, *words: str) -> Finished:
    return await gate.type(*words, env=of_team(address))


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
        "away": ["it cannot be used: OperationalError"],
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
