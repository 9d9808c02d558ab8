"""A wrapped child: its script started by any client, and the same child behind Switchboard."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from cli.commands import switchboard
from gate.ground import FORMS, Gate, answered, asked, fault
from natural.model_server import KEY, chooses, model_server
from support.mcp_stdio import talking_to, text_of
from support.models.messages import messages_model
from support.models.script import use
from support.processes import descendants_of, mentioning, until_true, wait_until_none_mention
from support.requirements import requirement
from support.workspace import Json, Workspace

SCRIPT = ".switchboard/mcps/ledger/ledger-claude-wrapper.mjs"
SUITE = "ledger_suite"
QUERY: Json = {"query": "write down that the rent is paid"}
NATURAL: Json = {"action": "call", "subtool": "natural_language", "args": QUERY}
WRITING = chooses("write", text="rent paid")


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        workspace = Workspace(Path(folder), daemon=True)
        yield workspace
        workspace.stop_daemon()
        wait_until_none_mention(str(workspace.root))


@pytest.fixture
def gate(workspace: Workspace) -> Gate:
    gate = Gate(workspace)
    assert switchboard(workspace, "wrap", "ledger").code == 0
    return gate


def unguarded(gate: Gate) -> None:
    gate.guard(enable_mcp_server_surface=False)


def log_of(gate: Gate) -> str:
    return Path(gate.workspace.daemon_places.log).read_text("utf-8")


@requirement("S2.92", "S2.93", "S2.95", "S2.96", "S2.97", "S2.98")
async def test_the_script_is_a_server_that_takes_sentences_and_ends_its_child(gate: Gate) -> None:
    unguarded(gate)
    folder = gate.workspace.settings / "mcps" / "ledger"
    # A file of the workspace is trusted as it is now.
    (folder / "CLAUDE.md").write_text("You keep a ledger.\n", "utf-8")
    with messages_model(use("choose", subtool="write", args={"text": "rent paid"})) as model:
        server = StdioServerParameters(
            command="node",
            args=[str(gate.workspace.root / SCRIPT)],
            env={
                **gate.workspace.env,
                "ANTHROPIC_API_KEY": KEY,
                "ANTHROPIC_BASE_URL": model.url,
            },
            # Wherever its client stands.
            cwd=str(gate.workspace.user_home),
        )
        async with asyncio.timeout(90), Client(server, mode="legacy") as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == ["natural_language"]
            assert gate.written == []
            result = await client.call_tool("natural_language", QUERY)
            assert isinstance(result, CallToolResult)
            assert not result.is_error, result
            last = result.content[-1]
            assert isinstance(last, TextContent)
            assert json.loads(last.text)["natural_language"] == {
                "subtool": "write",
                "args": {"text": "rent paid"},
            }
            assert mentioning(str(gate.ledger))
        assert gate.written == ["rent paid"]
        assert model.conversation["system"].endswith("You keep a ledger.")
    # Its client has gone, and so has everything that it started.
    await until_true(lambda: not mentioning(str(gate.workspace.root)))


@requirement("S2.98")
async def test_a_signal_to_the_script_ends_the_child_too(gate: Gate) -> None:
    unguarded(gate)
    with model_server(WRITING) as model:
        env = {**gate.workspace.env, **model.environ, "PATH": gate.workspace.env["PATH"]}
        script = ["node", str(gate.workspace.root / SCRIPT)]
        async with talking_to(script, cwd=gate.workspace.root, env=env) as client:
            await client.initialize()
            await client.call("natural_language", QUERY)
            family = descendants_of(client.pid)
            assert len(family) >= 2
            client.process.terminate()
            await client.ended()
            await until_true(lambda: not mentioning(str(gate.ledger)))


async def test_a_script_whose_child_is_not_trusted_starts_nothing(gate: Gate) -> None:
    env = {**gate.workspace.env, "SWITCHBOARD_TRUST_WORKSPACE": "0"}
    script = ["node", str(gate.workspace.root / SCRIPT)]
    async with talking_to(script, cwd=gate.workspace.root, env=env) as client:
        assert await client.ended() == 1
        assert "switchboard trust ledger" in client.stderr


async def test_a_script_without_switchboard_says_what_is_missing(gate: Gate) -> None:
    env = {"PATH": os.environ["PATH"], "SWITCHBOARD_PROGRAM": "no-such-switchboard"}
    script = ["node", str(gate.workspace.root / SCRIPT)]
    async with talking_to(script, cwd=gate.workspace.root, env=env) as client:
        assert await client.ended() == 1
        assert "install Switchboard" in client.stderr


@requirement("S2.90", "S2.93", "S2.94", "S2.97")
async def test_behind_switchboard_a_person_is_asked_for_the_real_subtool_once(gate: Gate) -> None:
    with model_server(WRITING) as model:
        variables = {key: value for key, value in model.environ.items() if key != "PATH"}
        async with gate.window(capabilities=FORMS, env=variables) as client:
            shown = await client.introspect(SUITE)
            assert [tool["name"] for tool in shown["tools"]] == ["natural_language"]
            begun = client.begin("tools/call", {"name": SUITE, "arguments": NATURAL})
            question = await asked(client)
            text = question["params"]["message"]
            assert " · ledger.write · no sandbox · " in text
            assert f"A model chose this call for the words:\n  | {QUERY['query']}\n" in text
            assert '"text": "rent paid"' in text
            assert gate.written == []
            answered(client, question, "allow_once")
            result = (await client.answer_to(begun))["result"]
            assert not result.get("isError"), result
            assert '"subtool":"write"' in text_of(result)
        assert gate.written == ["rent paid"]
        # The script itself never ran, so no call could pass by the gate.
        assert mentioning(str(gate.workspace.root / SCRIPT)) == []
    records = await gate.records(event="tool.call.finished")
    assert [record["tool"] for record in records if record["tool"] != SUITE] == ["write"]
    assert KEY not in log_of(gate) + json.dumps(records)


async def test_a_person_at_the_desk_approves_the_call_that_is_sent_again(gate: Gate) -> None:
    with model_server(WRITING, chooses("write", text="something else")) as model:
        variables = {key: value for key, value in model.environ.items() if key != "PATH"}
        async with gate.window(capabilities={}, env=variables) as client:
            first = asyncio.ensure_future(client.call(SUITE, NATURAL))
            await gate.decide("approve")
            result = await first
            if result.get("isError"):
                assert "approv" in fault(result)["reason"]
                result = await client.call(SUITE, NATURAL)
            assert not result.get("isError"), result
        assert gate.written == ["rent paid"]
        assert len(model.asked) == 1
