"""Tasks end to end: a raw client of 2026-07-28, the daemon, the real Codex, a played model."""

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import httpx2
import pytest

from agents.real_codex import configure, playing
from agents.test_end_to_end import run_command
from engines.codex_stage import ASKING
from support.endpoints import message, serving
from support.mcp_stdio import CLIENT, META, Json, modern_meta, talking_to
from support.mcp_stdio import RpcError as Refused
from support.models.script import say, shell
from support.reading import read_it, reply, says
from support.workspace import Workspace

PATIENCE = 60.0
EXTENSION = "io.modelcontextprotocol/tasks"
DECLARED: Json = {"extensions": {EXTENSION: {}}, "elicitation": {"form": {}}}


class Client(Protocol):
    """A client of the era without a handshake, over whatever transport."""

    async def ask(self, method: str, params: Json) -> Json: ...


def meta(name: str = CLIENT["name"]) -> Json:
    return {
        **modern_meta(),
        META + "clientInfo": {"name": name, "version": "1"},
        META + "clientCapabilities": DECLARED,
    }


class OverStdio:
    """Through the shim, whose streams the daemon gets."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def ask(self, method: str, params: Json) -> Json:
        return await self._client.request(method, params, patience=PATIENCE)


class OverHttp:
    """Each request stands alone."""

    def __init__(self, http: httpx2.AsyncClient, url: str, name: str = CLIENT["name"]) -> None:
        self._http = http
        self._url = url
        self._name = name

    async def ask(self, method: str, params: Json) -> Json:
        named = params.get("taskId") or params.get("name")
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
        if named:
            headers["mcp-name"] = named
        body = message(method, {**params, "_meta": meta(self._name)})
        response = await self._http.post(self._url, json=body, headers=headers, timeout=PATIENCE)
        answer = response.json()
        if "error" in answer:
            raise Refused(answer["error"])
        result: Json = answer["result"]
        return result


@asynccontextmanager
async def over_stdio(workspace: Workspace) -> AsyncGenerator[tuple[Client, Client]]:
    """Give a client, and another of the same daemon."""
    argv = workspace.command("mcp")
    async with (
        talking_to(argv, cwd=workspace.root, env=workspace.env) as one,
        talking_to(argv, cwd=workspace.root, env=workspace.env) as other,
    ):
        one.era_meta = other.era_meta = meta()
        yield OverStdio(one), OverStdio(other)


@asynccontextmanager
async def over_http(workspace: Workspace) -> AsyncGenerator[tuple[Client, Client]]:
    async with serving(workspace) as endpoint, endpoint.http(endpoint.token()) as http:
        yield OverHttp(http, endpoint.url), OverHttp(http, endpoint.url, "another")


@pytest.fixture(autouse=True)
def configured(workspace: Workspace) -> None:
    configure(workspace)


async def until(client: Client, task_id: str, status: str) -> Json:
    """Poll as a client does."""
    deadline = time.monotonic() + PATIENCE
    while (task := await client.ask("tasks/get", {"taskId": task_id}))["status"] != status:
        assert time.monotonic() < deadline, task
        await asyncio.sleep(0.1)
    return task


@pytest.mark.parametrize("over", [over_stdio, over_http])
async def test_a_task_asks_is_answered_and_ends(workspace: Workspace, over: Any) -> None:
    outside = workspace.user_home / "made"
    with playing(workspace, shell(f"touch {outside}", **ASKING), say("made it")):
        async with over(workspace) as (client, stranger):
            given = {"task": "look", "cwd": str(workspace.root)}
            call = {"name": "agent_reviewer", "arguments": given}
            task = await client.ask("tools/call", call)
            assert task["resultType"] == "task"
            task_id = task["taskId"]
            asking = await until(client, task_id, "input_required")
            [(key, request)] = asking["inputRequests"].items()
            assert says(request["params"]["message"], f"touch {outside}")
            allow = reply("allow_once")
            await read_it()
            answers = {"taskId": task_id, "inputResponses": {key: allow}}
            for method in ("tasks/get", "tasks/update", "tasks/cancel"):
                with pytest.raises(Refused, match="-32602"):
                    await stranger.ask(method, answers)
            assert not outside.exists()
            await client.ask("tasks/update", answers)
            ended = await until(client, task_id, "completed")
            assert outside.exists()
            [block] = ended["result"]["content"]
            assert json.loads(block["text"]) == {"ok": True, "output": "made it"}
            # Once it is delivered, the same request is a new run.
            with playing(workspace, say("again")):
                assert (await client.ask("tools/call", call)).get("taskId") != task_id


async def test_a_client_that_listens_needs_not_poll(workspace: Workspace) -> None:
    outside = workspace.user_home / "made"
    with playing(workspace, shell(f"touch {outside}", **ASKING), say("made it")):
        argv = workspace.command("codex")
        async with talking_to(argv, cwd=workspace.root, env=workspace.env) as client:
            client.era_meta = meta()
            call = {
                "name": "codex",
                "arguments": {
                    "prompt": "look",
                    "approval-policy": "on-request",
                    "sandbox": "workspace-write",
                },
            }
            task = await client.request("tools/call", call, patience=PATIENCE)
            assert task["resultType"] == "task"
            listening = {"notifications": {"taskIds": [task["taskId"], "r-nothing"]}}
            client.begin("subscriptions/listen", listening)
            heard = await client.message("notifications/subscriptions/acknowledged")
            assert heard["params"]["notifications"] == {"taskIds": [task["taskId"]]}
            told = await told_of(client, "input_required")
            [key] = told["inputRequests"]
            deny = reply("deny")
            await read_it()
            answers = {"taskId": task["taskId"], "inputResponses": {key: deny}}
            assert (await client.request("tasks/update", answers))["resultType"] == "complete"
            told = await told_of(client, "completed")
            assert told["result"]["structuredContent"]["content"] == "made it"
            assert not outside.exists()


async def told_of(client: Any, status: str) -> Json:
    while True:
        told: Json = (await client.message("notifications/tasks", patience=PATIENCE))["params"]
        if told["status"] == status:
            return told


async def test_a_client_that_is_killed_before_it_reads_gets_the_same_run(
    workspace: Workspace,
) -> None:
    """The streams are the client's own: the daemon writes into a pipe that nobody reads."""
    given = {"task": "look", "cwd": str(workspace.root)}
    call = {"name": "agent_reviewer", "arguments": given}
    with playing(workspace, say("two bugs")):
        reading, writing = os.pipe()
        deaf = await asyncio.create_subprocess_exec(
            *workspace.command("mcp"),
            cwd=workspace.root,
            env=workspace.env,
            stdin=asyncio.subprocess.PIPE,
            stdout=writing,
        )
        os.close(writing)
        assert deaf.stdin is not None
        declared: Json = {**meta(), META + "clientCapabilities": {}}
        first = message("tools/call", {**call, "_meta": declared})
        deaf.stdin.write(json.dumps(first).encode() + b"\n")
        await deaf.stdin.drain()
        [run] = await runs(workspace, "completed")
        os.close(reading)
        deaf.kill()
        await deaf.wait()
        argv = workspace.command("mcp")
        async with talking_to(argv, cwd=workspace.root, env=workspace.env) as client:
            client.era_meta = declared
            answered: list[str] = []
            for _ in range(2):
                result = await client.request("tools/call", call, patience=PATIENCE)
                [block] = result["content"]
                assert json.loads(block["text"])["output"] == "two bugs"
                answered.append(result["_meta"]["switchboard/run"]["id"])
            # It got what it missed; then the answer was delivered.
            assert answered[0] == run["id"]
            assert answered[1] != run["id"]
    assert len(await runs(workspace, "completed")) == 2


async def runs(workspace: Workspace, state: str) -> list[Json]:
    """Wait until every run is in this state, and there is one."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = json.loads(await run_command(workspace, "runs", "--json"))["runs"]
        if found and all(each["state"] == state for each in found):
            return found
        assert time.monotonic() < deadline, found
        await asyncio.sleep(0.2)
