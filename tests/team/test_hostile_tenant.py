"""Somebody with a token who means harm: guessed ids, SQL in every text, floods of both kinds."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gate.ground import CAPABILITIES, FORMS, Gate, call
from gate.over_http import Person, connected, write
from support.mcp_stdio import modern_meta
from support.postgres import Cluster
from support.workspace import Json, Workspace, child_command
from switchboard.postgres.address import DatabaseAddress
from team.callers import ACCEPTS, request
from team.ground import TOKEN, gateway, http_client
from team.staff import Crew, Staff, worker

MODERN = "2026-07-28"
CLIENT = "io.modelcontextprotocol/clientInfo"
SQL = "'; DROP TABLE switchboard.runs; DROP TABLE switchboard.questions; --"
TEXTS = (SQL, "$1 %s ? :name %(a)s", "\\'; SELECT pg_sleep(60); --", '"', "{}'\"", "É\U0001f984")
# What waits for an answer here gets none.
SOON = ("--drain", "0", "--linger", "0")
HUGE = 100_000_000
# A gateway with one child is far below this; a result that it kept whole would be above.
MOST_KB = 700_000


async def post(http: httpx2.AsyncClient, url: str, params: Json, name: str = "test") -> Json:
    """Send one call of the modern era."""
    meta = {**modern_meta(), CAPABILITIES: FORMS, CLIENT: {"name": name, "version": "1"}}
    body = request("tools/call", {**params, "_meta": meta})
    headers = {**ACCEPTS, "accept": "application/json", "mcp-method": "tools/call"}
    headers |= {"mcp-protocol-version": MODERN, "mcp-name": params["name"]}
    return (await http.post(url, json=body, headers=headers)).json()


def peak_of(pid: int) -> int:
    """The most memory that a process has had, in kilobytes."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    [peak] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(peak.split()[1])


async def test_sql_in_any_text_is_text(
    workspace: Workspace, database: DatabaseAddress, postgres: Cluster
) -> None:
    staff = Staff(workspace)
    async with (
        gateway(staff, database) as first,
        worker(staff, database),
        http_client() as http,
    ):
        for number, text in enumerate(TEXTS):
            # Its last word is the name that the agent goes by.
            task = f"{text} t{number}"
            staff.let_end(f"t{number}")
            given = {"task": task, "cwd": str(workspace.root)}
            told = await post(http, first.url, {"name": "agent_fail", "arguments": given}, text)
            assert "result" in told, told
            for tool in ("run_status", "run_wait", "run_output", "run_cancel"):
                asked = {"name": tool, "arguments": {"run_id": text}}
                answer = await post(http, first.url, asked)
                assert answer["result"]["isError"], answer
            for headers in ({"mcp-session-id": text.encode()}, {"last-event-id": text.encode()}):
                heads: Any = {**{k: v.encode() for k, v in ACCEPTS.items()}, **headers}
                lost = await http.get(first.url, headers=heads)
                assert lost.status_code in {400, 404}
        kept = postgres.run("SELECT convert_from(run, 'UTF8') FROM switchboard.runs", database)
        tasks = {json.loads(str(row[0]))["spec"]["task"] for row in kept}
    assert tasks == {f"{text} t{number}" for number, text in enumerate(TEXTS)}


async def test_ids_that_are_guessed_lead_to_nothing(gate: Gate, database: DatabaseAddress) -> None:
    async with gateway(gate, database, *SOON) as first, http_client() as http:
        asked = await post(http, first.url, call("write", text="held"))
        state: str = asked["result"]["requestState"]
        answers: Json = {
            key: {"action": "accept", "content": {}} for key in asked["result"]["inputRequests"]
        }
        tag, _, rest = state.partition("-")
        for guess in (rest, f"{tag}-", f"{tag}-{'0' * len(rest)}", f"{'0' * 16}-{rest}", SQL, ""):
            more: Json = {"requestState": guess, "inputResponses": answers}
            told = await post(http, first.url, {**call("write", text="held"), **more})
            assert "result" not in told or told["result"].get("resultType") == "input_required"
        # Nor does the true one for another call.
        more = {"requestState": state, "inputResponses": answers}
        told = await post(http, first.url, {**call("write", text="other"), **more})
        assert "error" in told, told
    assert gate.written == []


async def test_a_result_of_a_hundred_megabytes_hurts_nobody_else(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    workspace.config_toml("guard = false\n", scope="home")
    workspace.child("flood", child_command("flooding_child", str(HUGE)))
    workspace.echo_child("echo")
    async with gateway(Crew(workspace), database) as first, http_client() as http:
        given: Json = {"action": "call", "subtool": "flood", "args": {}}
        flood = asyncio.ensure_future(
            post(http, first.url, {"name": "flood_suite", "arguments": given})
        )
        served = 0
        while not flood.done():
            given = {"action": "call", "subtool": "echo", "args": {"text": "hello"}}
            answer = await post(http, first.url, {"name": "echo_suite", "arguments": given})
            assert "hello" in json.dumps(answer)
            served += 1
        told = json.dumps((await flood)["result"])
        assert served > 0
        assert '"isError": true' in told
        assert len(told) < 10_000
        assert peak_of(first.process.pid) < MOST_KB


@pytest.mark.parametrize(
    "count", [300, pytest.param(10_000, marks=[pytest.mark.soak, pytest.mark.timeout(900)])]
)
async def test_a_flood_of_questions_is_refused_and_another_person_is_still_asked(
    gate: Gate, database: DatabaseAddress, postgres: Cluster, count: int
) -> None:
    async with gateway(gate, database, *SOON) as first, http_client() as http:
        turns = asyncio.Semaphore(8)

        async def ask(number: int) -> str:
            async with turns:
                name = f"flood-{number % 7}"
                told = await post(http, first.url, call("write", text=f"f{number}"), name)
                return json.dumps(told)

        answers = await asyncio.gather(*map(ask, range(count)))
        asked = [answer for answer in answers if "requestState" in answer]
        refused = [answer for answer in answers if "are already waiting" in answer]
        assert len(asked) + len(refused) == count
        [[waiting]] = postgres.run(
            "SELECT count(*) FROM switchboard.questions WHERE state = 'pending'", database
        )
        assert int(str(waiting)) <= 16
        # Whoever has a session is somebody else.
        async with connected(first.url, "2025-11-25", Person("allow_once"), token=TOKEN) as other:
            assert not (await write(other, "mine")).is_error
    assert gate.written == ["mine"]
