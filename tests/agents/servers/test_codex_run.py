"""A real Codex gets the servers of its agent: embedded, found, and those of Switchboard."""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agents.servers.host_bench import echo
from cli.commands import switchboard
from support.daemons import shim, status
from support.hosts import codex_settings
from support.mcp_stdio import StdioClient, text_of
from support.models.loopback import ScriptedModel
from support.models.responses import responses_model
from support.models.script import Step, say, use
from support.processes import mentioning
from support.remotes import everything_over_http
from support.requirements import requirement
from support.workspace import NODE_MODULES, Json, Workspace, server
from switchboard.providers.agents.servers.depth import MOST_DEPTH

MEMORY = NODE_MODULES / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"


@asynccontextmanager
async def playing(
    workspace: Workspace, *steps: Step
) -> AsyncGenerator[tuple[StdioClient, ScriptedModel]]:
    with responses_model(*steps) as model:
        folder = workspace.user_home / ".codex"
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text(codex_settings(model), "utf-8")
        async with shim(workspace, patience=120) as client:
            yield client, model


def agent(workspace: Workspace, tools: list[str], more: str = "") -> None:
    workspace.write(
        ".agents/helper.toml",
        f'name = "helper"\ntools = {json.dumps(tools)}\n'
        f'[run]\nsandbox_mode = "read-only"\napproval_policy = "never"\n{more}',
    )


async def answer(client: StdioClient, workspace: Workspace) -> Json:
    given = {"task": "do it", "cwd": str(workspace.root)}
    return json.loads(text_of(await client.call("agent_helper", given)))


def offered(model: ScriptedModel) -> set[str]:
    return {tool.namespace or tool.name for situation in model.offers for tool in situation.tools}


@requirement("S0.53", "S0.102", "S0.110", "S0.118")
async def test_the_engine_calls_servers_of_the_agent_and_of_switchboard(
    workspace: Workspace,
) -> None:
    file = workspace.root / "memory.jsonl"
    workspace.mcp_json(
        {"memory": server(["node", MEMORY], secret_env={"MEMORY_FILE_PATH": "env:WHERE"})},
        scope="home",
    )
    # Codex passes on few variables, and this is none of them: the board is found by its mark.
    workspace.env["WHERE"] = str(file)
    talk = echo("talk")
    agent(
        workspace,
        ["memory::create_entities"],
        f"[mcp_servers.talk]\ncommand = {json.dumps(talk['command'])}\n"
        f"args = {json.dumps(talk['args'])}\n",
    )
    entity = {"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}
    steps = (use("echo", text="marco"), use("create_entities", entities=[entity]), say("done"))
    async with playing(workspace, *steps) as (client, model):
        got = await answer(client, workspace)
        assert got == {"ok": True, "output": got["output"]}, got
        assert got["output"].strip() == "done"
        namespaces = offered(model)
        assert any("talk" in name for name in namespaces), namespaces
        assert any("memory" in name for name in namespaces), namespaces
        assert "marco" in model.results[0]
        assert json.loads(file.read_text("utf-8").splitlines()[0])["name"] == "Ada"
        # It is the child of the board, which everybody shares, and not one of the engine.
        children = (status(workspace) or {})["children"]
        (memory,) = [child for child in children if child["name"] == "memory"]
        assert memory["calls"] == 1


async def test_an_agent_never_gets_switchboard_itself_as_a_found_server(
    workspace: Workspace,
) -> None:
    """Whoever lists it among their servers would otherwise start one agent in another."""
    ours = {"command": str(workspace.command("mcp")[0]), "args": ["mcp"]}
    path = workspace.user_home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    found = {"switchboard": ours, "board": ours, "talk": echo("talk")}
    path.write_text(json.dumps({"mcpServers": found}), "utf-8")
    agent(workspace, ["whatever"])
    async with playing(workspace, use("echo", text="polo"), say("done")) as (client, model):
        got = await answer(client, workspace)
        assert got["ok"], got
        assert "polo" in model.results[0]
        assert not any("board" in name for name in offered(model))
        assert len(mentioning(str(workspace.root))) < 10


@requirement("S0.112")
async def test_a_remote_server_beside_the_agents_file_is_a_bridge_for_the_engine(
    workspace: Workspace,
) -> None:
    agent(workspace, [])
    async with everything_over_http() as url:
        far = {"mcpServers": {"far": {"transport": "http", "url": url}}}
        workspace.write(".agents/helper.mcp.json", json.dumps(far))
        async with playing(workspace, use("echo", message="hi"), say("done")) as (client, model):
            got = await answer(client, workspace)
            assert got["ok"], got
            assert "Echo: hi" in model.results[0]


async def test_what_an_agent_starts_knows_how_many_runs_stand_above_it(
    workspace: Workspace,
) -> None:
    talk = echo("talk")
    agent(
        workspace,
        [],
        f"[mcp_servers.talk]\ncommand = {json.dumps(talk['command'])}\n"
        f"args = {json.dumps(talk['args'])}\n",
    )
    async with playing(workspace, use("report"), say("done")) as (client, model):
        assert (await answer(client, workspace))["ok"]
        assert re.search(r"SWITCHBOARD_DEPTH\W+1\b", model.results[0]), model.results[0]


async def test_a_run_too_deep_below_others_is_refused_with_a_sentence(
    workspace: Workspace,
) -> None:
    """An agent that has Switchboard among its own servers could go on without end."""
    agent(workspace, [])
    async with playing(workspace, say("done")) as (client, model):
        async with shim(workspace, env={"SWITCHBOARD_DEPTH": str(MOST_DEPTH)}) as deep:
            got = await answer(deep, workspace)
            assert got["ok"] is False
            assert "calls itself" in got["output"]
            assert model.offers == []
        # Sessions share a board whatever their depth.
        assert len((status(workspace) or {})["boards"]) == 1
        assert (await answer(client, workspace))["ok"]


async def test_whoever_follows_the_run_reads_what_it_did_not_get(workspace: Workspace) -> None:
    agent(workspace, ["nowhere::tool"])
    async with playing(workspace, say("done")) as (client, _):
        result = await client.call("agent_helper", {"task": "go", "cwd": str(workspace.root)})
        run = result["_meta"]["switchboard/run"]["id"]
        shown = switchboard(workspace, "runs", "show", run)
        assert "no server `nowhere` is known" in shown.out + shown.err


async def test_a_variable_of_a_host_reaches_its_server_and_nobody_else(
    workspace: Workspace,
) -> None:
    """The daemon asks a client for exactly what the files of hosts name."""
    path = workspace.user_home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    talk = {**echo("talk"), "env": {"KEY": "${env:TALK_KEY}"}}
    path.write_text(json.dumps({"mcpServers": {"talk": talk}}), "utf-8")
    workspace.env["TALK_KEY"] = "a-key-of-the-user"
    agent(workspace, ["talk::report"])
    async with playing(workspace, use("report"), say("done")) as (client, model):
        assert (await answer(client, workspace))["ok"]
        assert re.search(r"KEY\W+a-key-of-the-user", model.results[0])
