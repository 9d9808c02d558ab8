"""Forms on their way from a server of an agent, through the real Codex, to a client that waits."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support.hosts import codex_settings
from support.mcp_stdio import META, Json, StdioClient, modern_meta, talking_to, text_of
from support.models.loopback import ScriptedModel
from support.models.responses import responses_model
from support.models.script import say, use
from support.reading import read_it, reply
from support.workspace import NODE_MODULES, Workspace

EVERYTHING = NODE_MODULES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
FILLED: Json = {"action": "accept", "content": {"name": "Ada", "check": True}}
PATIENCE = 120.0


@pytest.fixture(autouse=True)
def agent(workspace: Workspace) -> None:
    workspace.write(
        ".agents/helper.toml",
        'name = "helper"\n[run]\nsandbox_mode = "read-only"\napproval_policy = "on-request"\n'
        '[mcp_servers.forms]\ncommand = "node"\n'
        f"args = [{json.dumps(str(EVERYTHING))}]\n",
    )


def answer_to(params: Json) -> Json:
    """Agree to the call of the tool, and fill in what its server asks for."""
    is_approval = "name" not in params["requestedSchema"]["properties"]
    return reply("allow_once") if is_approval else FILLED


def check_asked(asked: list[Json]) -> None:
    """The tool first, in our words; then the form, under the name of who wants it."""
    approval, form = asked
    assert "trigger-elicitation-request" in approval["message"]
    assert "forms of agent helper" in form["message"]
    assert "name" in form["requestedSchema"]["properties"]


def check_filled(model: ScriptedModel) -> None:
    """The server has told the model what was filled in."""
    assert "Ada" in json.dumps(model.requests[-1].body)


@asynccontextmanager
async def connected(workspace: Workspace) -> AsyncGenerator[tuple[StdioClient, ScriptedModel]]:
    """Start a client that has said nothing yet, and the model of the engine."""
    with responses_model(use("trigger_elicitation_request"), say("done")) as model:
        folder = workspace.user_home / ".codex"
        folder.mkdir()
        (folder / "config.toml").write_text(codex_settings(model), "utf-8")
        argv = workspace.command("mcp")
        async with talking_to(argv, cwd=workspace.root, env=workspace.env) as client:
            yield client, model


async def test_a_client_that_waits_fills_in_the_form_of_a_server(workspace: Workspace) -> None:
    async with connected(workspace) as (client, model):
        await client.initialize("2025-11-25", {"elicitation": {"form": {}}})
        asked: list[Json] = []
        answering = asyncio.ensure_future(fill(client, asked))
        given = {"task": "do it", "cwd": str(workspace.root)}
        try:
            result = await client.call("agent_helper", given, patience=PATIENCE)
        finally:
            answering.cancel()
        assert json.loads(text_of(result)) == {"ok": True, "output": "done"}
        check_asked(asked)
        check_filled(model)


async def fill(client: StdioClient, asked: list[Json]) -> None:
    while True:
        message = await client.message("elicitation/create", patience=PATIENCE)
        asked.append(message["params"])
        await read_it()
        result = answer_to(message["params"])
        client.send({"jsonrpc": "2.0", "id": message["id"], "result": result})


async def test_a_client_with_a_task_fills_in_the_form_of_a_server(workspace: Workspace) -> None:
    async with connected(workspace) as (client, model):
        declared: Json = {"extensions": {META + "tasks": {}}, "elicitation": {"form": {}}}
        client.era_meta = {**modern_meta(), META + "clientCapabilities": declared}
        given = {"task": "do it", "cwd": str(workspace.root)}
        call = {"name": "agent_helper", "arguments": given}
        task_id = (await client.request("tools/call", call, patience=PATIENCE))["taskId"]
        seen: dict[str, Json] = {}
        async with asyncio.timeout(PATIENCE):
            while (task := await get(client, task_id))["status"] != "completed":
                asked = task.get("inputRequests", {})
                new = {key: each["params"] for key, each in asked.items() if key not in seen}
                seen |= new
                if new:
                    await read_it()
                    given = {key: answer_to(params) for key, params in new.items()}
                    answers = {"taskId": task_id, "inputResponses": given}
                    await client.request("tasks/update", answers)
                await asyncio.sleep(0.1)
        assert json.loads(text_of(task["result"])) == {"ok": True, "output": "done"}
        check_asked(list(seen.values()))
        check_filled(model)


async def get(client: StdioClient, task_id: str) -> Any:
    return await client.request("tasks/get", {"taskId": task_id})
