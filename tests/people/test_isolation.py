"""Nobody sees what is another's, at whichever gateway they ask for it."""

import asyncio
import hmac
import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from cli.commands import switchboard
from gate.over_http import VERSIONS, Person, connected
from gate.over_http import write as write_as
from people.ground import Town, bearer, begin, client, modern, request, town, write
from support.reading import read_it, reply, says
from support.requirements import attack
from support.workspace import Json
from switchboard.people.token_door import person_key
from switchboard.postgres.address import DatabaseAddress
from switchboard.vault.keys.team_key import TeamKey
from team.ground import SECRET

pytestmark = pytest.mark.asyncio(loop_scope="module")
UNKNOWN_STATE = "`requestState` is unknown, spent or of another request"
AGENT = """
[results]
inline_tokens = 100
[agents]
patience = { default = 1 }
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def team(database: DatabaseAddress) -> AsyncGenerator[Town]:
    async with town(database, more=AGENT, agents=("helper",)) as running:
        yield running


class Somebody:
    """A person with a token, over HTTP."""

    def __init__(self, team: Town, http: httpx2.AsyncClient, name: str) -> None:
        self.team, self.http = team, http
        self.token = team.signed(name)

    async def ask(self, gateway: int, method: str, params: Json) -> Json:
        """Send a request that stands alone, and give all of the answer."""
        body, headers = modern(self.token, method, params)
        url = self.team.gateways[gateway].url
        return (await self.http.post(url, json=body, headers=headers)).json()

    async def call(self, gateway: int, name: str, **arguments: Any) -> Json:
        params = {"name": name, "arguments": arguments}
        return (await self.ask(gateway, "tools/call", params))["result"]

    async def agreed(self, gateway: int, params: Json) -> Json:
        """Call, and say yes."""
        asked = (await self.ask(gateway, "tools/call", params))["result"]
        return (await self.ask(gateway, "tools/call", going_on(params, asked)))["result"]


def going_on(params: Json, asked: Json) -> Json:
    """Write the params that answer a question with yes."""
    answers = {key: reply("allow_once") for key in asked["inputRequests"]}
    return {**params, "requestState": asked["requestState"], "inputResponses": answers}


@pytest_asyncio.fixture(loop_scope="module")
async def people(team: Town) -> AsyncGenerator[tuple[Somebody, Somebody]]:
    async with client() as http:
        yield Somebody(team, http, "ada"), Somebody(team, http, "bob")


@attack("T16")
async def test_a_known_session_id_is_of_no_use_to_another_person(team: Town) -> None:
    first, second = team.gateways
    async with client() as http:
        ada = await begin(http, first.url, team.signed("ada"))
        bob = {**bearer(team.signed("bob")), "mcp-session-id": ada["mcp-session-id"]}
        listing = request("tools/list", {})
        for each in (first, second):
            for method, body in (("POST", listing), ("GET", None), ("DELETE", None)):
                answer = await http.request(method, each.url, json=body, headers=bob)
                assert answer.status_code == 404
                # As for one that nobody has.
                assert "there is no such session" in answer.text
        for each in (first, second):
            again = await http.post(each.url, json=listing, headers=ada)
            assert again.status_code == 200, again.text


@attack("T16")
async def test_the_state_of_a_question_goes_on_for_whom_it_was_asked_alone(
    team: Town, people: tuple[Somebody, Somebody]
) -> None:
    ada, bob = people
    params = write("of ada")
    asked = (await ada.ask(0, "tools/call", params))["result"]
    await read_it()
    for gateway in (0, 1):
        stolen = await bob.ask(gateway, "tools/call", going_on(params, asked))
        assert stolen["error"]["message"] == UNKNOWN_STATE
    assert "of ada" not in team.gate.written
    done = await ada.ask(1, "tools/call", going_on(params, asked))
    assert not done["result"].get("isError")
    assert team.gate.written.count("of ada") == 1


async def test_a_yes_of_one_person_is_none_for_the_same_call_of_another(
    team: Town, people: tuple[Somebody, Somebody]
) -> None:
    ada, bob = people
    params = write("the same")
    asked, also = [(await each.ask(0, "tools/call", params))["result"] for each in (ada, bob)]
    await read_it()
    done = await ada.ask(0, "tools/call", going_on(params, asked))
    assert not done["result"].get("isError")
    assert team.gate.written.count("the same") == 1
    # Nor is what became of it told to who sends the same.
    assert also["requestState"] != asked["requestState"]
    again = (await bob.ask(0, "tools/call", params))["result"]
    assert "inputRequests" in again


async def test_an_answer_for_good_is_of_whom_it_is(team: Town) -> None:
    url = team.gateways[0].url
    ada, bob = Person("allow_always"), Person("allow_once")
    async with connected(url, "2025-11-25", ada, token=team.signed("ada")) as one:
        assert not (await write_as(one, "always-1")).is_error
    async with connected(url, "2025-11-25", ada, token=team.signed("ada")) as one:
        assert not (await write_as(one, "always-2")).is_error
    assert len(ada.offered) == 1
    async with connected(url, "2025-11-25", bob, token=team.signed("bob")) as other:
        assert not (await write_as(other, "always-3")).is_error
    assert len(bob.offered) == 1


async def test_a_kept_result_is_read_by_its_person_alone(
    team: Town, people: tuple[Somebody, Somebody]
) -> None:
    ada, bob = people
    with team.gate.ledger.open("a", encoding="utf-8") as file:
        file.writelines(f"a long line of the ledger, number {number}\n" for number in range(400))
    reading: Json = {"action": "call", "subtool": "read", "args": {}}
    result = await ada.call(0, "ledger_suite", **reading)
    handle = result["_meta"]["switchboard/result"]["handle"]
    for gateway in (0, 1):
        read = await ada.call(gateway, "read_result", handle=handle, lines="1")
        assert not read.get("isError"), read
        refused = await bob.call(gateway, "read_result", handle=handle, lines="1")
        assert refused["_meta"]["switchboard/error"]["reason"] == "unknown-result"


async def test_a_run_is_known_to_who_started_it_alone(
    people: tuple[Somebody, Somebody],
) -> None:
    ada, bob = people
    given = {"task": "canary-of-ada", "cwd": str(ada.team.gate.workspace.root)}
    params = {"name": "agent_helper", "arguments": given}
    asked = (await ada.ask(0, "tools/call", params))["result"]
    await read_it()
    begun = (await ada.ask(1, "tools/call", going_on(params, asked)))["result"]
    run = begun["_meta"]["switchboard/run"]["id"]
    for gateway in (0, 1):
        told = await ada.call(gateway, "run_status", run_id=run)
        assert told["_meta"]["switchboard/run"]["id"] == run
        for name in ("run_status", "run_output", "run_cancel", "run_wait"):
            refused = await bob.call(gateway, name, run_id=run)
            assert "there is no run" in json.dumps(refused)
        seen = await bob.ask(gateway, "resources/list", {})
        assert run not in json.dumps(seen)
        assert "canary" not in json.dumps(seen)
        read = await bob.ask(gateway, "resources/read", {"uri": f"run://{run}"})
        assert "error" in read
    mine = await ada.ask(0, "resources/list", {})
    assert run in json.dumps(mine)
    await ada.call(0, "run_cancel", run_id=run)


@attack("T16")
async def test_a_gateway_that_names_another_person_than_the_token_is_not_believed(
    team: Town,
) -> None:
    key = TeamKey(SECRET.encode()).derived("relay")
    ada, bob = (person_key(team.servers.issuer, name) for name in ("ada", "bob"))

    def vouched(text: str) -> dict[str, str]:
        sign = hmac.digest(key, text.encode(), "sha256").hex()
        return {**bearer(team.signed("ada")), "x-switchboard-relayed": f"{text} {sign}"}

    async with client() as http:
        about: Json = {"protocolVersion": "2025-11-25", "capabilities": {}}
        body = request("initialize", {**about, "clientInfo": {"name": "a", "version": "1"}})
        for text, status in (
            (f"10.0.0.1/{ada}", 200),
            (f"10.0.0.1/{bob}", 400),
            ("10.0.0.1/", 400),
        ):
            answer = await http.post(team.resource, json=body, headers=vouched(text))
            assert answer.status_code == status


async def test_whoever_is_at_the_desk_sees_whose_question_it_is(
    team: Town, people: tuple[Somebody, Somebody]
) -> None:
    _, bob = people
    await bob.ask(0, "tools/call", write("shown at the desk"))
    env = {"SWITCHBOARD_DB": team.address.url, "SWITCHBOARD_TEAM_KEY": SECRET}
    workspace = team.gate.workspace
    listed = await asyncio.to_thread(switchboard, workspace, "approvals", "list", "--json", env=env)
    for each in listed.report["approvals"]:
        words = ("approvals", "show", each["id"])
        shown = await asyncio.to_thread(switchboard, workspace, *words, env=env)
        if "shown at the desk" in shown.out:
            break
    else:
        raise AssertionError(listed.report)
    assert says(shown.out, "asked by bob, with")


@VERSIONS
async def test_clients_of_both_eras_are_served_behind_either_gateway(
    team: Town, version: str
) -> None:
    token = await team.log_in("ada")
    for gateway in team.gateways:
        person = Person("allow_once")
        async with connected(gateway.url, version, person, token=token) as one:
            assert not (await write_as(one, f"era {version}")).is_error
    assert team.gate.written.count(f"era {version}") == len(team.gateways)


@attack("T74")
async def test_a_header_with_any_letter_is_passed_on_as_it_came(team: Town) -> None:
    async with client() as http:
        session = await begin(http, team.gateways[0].url, team.signed("ada"))
        for each in team.gateways:
            headers = [
                *((name.encode(), value.encode()) for name, value in session.items()),
                (b"x-note", "caf\u00e9".encode("latin-1")),
            ]
            answer = await http.post(each.url, json=request("ping", {}), headers=headers)
            assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("said", [b"\xe9", b"singleton:\xe9 \xe9", b"127.0.0.1/ \xe9", b"a b", b""])
@attack("T69")
async def test_what_no_gateway_said_is_refused_whatever_it_is(team: Town, said: bytes) -> None:
    first = team.gateways[0]
    headers = {**bearer(team.signed("ada")), "accept": "application/json"}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    raw.append((b"x-switchboard-relayed", said))
    async with client() as http:
        for url, status in ((first.url, 400), (f"{first.origin}/singletons/ledger", 403)):
            answer = await http.post(url, json=request("ping", {}), headers=raw)
            assert answer.status_code == status, answer.text
