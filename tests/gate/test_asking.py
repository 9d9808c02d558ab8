"""What each answer of a client's user leads to, in both eras, with the official SDK and by hand."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, ElicitResult

from gate.ground import (
    FORMS,
    PATIENCE,
    SUITE,
    Era,
    Gate,
    again,
    asked,
    call,
    fault,
    questions_to,
    run,
    run_answering,
    said,
)
from support.reading import read_it, reply
from support.requirements import requirement

BOTH_ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])
MODES: Any = {"handshake": "legacy", "modern": "2026-07-28"}


class Person:
    """Whoever sits in front of a client of the SDK, and what they were shown."""

    def __init__(self, decision: str) -> None:
        self.decision = decision
        self.shown: list[str] = []

    async def __call__(self, context: object, params: Any) -> ElicitResult:
        del context
        self.shown.append(params.message)
        await read_it()
        return ElicitResult.model_validate(reply(self.decision))


@asynccontextmanager
async def sdk_client(gate: Gate, era: Era, person: Person) -> AsyncGenerator[Client]:
    command, *args = gate.command()
    board = StdioServerParameters(
        command=command, args=args, env=gate.workspace.env, cwd=gate.workspace.root
    )
    async with (
        asyncio.timeout(90),
        Client(board, mode=MODES[era], elicitation_callback=person) as client,
    ):
        yield client


async def write(client: Client, text: str) -> CallToolResult:
    arguments = call("write", text=text)["arguments"]
    result = await client.call_tool(SUITE, arguments)
    assert isinstance(result, CallToolResult)
    return result


@requirement("S3.26", "S3.35")
@BOTH_ERAS
async def test_once_is_for_one_call(gate: Gate, era: Era) -> None:
    person = Person("allow_once")
    async with sdk_client(gate, era, person) as client:
        for text in ("one", "two"):
            assert not (await write(client, text)).is_error
        assert len(person.shown) == 2
        person.decision = "deny"
        assert (await write(client, "three")).is_error
    assert gate.written == ["one", "two"]


@requirement("S3.36")
@BOTH_ERAS
async def test_session_is_for_every_later_call_of_the_tool_and_for_no_other_tool(
    gate: Gate, era: Era
) -> None:
    person = Person("allow_session")
    async with sdk_client(gate, era, person) as client:
        for text in ("one", "two", "three"):
            assert not (await write(client, text)).is_error
        assert len(person.shown) == 1
        person.decision = "deny"
        other = await client.call_tool(SUITE, call("erase", text="four")["arguments"])
        assert isinstance(other, CallToolResult)
        assert other.is_error
        assert len(person.shown) == 2
    assert gate.written == ["one", "two", "three"]


@requirement("S3.34")
@BOTH_ERAS
@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        ("deny", "approval-denied"),
        ("decline", "approval-denied"),
        ("cancel", "approval-cancelled"),
        ("allow_everything", "approval-denied"),
    ],
)
async def test_anything_but_a_yes_writes_nothing(
    gate: Gate, era: Era, decision: str, reason: str
) -> None:
    async with gate.window(era) as client:
        refused = fault(await run_answering(client, decision, "write", text="no"))
        assert (refused["code"], refused["reason"]) == ("permission_denied", reason)
    assert gate.written == []


@requirement("S3.34")
@BOTH_ERAS
async def test_a_question_that_nobody_answers_expires(gate: Gate, era: Era) -> None:
    gate.guard(approval_timeout=1)
    async with gate.window(era) as client:
        params = call("write", text="late")
        if era == "handshake":
            result = await client.request("tools/call", params)
            assert fault(result)["reason"] == "approval-expired"
        else:
            asking = await client.request("tools/call", params)
            async with asyncio.timeout(PATIENCE):
                while (await gate.type("approvals", "list", "--json")).report["approvals"]:
                    pass
            # The call behind the state ends as soon as that is written down, and the state with it.
            answer = client.begin("tools/call", again(asking, params, "allow_once"))
            late = await client.answer_to(answer)
            if "error" in late:
                assert "unknown, spent or of another request" in late["error"]["message"]
            else:
                assert fault(late["result"])["reason"] == "approval-expired"
    assert gate.written == []


@requirement("S3.28", "S3.29", "S3.30", "S3.31", "S3.32", "S3.107")
@BOTH_ERAS
async def test_the_client_shows_facts_first_then_arguments_then_the_servers_words(
    gate: Gate, era: Era
) -> None:
    variables = {"LEDGER_MODE": "plain", "LEDGER_TOKEN": "not-for-anybody"}
    gate.workspace.child("ledger", gate.script, env=variables)
    person = Person("deny")
    async with sdk_client(gate, era, person) as client:
        pin: Any = call("write", text="a line", pin="7391")["arguments"]
        await client.call_tool(SUITE, pin)
    [prompt] = person.shown
    lines = prompt.splitlines()
    first = "Switchboard asks: MAY WRITE · ledger.write · no sandbox · "
    assert lines[0].startswith(first)
    assert lines[0].endswith("…/mcps/ledger")
    assert lines[1].startswith('{"pin": "<hidden: ')
    assert lines[1].endswith('"text": "a line"}')
    assert lines[2].startswith("Careful: hides arguments")
    heads = [line.partition(":")[0] for line in lines[3:]]
    places = [*("Hidden arguments", "Risk", "Side effects", "Folder", "Variables", "Sandbox")]
    places += ["Runs", "Approval", "The server says"]
    assert [head for head in heads if head in places] == places
    assert "Risk: MEDIUM; the server does not say that this tool only reads" in lines
    assert f"Folder: {gate.workspace.settings / 'mcps' / 'ledger'}" in prompt
    assert "LEDGER_MODE=plain" in prompt
    assert "LEDGER_TOKEN is set (hidden)" in prompt
    assert "Sandbox: NONE, network on" in lines
    assert '"text": "a line"' in prompt
    assert "  | Writes a line." in lines
    assert "7391" not in prompt
    assert "not-for-anybody" not in prompt


@BOTH_ERAS
async def test_what_only_reads_and_introspect_never_ask(gate: Gate, era: Era) -> None:
    async with gate.window(era) as client:
        assert {tool["name"] for tool in (await client.introspect(SUITE))["tools"]} >= {"write"}
        assert said(await run(client, "read")) == ""
        await run(client, "browse")
        assert questions_to(client) == []


@requirement("S3.104", "S3.105")
@BOTH_ERAS
async def test_a_tool_that_says_that_it_reads_and_destroys_asks(gate: Gate, era: Era) -> None:
    async with gate.window(era) as client:
        result = await run_answering(client, "allow_once", "erase", text="gone")
        assert said(result) == "written: gone"
        assert len(questions_to(client)) == 1


@BOTH_ERAS
async def test_a_server_that_is_not_believed_asks_for_everything_but_introspect(
    gate: Gate, era: Era
) -> None:
    gate.workspace.child("ledger", gate.script, trustAnnotations=False)
    async with gate.window(era) as client:
        await client.introspect(SUITE)
        assert questions_to(client) == []
        refused = fault(await run_answering(client, "deny", "read"))
        assert refused["reason"] == "approval-denied"


async def test_a_client_that_is_asked_and_goes_away_leaves_nothing_behind(gate: Gate) -> None:
    async with gate.window() as client:
        client.begin("tools/call", call("write", text="late"))
        await asked(client)
        assert len(await gate.waiting()) == 1
        assert await client.close() == 0
        assert await gate.waiting(0) == []
    assert gate.written == []


async def test_a_call_that_its_client_cancels_takes_its_question_back(gate: Gate) -> None:
    async with gate.window(capabilities=FORMS) as client:
        begun = client.begin("tools/call", call("write", text="late"))
        question = await asked(client)
        await gate.waiting()
        await client.notify("notifications/cancelled", {"requestId": begun})
        await client.request("ping")
        assert await gate.waiting(0) == []
        client.send(
            {
                "jsonrpc": "2.0",
                "id": question["id"],
                "result": reply("allow_once"),
            }
        )
        assert said(await run(client, "read")) == ""
    assert gate.written == []
