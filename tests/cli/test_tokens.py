"""`tokens`: the saving, measured with a real tokenizer and real servers."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from cli.commands import Finished, switchboard
from support.daemons import shim
from support.requirements import requirement
from support.tokenizer import tokens
from support.workspace import CHECKOUT, NODE_MODULES, SCRIPTS, Workspace, child_command, server
from switchboard.cli.verbs.parts.own_board import own_caller
from switchboard.control.requests import TokensRequest
from switchboard.settings.load import load_settings

NPM = NODE_MODULES / "@modelcontextprotocol"


@pytest.fixture
def workspace(either_workspace: Workspace) -> Workspace:
    return either_workspace


@requirement("S2.78")
def test_suites_of_the_reference_servers_need_a_tenth_of_the_tokens(workspace: Workspace) -> None:
    allowed = workspace.root / "open"
    allowed.mkdir()
    servers = {
        name: server(["node", NPM / f"server-{package}" / "dist" / "index.js", *args])
        for name, package, args in (
            ("everything", "everything", ()),
            ("memory", "memory", ()),
            ("files", "filesystem", (str(allowed),)),
        )
    }
    servers |= {name: server([SCRIPTS / f"mcp-server-{name}"]) for name in ("git", "time", "fetch")}
    workspace.mcp_json(servers)
    # Six servers start at once on a machine that may have other work.
    workspace.config_json({"timeouts": {"childSpawnMs": 60_000, "rpcMs": 60_000}})
    done = switchboard(workspace, "tokens", "--json")
    report = done.report
    assert (done.code, report["tokenizer"]) == (0, "o200k_base")
    assert {each["server"] for each in report["servers"]} == set(servers)
    assert all(each["tools"] > 0 for each in report["servers"])
    assert report["direct"] > 5_000
    assert report["direct"] == sum(each["direct"] for each in report["servers"])
    assert report["saved_percent"] >= 90
    surfaces = {each["surface"]: each for each in report["surfaces"]}
    assert list(surfaces) == ["direct", "all suites", "lean", "balanced"]
    assert surfaces["direct"]["listing"] == report["direct"]
    assert surfaces["lean"]["listing"] < surfaces["all suites"]["listing"]
    assert surfaces["lean"]["tools"] == 3
    # Every tool is told, so that no trip is made to discover one.
    assert surfaces["balanced"]["listing"] <= 1_250
    cheapest = min(surfaces.values(), key=lambda each: each["session"])
    assert cheapest["surface"] == "balanced"
    assert surfaces["balanced"]["session_saved_percent"] > 15
    assert [name for name, each in surfaces.items() if each["is_in_use"]] == ["all suites"]


@requirement("S2.78")
def test_suites_of_the_example_need_a_tenth_of_the_tokens(workspace: Workspace) -> None:
    example = shutil.copytree(CHECKOUT / "examples" / "workspace", workspace.root / "example")
    words = ("tokens", "-C", str(example))
    assert switchboard(workspace, *words, "--json").report["saved_percent"] >= 90
    table = switchboard(workspace, *words).out.splitlines()
    assert table[0].split() == ["SUITE", "TOOLS", "DIRECT", "SHOWN", "SAVED"]
    assert [row.split()[0] for row in table if row.startswith("total")] == ["total"]
    assert table[-1].split()[0] == "balanced"


def test_the_figures_of_few_tools_are_those_of_few_tools(workspace: Workspace) -> None:
    workspace.child("one", child_command("wide_child", "1", "0"))
    done = switchboard(workspace, "tokens")
    assert "a session of 20 turns that uses 1 tool of 1 server; " in done.err
    assert "so few tools cost a model least without Switchboard" in done.err
    report = switchboard(workspace, "tokens", "--json").report
    surfaces = {each["surface"]: each for each in report["surfaces"]}
    # One introspection, and no more: there is nothing else to look for.
    assert surfaces["all suites"]["session"] < surfaces["direct"]["session"] + 20_000


def test_what_a_client_lists_is_told_where_that_is_no_suite(workspace: Workspace) -> None:
    workspace.config_toml('surface_tokens = "balanced"\n', scope="home")
    for name in ("one", "two", "three"):
        workspace.child(name, child_command("wide_child", "9", "600"))
    report = switchboard(workspace, "tokens", "--json").report
    [used] = (each for each in report["surfaces"] if each["is_in_use"])
    done = switchboard(workspace, "tokens")
    assert done.out.splitlines()[0].split() == ["SUITE", "TOOLS", "DIRECT"]
    saved = 100 * (1 - used["listing"] / report["direct"])
    told = f"a client lists {used['listing']:,} tokens for all of them: {saved:.1f} % saved"
    assert told in done.err


def test_a_server_that_fails_is_named_and_not_counted(workspace: Workspace) -> None:
    workspace.echo_child("one")
    workspace.child("gone", child_command("misbehaving_child", "exit-at-once"))
    done = switchboard(workspace, "tokens")
    assert done.code == 1
    servers = done.out.partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in servers] == ["SUITE", "one_suite", "total"]
    assert done.err.startswith("error: gone_suite: ")


async def test_a_server_that_takes_long_keeps_nobody_waiting_who_has_little_time(
    tmp_path: Path,
) -> None:
    workspace = Workspace(tmp_path)
    workspace.echo_child("prompt")
    workspace.child("late", child_command("misbehaving_child", "hang-at-start"))
    settings = load_settings(workspace=str(workspace.root), environ=workspace.env)
    async with own_caller(settings, workspace.env) as caller:
        # Far less than a start may take.
        answer = await caller.tokens(TokensRequest(patience_s=4))
    reasons = {each.server: each.failure and each.failure.reason for each in answer.servers}
    assert reasons == {"prompt": None, "late": "server-starting"}


def test_hidden_tools_count_as_direct(workspace: Workspace) -> None:
    workspace.echo_child("one")
    before = switchboard(workspace, "tokens", "--json").report
    workspace.config_json({"suites": {"one": {"expose": {"allow": ["echo"]}}}})
    after = switchboard(workspace, "tokens", "--json").report
    assert after["direct"] == before["direct"]


async def test_what_is_counted_as_shown_is_what_a_client_reads_of_it(workspace: Workspace) -> None:
    """Also the first time, when nothing was known of the server, and without hidden names."""
    workspace.echo_child("one")
    workspace.config_json({"suites": {"one": {"expose": {"deny": ["add", "echo"]}}}})
    counted = (await asyncio.to_thread(switchboard, workspace, "tokens", "--json")).report["shown"]
    async with shim(workspace) as client:
        listed = (await client.tools())["one_suite"]
    assert "Tools: " in listed["description"]
    read = {key: listed[key] for key in ("name", "description", "inputSchema")}
    assert counted == tokens(json.dumps(read, separators=(",", ":"), ensure_ascii=False))


@pytest.mark.parametrize("words", [("tokens", "x"), ("tokens", "--args")])
def test_tokens_takes_nothing_else(workspace: Workspace, words: tuple[str, ...]) -> None:
    assert switchboard(workspace, *words).code == 2


async def test_the_calls_of_a_session_are_summed_up_from_the_audit_log(
    workspace: Workspace,
) -> None:
    workspace.config_toml("guard = true\n", scope="home")
    workspace.echo_child("one")
    workspace.child("every", ["node", str(NPM / "server-everything" / "dist" / "index.js")])
    nothing = await _tokens_of(workspace, "last")
    assert (nothing.code, nothing.out) == (0, "")
    assert "no call of a client was counted" in nothing.err
    async with shim(workspace) as client:
        result = await client.call("one_suite", {"action": "introspect"})
        # A host asks for prompts by itself, and its model has written nothing.
        await client.request("prompts/get", {"name": "simple-prompt"})
        await client.close()
    told = tokens(result["content"][0]["text"])
    report = (await _tokens_of(workspace, "last", "--json")).report
    [cost] = report["tools"]
    assert (cost["suite"], cost["tool"], cost["calls"]) == ("one_suite", "one_suite", 1)
    assert 0.75 * told <= cost["read"] <= 1.4 * told
    assert cost["wrote"] > 0
    assert (report["calls"], report["read"]) == (1, cost["read"])
    named = await _tokens_of(workspace, report["session"])
    assert [line.split()[0] for line in named.out.splitlines()] == ["TOOL", "one_suite", "total"]
    assert "tokens are estimated" in named.err


async def test_the_last_session_is_that_of_a_client_not_of_a_command(workspace: Workspace) -> None:
    workspace.config_toml("guard = true\n", scope="home")
    workspace.echo_child("one")
    introspect = ("introspect", "one")
    assert (await asyncio.to_thread(switchboard, workspace, *introspect)).code == 0
    assert "no call of a client was counted" in (await _tokens_of(workspace, "last")).err
    async with shim(workspace) as client:
        await client.introspect("one_suite")
        await client.introspect("one_suite")
        await client.close()
    assert (await asyncio.to_thread(switchboard, workspace, *introspect)).code == 0
    report = (await _tokens_of(workspace, "last", "--json")).report
    assert report["calls"] == 2
    assert report["client"] == "switchboard-tests 1"


async def test_a_session_that_the_log_does_not_know_is_a_failure(workspace: Workspace) -> None:
    done = await _tokens_of(workspace, "nope")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "error: the audit log has no call of a session `nope`\n\n"
        "hint: switchboard tokens --session last\n"
    )


async def _tokens_of(workspace: Workspace, session: str, *words: str) -> Finished:
    return await asyncio.to_thread(switchboard, workspace, "tokens", "--session", session, *words)
