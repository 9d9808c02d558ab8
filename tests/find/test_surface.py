"""The listing within a budget: signatures of known tools, the same for as long as a session is."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.json import encode

from fakes.calls import a_session
from find.people import run_agreeing
from gate.ground import Era, Gate
from support.daemons import daemon_pid
from support.mcp_stdio import text_of
from support.processes import mentioning, until_true
from support.tokenizer import tokens as tokens_of
from support.workspace import Json, child_command, server
from switchboard.children.listings.kept_words import KeptWords
from switchboard.core.catalog.tools import Outline, ToolSpec
from switchboard.providers.find.specs import find_specs
from switchboard.providers.find.surface import Surface
from switchboard.providers.recall.specs import read_spec

BOTH_ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])
WRITES, READS = "call_tool", "call_read_only_tool"


@pytest.fixture
def balanced(gate: Gate) -> Gate:
    gate.guard(surface_tokens="balanced")
    gate.workspace.echo_child()
    return gate


def configure_own_tools(gate: Gate, more: str = "") -> None:
    """Write a command, an agent and a yard, in a home whose listing is balanced."""
    command, *args = child_command("acp_child")
    program = ["-I", "-S", "-c", "import json, sys; print('said', json.load(sys.stdin)['text'])"]
    lines = [
        "enable_mcp_server_surface = true",
        'surface_tokens = "balanced"',
        more,
        "[mcp.say]",
        'description = "Say a text aloud."',
        f"command = {json.dumps(sys.executable)}",
        f"args = {json.dumps(program)}",
        "[mcp.say.input_schema]",
        'type = "object"',
        'required = ["text"]',
        'properties.text.type = "string"',
        "[agents.acp.parrot]",
        f"command = {json.dumps(command)}",
        f"args = {json.dumps(args)}",
    ]
    workspace = gate.workspace
    workspace.config_toml("\n".join(lines), scope="home")
    (workspace.home / "agents").mkdir()
    agent = 'name = "parrot"\nengine = "acp:parrot"\n'
    (workspace.home / "agents" / "parrot.toml").write_text(agent, "utf-8")
    workspace.write("switchyard.toml", '[services.web]\ncommand = ["true"]\n')
    for words in (["init", "-q"], ["add", "switchyard.toml"], ["commit", "-qm", "begin"]):
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *name, *words], cwd=workspace.root, check=True)


def told(tools: Json, face: str) -> list[str]:
    return tools[face]["description"].splitlines()[1:]


async def learned(gate: Gate, *suites: str) -> None:
    """Have a session that knows the servers, so that later ones are told of them."""
    async with gate.window() as client:
        for suite in suites:
            await client.introspect(suite)


async def listing(gate: Gate, era: Era = "handshake") -> Json:
    async with gate.window(era) as client:
        return await client.tools()


@BOTH_ERAS
async def test_known_tools_are_told_as_signatures_by_the_face_that_may_call_them(
    balanced: Gate, era: Era
) -> None:
    await learned(balanced, "ledger_suite", "echo_suite")
    async with balanced.window(era) as client:
        tools = await client.tools()
        assert "echo.add(a: number, b: number)" in told(tools, READS)
        assert any(line.startswith("ledger.write(") for line in told(tools, WRITES))
        assert not any(line.startswith("ledger.write(") for line in told(tools, READS))
        # As they are told, in one trip, with nothing found before.
        call = {"tool": "echo.add", "args": {"a": 2, "b": 3}}
        assert "5" in text_of(await client.call(READS, call))
        result, _ = await run_agreeing(
            client, WRITES, {"tool": "ledger.write", "args": {"text": "one"}}
        )
        assert "written: one" in text_of(result)


async def test_a_session_is_told_the_same_until_it_ends_and_so_is_every_later_one(
    balanced: Gate,
) -> None:
    async with balanced.window() as client:
        first = await client.tools()
        assert "echo_suite" in first
        await client.introspect("echo_suite")
        await client.introspect("ledger_suite")
        assert await client.tools() == first
    before = json.dumps(await listing(balanced))
    assert json.dumps(await listing(balanced)) == before != json.dumps(first)
    balanced.workspace.stop_daemon()
    assert json.dumps(await listing(balanced)) == before


async def test_a_search_makes_the_tools_known_too(balanced: Gate) -> None:
    async with balanced.window() as client:
        await client.call("find_tool", {"query": "add two numbers"})
    await until_true((balanced.workspace.home / "cache" / "suite-words.json").exists)
    balanced.workspace.stop_daemon()
    assert "echo.add(a: number, b: number)" in told(await listing(balanced), READS)


async def test_nothing_is_told_that_the_session_may_not_call(balanced: Gate) -> None:
    balanced.workspace.config_json({"suites": {"echo": {"expose": {"deny": ["add"]}}}})
    await learned(balanced, "ledger_suite", "echo_suite")
    lines = told(await listing(balanced), READS)
    assert any(line.startswith("echo.echo(") for line in lines)
    assert not any("add(" in line for line in lines)


async def test_a_server_that_is_not_believed_reads_nothing_unasked(balanced: Gate) -> None:
    balanced.workspace.echo_child(trustAnnotations=False)
    await learned(balanced, "echo_suite")
    tools = await listing(balanced)
    assert any(line.startswith("echo.add(") for line in told(tools, WRITES))
    assert not told(tools, READS)


async def test_no_description_is_longer_than_hosts_show(balanced: Gate) -> None:
    for number in range(6):
        balanced.workspace.child(f"w{number}", child_command("wide_child", "40", "100", "400"))
    balanced.guard(surface_tokens=50_000)
    await learned(balanced, "ledger_suite", *(f"w{number}_suite" for number in range(6)))
    tools = await listing(balanced)
    assert all(len(tool["description"]) <= 2_048 for tool in tools.values())
    # Nobody takes all the room.
    servers = {line.partition(".")[0] for face in (READS, WRITES) for line in told(tools, face)}
    assert servers >= {f"w{number}" for number in range(6)}


async def test_the_most_used_are_told_first_from_the_next_session_on(gate: Gate) -> None:
    gate.workspace.child("wide", child_command("wide_child", "40", "100", "400"))
    gate.guard(surface_tokens=60)
    await learned(gate, "wide_suite")
    last = "wide.do_thing_39(limit_39?: int)"
    async with gate.window() as client:
        call: Json = {"action": "call", "subtool": "do_thing_39"}
        await client.call("wide_suite", call)
    # What was written down is on disk then.
    gate.workspace.stop_daemon()
    async with gate.window() as client:
        before = told(await client.tools(), READS)
        assert before
        assert last not in before
        await client.call("find_tool", {"query": "do thing"})
        words = gate.workspace.home / "cache" / "suite-words.json"
        await until_true(lambda: b"do_thing_39" in words.read_bytes().partition(b'"used":')[2])
        assert told(await client.tools(), READS) == before
    after = told(await listing(gate), READS)
    assert last in after
    assert after == sorted(after)
    # What is called meanwhile changes nothing on the same day.
    async with gate.window() as client:
        for _ in range(3):
            await client.call("wide_suite", {**call, "subtool": "do_thing_38"})
        await client.call("find_tool", {"query": "do thing"})
    gate.workspace.stop_daemon()
    assert told(await listing(gate), READS) == after


async def test_only_the_server_of_an_address_is_asked(balanced: Gate) -> None:
    balanced.workspace.child("never", child_command("misbehaving_child", "silent"))
    async with balanced.window() as client:
        call = {"tool": "echo.add", "args": {"a": 2, "b": 3}}
        assert "5" in text_of(await client.call(READS, call))
    assert mentioning("misbehaving_child") == []


async def test_direct_shows_every_tool_under_its_own_name(gate: Gate) -> None:
    gate.workspace.echo_child()
    gate.workspace.echo_child("kept")
    gate.workspace.config_json({"suites": {"kept": {"expose": "suite"}}})
    gate.guard(surface_tokens="direct")
    async with gate.window() as client:
        tools = await client.tools()
        assert {"write", "add", "echo", "kept_suite"} <= set(tools)
        assert not {"echo_suite", "ledger_suite", "find_tool"} & set(tools)
        assert "5" in text_of(await client.call("add", {"a": 2, "b": 3}))


async def test_a_workspace_does_not_take_the_tools_of_its_user_out_of_their_suites(
    gate: Gate,
) -> None:
    servers = {"mcpServers": {"mine": server(child_command("echo_child", "mine"))}}
    (gate.workspace.home / "mcp.json").write_text(json.dumps(servers), "utf-8")
    gate.workspace.config_toml('surface_tokens = "direct"\n')
    tools = await listing(gate)
    assert "mine_suite" in tools
    assert "write" in tools


async def test_tools_that_are_in_no_suite_are_told_and_found_with_those_of_servers(
    gate: Gate,
) -> None:
    configure_own_tools(gate)
    async with gate.window() as client:
        lines = told(tools := await client.tools(), WRITES)
        assert "say(text: string) - Say a text aloud." in lines
        assert any(line.startswith("agent_parrot(task: string") for line in lines)
        assert any(line.startswith("switchyard_status(") for line in told(tools, READS))
        for query, found in (
            ("say a text aloud", "say(text: string)"),
            ("parrot", "agent_parrot("),
            ("status of the services", "switchyard_status("),
        ):
            answer = text_of(await client.call("find_tool", {"query": query}))
            assert any(line.startswith(found) for line in answer.splitlines()), answer
        # As they are told, by their own names.
        call: Json = {"tool": "switchyard_status", "args": {}}
        assert "services" in text_of(await client.call(READS, call))
        result, asked = await run_agreeing(client, WRITES, {"tool": "say", "args": {"text": "hi"}})
        assert "said hi" in text_of(result)
        assert len(asked) == 1


async def test_what_is_denied_is_neither_told_nor_found(gate: Gate) -> None:
    configure_own_tools(gate, '[tools]\ndeny = ["say", "echo_suite"]\n')
    gate.workspace.echo_child()
    await learned(gate, "ledger_suite")
    async with gate.window() as client:
        tools = await client.tools()
        lines = [*told(tools, READS), *told(tools, WRITES)]
        assert any(line.startswith("ledger.write(") for line in lines)
        assert not any(line.startswith(("say(", "echo.")) for line in lines)
        for query in ("say a text aloud", "add two numbers"):
            answer = text_of(await client.call("find_tool", {"query": query}))
            assert "say(" not in answer
            assert "echo." not in answer


async def test_a_face_that_only_reads_is_listed_with_its_suite_or_not_at_all(
    balanced: Gate,
) -> None:
    balanced.workspace.config_json({"surface": {"split": "always"}})
    await learned(balanced, "ledger_suite", "echo_suite")
    every = {"echo_suite", "echo_suite_read", "ledger_suite", "ledger_suite_read"}
    shown: list[set[str]] = []
    for tokens in (250, 350, 1_000):
        balanced.guard(surface_tokens=tokens)
        tools = await listing(balanced)
        assert "echo.add(a: number, b: number)" in told(tools, READS)
        # All tools of both are told, so that one face alone would say nothing.
        shown.append(every & set(tools))
    assert shown == [set(), set(), every]


def test_what_every_listing_pays_for_is_told_in_few_words() -> None:
    """With the signatures of the six reference servers, it is what one trip may cost."""
    told = [*find_specs(), read_spec(is_borrowed=True)]
    costs = [
        tokens_of(
            encode({"name": each.name, "about": each.description, "in": each.input_schema}).decode()
        )
        for each in told
    ]
    assert sum(costs) <= 320


def test_however_long_its_lines_a_description_stays_within_what_hosts_show(tmp_path: Path) -> None:
    """Claude Code cuts one after 2,048 letters, in the middle of a signature."""
    for length in range(20, 60):
        outlines = tuple(Outline("t" * length, f"{number:0{length}}()") for number in range(200))
        suite = ToolSpec(name="s_suite", provider="suites", behind=lambda _, each=outlines: each)
        specs = Surface([suite, *find_specs()], 50_000, KeptWords(str(tmp_path))).arranged(
            [suite, *find_specs()]
        )
        [told] = [each.described_to(a_session()) for each in specs if each.name == WRITES]
        assert 1_900 < len(told) <= 2_048


@BOTH_ERAS
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_session_is_told_the_same_by_the_next_daemon(
    balanced: Gate, era: Era, is_first: bool
) -> None:
    """Also what was known of no server, and what the servers have said since."""
    if not is_first:
        async with balanced.window(era) as client:
            await client.introspect("echo_suite")
    async with balanced.window(era) as client:
        told = await client.tools()
        await client.introspect("ledger_suite")
        assert await client.tools() == told
        before = daemon_pid(balanced.workspace)
        os.kill(before, signal.SIGKILL)
        assert await client.tools() == told
        assert daemon_pid(balanced.workspace) != before
    async with balanced.window(era) as client:
        assert await client.tools() != told
