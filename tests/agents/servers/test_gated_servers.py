"""Which servers a run gets, seen in what the real Codex shows its model, and who asks for them."""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest

from agents.real_codex import playing as playing_model
from agents.servers.host_bench import HostBench, echo
from agents.servers.test_codex_run import agent, offered, playing
from agents.test_end_to_end import another_program, run_command
from cli.commands import switchboard
from support.models.script import say, use
from support.requirements import requirement
from support.workspace import CHILDREN, Json, Workspace, child_command, server
from switchboard.engines.profile import AttachedServer

pytestmark = pytest.mark.timeout(300)
PATIENCE = 120.0
BROKEN: Json = {"command": "/no/such/server", "args": []}


def of_the_user(workspace: Workspace, **servers: Json) -> None:
    """Have another host of the user bring servers along."""
    path = workspace.user_home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": servers}), "utf-8")


def add_settings(workspace: Workspace, *, before: str = "", after: str = "") -> None:
    now = (workspace.home / "config.toml").read_text("utf-8")
    workspace.config_toml(f"{before}{now}{after}", scope="home")


# The tools that an agent names, the settings, the servers that its model sees, and what is told.
CASES: dict[str, tuple[list[str], str, set[str], str]] = {
    "two have a bare tool, none is taken": (
        *(["echo"], "", set[str]()),
        "several servers have a tool `echo`",
    ),
    "two have a bare tool, all are taken": (
        *(["echo"], 'enum_fallback = "all"\n', {"one", "two"}),
        "",
    ),
    "one is named and lacks the tool": (
        *(["one::echo", "two::nothing"], "", {"one"}),
        "`two` has no tool `nothing`",
    ),
    "one cannot be asked, strictly": (
        *(["one::echo", "broken::echo"], "enum_strict = true\n", {"one"}),
        "`broken` could not be asked for its tools, so it is not attached",
    ),
    "one cannot be asked": (
        *(["one::echo", "broken::echo"], "", {"one"}),
        "`broken` could not be asked for tools in time",
    ),
}


@requirement("S0.106", "S0.108", "S0.109", "S0.135", "S0.136")
@pytest.mark.parametrize("case", CASES)
async def test_the_model_sees_the_servers_that_were_chosen_and_no_others(
    workspace: Workspace, case: str
) -> None:
    tools, more, wanted, told = CASES[case]
    add_settings(workspace, after=f"enumerate = true\nenum_timeout_ms = 20000\n{more}")
    of_the_user(workspace, one=echo("one"), two=echo("two"), broken=BROKEN)
    agent(workspace, tools)
    async with playing(workspace, say("done")) as (client, model):
        given = {"task": "do it", "cwd": str(workspace.root)}
        result = await client.call("agent_helper", given)
        assert not result.get("isError"), result
        run = result["_meta"]["switchboard/run"]["id"]
        names = {name.removeprefix("mcp__") for name in offered(model) if name.startswith("mcp__")}
        assert names == wanted
        assert told in switchboard(workspace, "runs", "show", run).out


@pytest.mark.parametrize("is_guarded", [True, False])
async def test_a_call_through_switchboard_is_asked_for_once_by_the_board_or_by_the_engine(
    workspace: Workspace, is_guarded: bool
) -> None:
    """On a guarded board the gate of the board asks, so that the engine need not, too."""
    add_settings(workspace, before="guard = true\n" if is_guarded else "")
    workspace.mcp_json({"talk": server(child_command("echo_child", "talk"))}, scope="home")
    text = 'name = "helper"\ntools = ["talk::fail"]\n[run]\napproval_policy = "on-request"\n'
    workspace.write(".agents/helper.toml", text)
    with playing_model(workspace, use("fail", why="marco"), say("done")) as model:
        questions, starter = await asked(workspace)
        assert "marco" in model.results[0]
    about = [question["facts"]["server"] for question in questions]
    # The call of the agent itself is a question of the board, where it asks at all.
    if is_guarded:
        assert about == ["agent helper", "talk"]
        # Who had the run done is noted, and may not answer for a person either.
        assert re.match(r"agent helper, run r-\w+, by codex", questions[1]["client"])
        assert starter in [pid for pid, _ in questions[1]["principals"]]
        audit = json.loads(await run_command(workspace, "audit", "tail", "--json"))
        records = [each["record"] for each in audit["records"]]
        notes = {each.get("tool"): each.get("on_behalf_of", "") for each in records}
        assert re.fullmatch(r"agent helper, run r-\w+", notes["fail"])
        assert notes["agent_helper"] == ""
    else:
        assert [each.partition(" run ")[0] for each in about] == ["agent helper,"]


async def asked(workspace: Workspace) -> tuple[list[Json], int]:
    """Call the agent, agree to everything; gives each question, and the process that called."""
    questions: list[Json] = []
    async with another_program(workspace) as client:
        given = {"task": "do it", "cwd": str(workspace.root)}
        calling = asyncio.ensure_future(client.call("agent_helper", given, patience=PATIENCE))
        while not calling.done():
            listed = json.loads(await run_command(workspace, "approvals", "list", "--json"))
            for each in listed["approvals"]:
                if each["state"] == "pending":
                    shown = await run_command(workspace, "approvals", "show", each["id"], "--json")
                    questions.append(json.loads(shown)["question"])
                    await run_command(workspace, "approvals", "approve", each["id"], "--yes")
            await asyncio.wait((calling,), timeout=0.1)
        assert not (await calling).get("isError"), await calling
        return questions, client.pid


async def test_nothing_is_started_in_the_workspace_to_ask_it_for_its_tools(
    bench: HostBench, tmp_path: Path
) -> None:
    """A module of the workspace would be taken in place of the one that was meant."""
    ran = tmp_path / "it-ran"
    bench.workspace.write("mod.py", f"open({str(ran)!r}, 'w')\n")
    module = ("-m", "mod")
    mapped = AttachedServer(name="mapped", command=sys.executable, args=module)
    bench.cursor_user(mod={"command": sys.executable, "args": module}, talk=echo("talk"))
    tools = ("mod::x", "mapped::x", "talk::echo")
    told = await bench.attached(*tools, injected=(mapped,), enumerate=True, enum_timeout_ms=20_000)
    assert [each.name for each in told.servers if each.required] == ["talk"]
    assert not ran.exists()


async def test_a_server_of_a_trusted_file_is_asked_where_it_will_start(bench: HostBench) -> None:
    script = child_command("echo_child")[1]
    bench.workspace.write(
        "place.py",
        "import runpy, sys\nopen('asked-here', 'w').close()\n"
        f"sys.path.insert(0, {str(CHILDREN)!r})\n"
        f"runpy.run_path({script!r}, run_name='__main__')\n",
    )
    bench.claude_project(place={"command": sys.executable, "args": ["place.py"]})
    names = await bench.names("place::echo", enumerate=True, enum_timeout_ms=20_000)
    assert names == ["place"]
    assert (bench.workspace.root / "asked-here").exists()
