"""Secrets and logins of each person: nobody acts as another, and nobody sees what is another's."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
import pytest_asyncio
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client

from cli.commands import switchboard
from people.ground import Town, client, modern, town
from support.oauth_servers import browse
from support.reading import read_it, reply
from support.requirements import attack
from support.workspace import Json, Workspace, child_command
from switchboard.postgres.address import DatabaseAddress
from team.ground import SECRET

pytestmark = pytest.mark.asyncio(loop_scope="module")
REFERENCE = "mcp/private/env/THE_TOKEN"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def team(database: DatabaseAddress) -> AsyncGenerator[Town]:
    command, *args = child_command("echo_child")

    def more(servers: Any) -> str:
        return f"""
[mcp_servers.private]
command = {json.dumps(command)}
args = {json.dumps(args)}
per_person = true
secret_env = {{ THE_TOKEN = "vault:{REFERENCE}" }}
[mcp_servers.common]
command = {json.dumps(command)}
args = {json.dumps(args)}
[mcp_servers.heir]
command = {json.dumps(command)}
args = {json.dumps(args)}
inherit_env = true
[mcp_servers.notes]
url = "{servers.url}"
per_person = true
"""

    async with town(database, about=more, gateways=2) as running:
        yield running


async def call(team: Town, user: str, suite: str, subtool: str, gateway: int = 0) -> Json:
    arguments: Json = {"action": "call", "subtool": subtool, "args": {}}
    params = {"name": suite, "arguments": arguments}
    async with client() as http:
        body, headers = modern(team.signed(user), "tools/call", params)
        answer = await http.post(team.gateways[gateway].url, json=body, headers=headers)
    return answer.json()["result"]


async def report(team: Town, user: str, server: str, gateway: int = 0) -> Json:
    told = await call(team, user, f"{server}_suite", "report", gateway)
    assert not told.get("isError"), told
    return json.loads(json.loads(told["content"][0]["text"])["content"][0]["text"])


async def put(team: Town, *words: str, value: str = "") -> Any:
    env = {"SWITCHBOARD_DB": team.address.url, "SWITCHBOARD_TEAM_KEY": SECRET}
    return await asyncio.to_thread(
        switchboard, team.gate.workspace, "vault", *words, env=env, stdin=value
    )


@attack("T16")
async def test_each_person_has_a_process_with_their_own_secret_and_no_others(team: Town) -> None:
    for user in ("ada", "bob"):
        done = await put(team, "put", REFERENCE, "--person", user, value=f"canary-of-{user}")
        assert done.code == 0, done.err
    # That of the team is not for people.
    assert (await put(team, "put", REFERENCE, value="canary-of-all")).code == 0
    ada, bob = [await report(team, user, "private") for user in ("ada", "bob")]
    again = await report(team, "ada", "private")
    assert (ada["pid"], ada["pid"] != bob["pid"]) == (again["pid"], True)
    # Whoever has no secret gets no process either, and is told what is missing.
    refused = await call(team, "eve", "private_suite", "report")
    assert refused["isError"]
    assert "THE_TOKEN" in json.dumps(refused)
    assert "canary" not in json.dumps(refused)
    for user, told in (("ada", ada), ("bob", bob)):
        assert told["env"]["THE_TOKEN"] == f"canary-of-{user}"
    # Others are shared as before.
    one, other = [await report(team, user, "common") for user in ("ada", "bob")]
    assert one["pid"] == other["pid"]
    told = await team.records(3, event="secret.resolved")
    assert {each["person"] for each in told} == {"ada", "bob"}


async def test_a_secret_is_the_same_at_the_other_gateway_and_can_be_taken_away(
    team: Town,
) -> None:
    assert (await put(team, "put", REFERENCE, "--person", "kim", value="canary-of-kim")).code == 0
    assert (await report(team, "kim", "private", 1))["pid"]
    assert (await put(team, "delete", REFERENCE, "--person", "kim")).code == 0
    refused = await call(team, "kim", "private_suite", "report", 0)
    assert refused["isError"]


async def test_a_secret_of_a_person_needs_a_team_that_knows_people(team: Town) -> None:
    done = await asyncio.to_thread(
        switchboard, team.gate.workspace, "vault", "put", REFERENCE, "--person", "ada", stdin="x"
    )
    assert done.code == 2
    assert "told apart" in done.err


async def test_each_person_logs_in_at_a_remote_server_for_themselves(team: Town) -> None:
    shown: dict[str, list[str]] = {}

    async def whoami(user: str) -> str:
        visits: list[asyncio.Future[int]] = []

        async def follow(
            context: ClientRequestContext, params: types.ElicitRequestParams
        ) -> types.ElicitResult:
            del context
            if not isinstance(params, types.ElicitRequestURLParams):
                await read_it()
                return types.ElicitResult.model_validate(reply("allow_once"))
            shown.setdefault(user, []).append(params.url)
            visits.append(asyncio.ensure_future(browse(params.url, user=f"remote-{user}")))
            return types.ElicitResult(action="accept")

        headers = {"authorization": f"Bearer {team.signed(user)}"}
        async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http:
            way = streamable_http_client(team.resource, http_client=http)
            async with Client(way, mode="2026-07-28", elicitation_callback=follow) as one:
                arguments: Json = {"action": "call", "subtool": "whoami", "args": {}}
                done = await one.call_tool("notes_suite", arguments)
        for visit in visits:
            assert await visit == 200
        return str(done)

    for user in ("ada", "bob"):
        assert f"logged in as remote-{user}" in await whoami(user)
    assert shown["ada"] != shown["bob"]
    # Neither is asked again, nor takes the other's place.
    for user in ("ada", "bob"):
        assert f"logged in as remote-{user}" in await whoami(user)
        assert len(shown[user]) == 1


async def test_one_process_for_all_gateways_is_nobody_s_own(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    text = '[mcp_servers.a]\ncommand = "a"\nper_person = true\nscope = "singleton"\n'
    workspace.config_toml(text, scope="home")
    checked = await asyncio.to_thread(switchboard, workspace, "config", "check")
    assert checked.code != 0
    assert "beside `per_person`" in checked.out + checked.err


@attack("T76")
async def test_whoever_inherits_the_environment_of_a_gateway_is_not_the_team(team: Town) -> None:
    told = (await report(team, "ada", "heir"))["env"]
    assert told.get("SWITCHBOARD_HOME") == str(team.gate.workspace.home)
    assert SECRET not in told.values()
    assert {"SWITCHBOARD_TEAM_KEY", "SWITCHBOARD_DB", "SWITCHBOARD_TOKEN"}.isdisjoint(told)
