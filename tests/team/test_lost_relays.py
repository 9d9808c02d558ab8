"""A gateway that is killed while it passes a request on: the client has not left, says nobody."""

import asyncio
from typing import Any

import httpx2
import pytest

from gate.ground import CAPABILITIES, FORMS
from support.mcp_stdio import modern_meta
from support.processes import until_gone
from support.reading import read_it, reply
from support.workspace import Json, Workspace
from switchboard.postgres.address import DatabaseAddress
from team.callers import ACCEPTS, request
from team.ground import gateway, http_client
from team.staff import Staff, worker

TOOL = "agent_retry"


def asking(staff: Staff, task: str) -> Json:
    given = {"task": task, "cwd": str(staff.workspace.root)}
    meta = {**modern_meta(), CAPABILITIES: FORMS}
    return request("tools/call", {"name": TOOL, "arguments": given, "_meta": meta})


async def post(http: httpx2.AsyncClient, url: str, body: Json) -> Json:
    headers = {**ACCEPTS, "accept": "application/json", "mcp-method": "tools/call"}
    headers |= {"mcp-protocol-version": "2026-07-28", "mcp-name": TOOL}
    return (await http.post(url, json=body, headers=headers)).json()


async def agreed(http: httpx2.AsyncClient, ask_at: str, answer_at: str, body: Json) -> Json:
    """Ask at one gateway, and bring the answer of the person to another."""
    found = (await post(http, ask_at, body))["result"]
    await read_it()
    answers = {key: reply("allow_once") for key in found["inputRequests"]}
    state: Any = {"requestState": found["requestState"], "inputResponses": answers}
    return await post(http, answer_at, {**body, "params": {**body["params"], **state}})


@pytest.mark.parametrize("what", ["killed", "left"])
async def test_a_run_goes_on_when_the_gateway_between_is_killed_and_ends_when_its_client_leaves(
    workspace: Workspace, database: DatabaseAddress, what: str
) -> None:
    staff = Staff(workspace)
    config = workspace.home / "config.toml"
    text = config.read_text("utf-8").replace("guard = false", "guard = true")
    config.write_text(text.replace("default = 1", "default = 30"), "utf-8")
    async with (
        gateway(staff, database) as owner,
        gateway(staff, database) as between,
        worker(staff, database),
        http_client() as http,
    ):
        body = asking(staff, "one")
        waiting = asyncio.ensure_future(agreed(http, owner.url, between.url, body))
        [line] = await staff.until("begin", "one")
        if what == "left":
            waiting.cancel()
            await asyncio.wait({waiting})
            await until_gone([line.pid])
            assert not staff.of("end", "one")
            return
        between.process.kill()
        await asyncio.wait({waiting})
        assert waiting.exception() is not None
        # The same request, sent again to who is left, finds the run.
        again = asyncio.ensure_future(agreed(http, owner.url, owner.url, body))
        staff.let_end("one")
        told = (await again)["result"]
        assert "did one" in told["content"][0]["text"]
    assert (len(staff.of("begin", "one")), len(staff.of("end", "one"))) == (1, 1)
