"""One person with many sessions, and a laptop that logs in at a team by itself."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from fakes.events import MemoryEvents
from people.ground import Town, bearer, client, modern, town
from support.logging_in import log_in
from support.mcp_stdio import talking_to
from support.workspace import Workspace
from switchboard.core.people import Person
from switchboard.core.sessions import Session
from switchboard.postgres.address import DatabaseAddress
from switchboard.surface.http.sessions import HttpSessions
from team.ground import TOKEN

RUNS = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def team(database: DatabaseAddress) -> AsyncGenerator[Town]:
    people = {"shared_token": True, "scopes": ["tools.read"]}
    async with town(database, people=people, gateways=1) as running:
        yield running


class _Endpoint:
    def __init__(self, name: str) -> None:
        person = Person(key=name, subject=name)
        self.session = Session(id=name, via="http", workspace="", person=person)

    def is_of(self, person: Person | None) -> bool:
        return person == self.session.person

    def close(self) -> None:
        """Nothing is open."""


async def test_whoever_opens_many_sessions_pushes_out_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("switchboard.surface.http.sessions.MOST_SESSIONS", 4)
    sessions = HttpSessions(MemoryEvents())

    def opened(name: str) -> Any:
        return sessions.open(lambda _: cast("Any", _Endpoint(name)))

    bob = opened("bob")
    for _ in range(20):
        opened("eve")
    assert sessions.get(bob.id, Person(key="bob", subject="bob")) is bob
    assert sessions.get(bob.id, Person(key="eve", subject="eve")) is None
    assert len(list(sessions)) == 4
    await sessions.aclose()


@RUNS
async def test_the_one_token_counts_beside_people_where_that_is_said(team: Town) -> None:
    calling = {"name": "ledger_suite", "arguments": {"action": "call"}}
    async with client() as http:
        body, headers = modern(TOKEN, "tools/call", calling)
        assert (await http.post(team.resource, json=body, headers=headers)).status_code == 200
        wrong = await http.post(team.resource, json=body, headers={**headers, **bearer("wrong")})
        assert wrong.status_code == 401
    assert await team.records(1, event="tool.call.refused", person="team")


@RUNS
async def test_a_token_has_to_be_good_for_what_the_server_does(team: Town) -> None:
    async with client() as http:
        for scope, status in (("tools.read other", 200), ("other", 403), ("", 403)):
            token = team.signed("ada", scope=scope)
            body, headers = modern(token, "server/discover", {})
            answer = await http.post(team.resource, json=body, headers=headers)
            assert answer.status_code == status
    challenge = answer.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="tools.read"' in challenge


@RUNS
async def test_a_switchboard_of_a_laptop_finds_the_issuer_and_logs_in_at_a_team(
    team: Town, tmp_path: Path
) -> None:
    """By the metadata of the gateway alone, with a client that registers itself."""
    laptop = Workspace(tmp_path)
    laptop.mcp_json({"team": {"url": team.resource}})
    done = await log_in(laptop, "team", user="kim")
    assert done.code == 0, done.stderr
    command = laptop.command("mcp", "--in-process")
    async with talking_to(command, cwd=laptop.root, env=laptop.env, patience=60) as one:
        await one.initialize(capabilities={})
        arguments = {"action": "call", "subtool": "ledger_suite", "args": {"action": "introspect"}}
        told = await one.request("tools/call", {"name": "team_suite", "arguments": arguments})
        await one.close()
    assert "Gives every line." in json.dumps(told)
    assert await team.records(1, person="kim")
