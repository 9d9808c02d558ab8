"""`find_tool`, `call_tool` and its reading twin, over a gate that asks."""

import json
from typing import Any

import pytest

from find.people import run_agreeing
from gate.ground import FORMS, Era, Gate
from support.mcp_stdio import StdioClient, text_of
from support.workspace import Json, child_command, server

BOTH_ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])
ERROR = "switchboard/error"


def whole(result: Json) -> str:
    return "\n".join(block["text"] for block in result["content"])


async def called(client: StdioClient, face: str, **arguments: Any) -> str:
    return whole(await client.call(face, arguments))


async def reason(client: StdioClient, face: str, **arguments: Any) -> str:
    result = await client.call(face, arguments)
    assert result.get("isError"), result
    return result["_meta"][ERROR]["reason"]


@BOTH_ERAS
async def test_a_lean_listing_has_nothing_but_what_finds_and_calls(lean: Gate, era: Era) -> None:
    async with lean.window(era) as client:
        tools = await client.tools()
        assert list(tools) == ["find_tool", "call_tool", "call_read_only_tool"]
        reads = {
            name: tool.get("annotations", Json()).get("readOnlyHint")
            for name, tool in tools.items()
        }
        assert reads == {"find_tool": True, "call_tool": None, "call_read_only_tool": True}
        # Where a host keeps them back all the same, its own search has words to find them by.
        hints = [tool["_meta"]["anthropic/searchHint"] for tool in tools.values()]
        assert all("any tool of any MCP server" in hint for hint in hints)
        # A suite is not listed, and callable all the same.
        known = await client.introspect("ledger_suite")
        assert "read" in {tool["name"] for tool in known["tools"]}


@BOTH_ERAS
async def test_what_is_found_can_be_called_as_it_was_found(lean: Gate, era: Era) -> None:
    async with lean.window(era) as client:
        found = await called(client, "find_tool", query="add two numbers")
        assert found.splitlines()[0].startswith("echo.add(a: number, b: number)")
        assert "5" in await called(
            client, "call_read_only_tool", tool="echo.add", args={"a": 2, "b": 3}
        )


async def test_the_whole_definition_is_given_to_who_asks_for_it(lean: Gate) -> None:
    async with lean.window() as client:
        found = json.loads(
            await called(client, "find_tool", query="echo.add", limit=1, detail="schema")
        )
        [definition] = found
        assert definition["tool"] == "echo.add"
        assert set(definition["inputSchema"]["properties"]) == {"a", "b"}


async def test_no_match_names_the_servers(lean: Gate) -> None:
    async with lean.window() as client:
        said = await called(client, "find_tool", query="brew coffee tomorrow morning at seven")
        assert said == "No tool matches. Servers: echo, ledger."


@BOTH_ERAS
async def test_a_person_is_asked_about_the_very_tool_and_the_log_has_its_name(
    lean: Gate, era: Era
) -> None:
    async with lean.window(era) as client:
        arguments = {"tool": "ledger.write", "args": {"text": "by address"}}
        result, questions = await run_agreeing(client, "call_tool", arguments)
        assert "written: by address" in text_of(result)
    assert lean.written == ["by address"]
    assert len(questions) == 1
    assert "ledger.write" in questions[0]
    ends = await lean.records(event="tool.call.finished")
    assert [each["tool"] for each in ends] == ["write"]


@BOTH_ERAS
@pytest.mark.parametrize("tool", ["ledger.write", "ledger.erase", "write", "ledger_suite.write"])
async def test_nothing_writes_by_the_twin_that_only_reads(lean: Gate, era: Era, tool: str) -> None:
    async with lean.window(era, capabilities=FORMS) as client:
        arguments = {"tool": tool, "args": {"text": "sneaked in"}}
        assert await reason(client, "call_read_only_tool", **arguments) == "may-write"
        several = {"calls": [arguments]}
        assert "not known to only read" in await called(client, "call_read_only_tool", **several)
    assert lean.written == []
    # The log has the tool that was refused.
    refused, *_ = await lean.records(event="tool.call.refused")
    name = "erase" if tool == "ledger.erase" else "write"
    assert (refused["server"], refused["tool"], refused["via"]) == ("ledger", name, "ledger_suite")


async def test_without_a_gate_the_twin_still_only_reads(lean: Gate) -> None:
    lean.guard(enable_mcp_server_surface=False, surface_tokens="lean")
    async with lean.window() as client:
        assert "content" in await called(client, "call_read_only_tool", tool="ledger.read")
        arguments = {"tool": "ledger.write", "args": {"text": "sneaked in"}}
        assert await reason(client, "call_read_only_tool", **arguments) == "may-write"
    assert lean.written == []


async def test_annotations_of_a_server_that_is_not_believed_open_nothing(lean: Gate) -> None:
    lean.workspace.mcp_json({"doubtful": server(lean.script, trust_annotations=False)})
    async with lean.window() as client:
        assert await reason(client, "call_read_only_tool", tool="doubtful.read") == "may-write"


@pytest.mark.parametrize(
    "args", [{"a": "2", "b": 3}, '{"a": 2, "b": 3}', {"a": 2, "b": "3"}], ids=["text", "json", "b"]
)
async def test_arguments_are_read_as_they_are_meant(lean: Gate, args: Any) -> None:
    async with lean.window() as client:
        assert "5" in await called(client, "call_tool", tool="echo.add", args=args)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"tool": "echo.add", "args": {"a": "x", "b": 1}}, "arguments-invalid"),
        ({"tool": "echo.add", "args": "{broken"}, "arguments-invalid"),
        ({"tool": "echo.add", "args": [1, 2]}, "arguments-invalid"),
        ({"tool": "echo.add"}, "arguments-invalid"),
        ({}, "arguments-invalid"),
        ({"tool": 3}, "arguments-invalid"),
        ({"tool": "echo.add", "calls": []}, "arguments-invalid"),
        ({"calls": []}, "arguments-invalid"),
        ({"calls": [{"tool": "echo.add"}] * 33}, "arguments-invalid"),
        ({"tool": "nobody.nothing"}, "unknown-tool"),
        ({"tool": "call_tool", "args": {"tool": "echo.add"}}, "unknown-tool"),
    ],
)
async def test_a_wrong_call_says_how_it_is_right(
    lean: Gate, arguments: dict[str, Any], wanted: str
) -> None:
    async with lean.window() as client:
        result = await client.call("call_tool", arguments)
        assert result["_meta"][ERROR]["reason"] == wanted
        if arguments.get("tool") == "echo.add" and "calls" not in arguments:
            assert "call it as: echo.add(a: number, b: number)" in text_of(result)


@BOTH_ERAS
async def test_arguments_by_their_other_name_are_the_same(lean: Gate, era: Era) -> None:
    call = {"tool": "echo.add", "arguments": {"a": 2, "b": 3}}
    async with lean.window(era) as client:
        assert "5" in await called(client, "call_read_only_tool", **call)
        assert "5" in await called(client, "call_read_only_tool", calls=[call])


@pytest.mark.parametrize(
    "arguments",
    [
        {"tool": "ledger.read", "text": "flat"},
        {"tool": "ledger.read", "params": {"text": "other word"}},
        {"tool": "ledger.read", "args": {}, "arguments": {"text": "twice"}},
        {"calls": [{"tool": "ledger.read", "text": "flat"}]},
        {"calls": [{"tool": "ledger.read"}], "args": {"text": "of none"}},
        {"calls": [{"tool": "ledger.read"}], "arguments": {"text": "of none"}},
    ],
)
async def test_what_is_not_understood_runs_nothing(lean: Gate, arguments: Json) -> None:
    async with lean.window() as client:
        assert await reason(client, "call_read_only_tool", **arguments) == "arguments-invalid"
    assert await lean.records(event="tool.call.finished") == []


async def test_a_search_says_what_it_does_not_understand(lean: Gate) -> None:
    async with lean.window() as client:
        assert await reason(client, "find_tool", query="add", servers=["echo"]) == (
            "arguments-invalid"
        )


async def test_a_name_that_several_have_is_not_guessed(lean: Gate) -> None:
    lean.workspace.child("more", child_command("echo_child", "more"))
    async with lean.window() as client:
        result = await client.call("call_tool", {"tool": "add", "args": {"a": 1, "b": 2}})
        assert result["_meta"][ERROR]["reason"] == "ambiguous-tool"
        assert "`echo.add` or `more.add`" in text_of(result)


@BOTH_ERAS
async def test_several_calls_run_by_themselves_and_answer_in_order(lean: Gate, era: Era) -> None:
    calls = [
        {"tool": "echo.echo", "args": {"text": "first"}},
        {"tool": "echo.add", "args": {"a": "second"}},
        {"tool": "nobody.nothing"},
        {"tool": "echo.echo", "args": {"text": "last"}},
    ]
    async with lean.window(era) as client:
        result = await client.call("call_read_only_tool", {"calls": calls})
        said = whole(result)
        assert not result.get("isError")
        places = [said.index(word) for word in ("first", "second", "no tool", "last")]
        assert places == sorted(places)


async def test_several_calls_tell_failures_and_structures_as_servers_give_them(lean: Gate) -> None:
    lean.workspace.config_json({"results": {"mode": "passthrough"}})
    async with lean.window() as client:
        calls: list[Json] = [{"tool": "echo.fail", "args": {"why": "no"}}]
        failed, _ = await run_agreeing(client, "call_tool", {"calls": calls})
        assert failed["isError"]
        assert "echo.fail failed:" in whole(failed)
        calls.append({"tool": "echo.add", "args": {"a": 2, "b": 3}})
        result, _ = await run_agreeing(client, "call_tool", {"calls": calls})
        assert not result.get("isError")


@BOTH_ERAS
async def test_each_of_several_calls_is_asked_about(lean: Gate, era: Era) -> None:
    calls = [{"tool": "ledger.write", "args": {"text": text}} for text in ("one", "two")]
    async with lean.window(era) as client:
        result, questions = await run_agreeing(client, "call_tool", {"calls": calls})
        assert whole(result).count("written:") == 2
    assert sorted(lean.written) == ["one", "two"]
    assert len(questions) == 2
    # Neither the log nor who counts it knows of anything but the two.
    for event in ("tool.call.started", "tool.call.finished"):
        assert [each["tool"] for each in await lean.records(event=event)] == ["write", "write"]
    usage = await lean.type("usage", "--json")
    assert [(each["tool"], each["calls"]) for each in usage.report["tools"]] == [("write", 2)]


async def test_suites_are_listed_while_they_fit(gate: Gate) -> None:
    for number in range(8):
        gate.workspace.child(f"s{number}", child_command("echo_child", f"s{number}"))
    gate.guard(surface_tokens=400)
    async with gate.window() as client:
        first, again = await client.tools(), await client.tools()
        suites = [name for name in first if name.endswith("_suite")]
        assert 1 <= len(suites) < 9
        assert list(first) == [*suites, "find_tool", "call_tool", "call_read_only_tool"]
        assert first == again
    # What is listed in any case is paid for too.
    gate.workspace.config_json({"results": {"inlineTokens": 500, "handles": "always"}})
    async with gate.window() as client:
        tools = await client.tools()
        assert "read_result" in tools
        assert 0 < sum(name.endswith("_suite") for name in tools) < len(suites)
