"""The second tool of a suite: what reads is told from what writes, for hosts and by the gate."""

import json
from typing import Any

import pytest

from find.people import run_agreeing
from gate.ground import Era, Gate, said
from support.mcp_stdio import StdioClient
from support.workspace import Json

BOTH_ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])
READING = "ledger_suite_read"


def split(gate: Gate, mode: str, *, guard: bool = True) -> None:
    gate.guard(enable_mcp_server_surface=guard)
    gate.workspace.config_json({"surface": {"split": mode}})


async def suite(client: StdioClient, face: str, subtool: str, **args: Any) -> Json:
    return await client.call(face, {"action": "call", "subtool": subtool, "args": args})


@BOTH_ERAS
async def test_a_suite_has_a_face_that_only_reads_and_keeps_its_own(gate: Gate, era: Era) -> None:
    async with gate.window(era) as client:
        before = await client.tools()
    split(gate, "always")
    async with gate.window(era) as client:
        tools = await client.tools()
        assert list(tools) == ["ledger_suite", READING]
        # The suite is what it was; the face takes the same.
        assert tools["ledger_suite"] == before["ledger_suite"]
        assert tools[READING]["inputSchema"] == tools["ledger_suite"]["inputSchema"]
        assert tools[READING]["annotations"]["readOnlyHint"] is True


@BOTH_ERAS
@pytest.mark.parametrize("guard", [True, False], ids=["guarded", "unguarded"])
async def test_what_reads_is_read_and_what_may_write_is_refused(
    gate: Gate, era: Era, guard: bool
) -> None:
    split(gate, "always", guard=guard)
    async with gate.window(era) as client:
        assert said(await suite(client, READING, "read")) == ""
        known = json.loads(
            (await client.call(READING, {"action": "introspect"}))["content"][0]["text"]
        )
        assert "write" in {tool["name"] for tool in known["tools"]}
        for subtool in ("write", "erase"):
            refused = await suite(client, READING, subtool, text="sneaked in")
            error = refused["_meta"]["switchboard/error"]
            assert (error["reason"], error["hint"]) == ("may-write", "call it by `ledger_suite`")
    assert gate.written == []


async def test_the_other_face_writes_once_a_person_agrees(gate: Gate) -> None:
    split(gate, "always")
    async with gate.window() as client:
        arguments = {"action": "call", "subtool": "write", "args": {"text": "agreed"}}
        _, questions = await run_agreeing(client, "ledger_suite", arguments)
        assert len(questions) == 1
    assert gate.written == ["agreed"]


async def test_a_tool_that_turns_into_one_that_writes_is_not_read_any_more(gate: Gate) -> None:
    split(gate, "always")
    async with gate.window() as client:
        assert said(await suite(client, READING, "reword", text="reads")) == "reworded"
        refused = await suite(client, READING, "write", text="x")
        assert refused["_meta"]["switchboard/error"]["reason"] in {
            "may-write",
            "definition-changed",
        }
    assert gate.written == []


@pytest.mark.parametrize(
    ("client_name", "is_split"),
    [("codex-mcp-client", True), ("claude-code", True), ("Visual Studio Code", True), ("x", False)],
)
async def test_auto_asks_a_table_of_hosts(gate: Gate, client_name: str, is_split: bool) -> None:
    split(gate, "auto")
    async with gate.window() as client:
        about = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": client_name, "version": "1"},
        }
        await client.request("initialize", about)
        assert (READING in await client.tools()) == is_split


async def test_without_a_word_there_is_one_suite_and_nothing_beside_it(gate: Gate) -> None:
    async with gate.window() as client:
        assert list(await client.tools()) == ["ledger_suite"]
