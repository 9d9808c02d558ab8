"""A tool that hosts would refuse with every request is left out alone, named, and callable."""

import json
from typing import Literal

import pytest

from cli.commands import switchboard
from gate.ground import Gate
from support.mcp_stdio import text_of
from support.processes import until_true
from support.workspace import child_command

REFUSED = {"choice", "typed", "spaced"}
TAKEN = {"plain", "untyped", "itemless", "old"}


@pytest.fixture
def odd(gate: Gate) -> Gate:
    gate.guard(enable_mcp_server_surface=False)
    gate.workspace.child("odd", child_command("odd_child"))
    return gate


def shown(gate: Gate, expose: Literal["tools", "suite"]) -> None:
    gate.workspace.config_json({"suites": {"odd": {"expose": expose}}})


async def test_only_the_bad_ones_are_left_out_and_each_can_be_called(
    odd: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("support.mcp_stdio.CLIENT", {"name": "claude-code", "version": "2"})
    shown(odd, "tools")
    async with odd.window() as client:
        tools = await client.tools()
        assert set(tools) >= TAKEN
        assert not REFUSED & set(tools)
        assert tools["untyped"]["inputSchema"]["type"] == "object"
        assert tools["itemless"]["inputSchema"]["properties"]["all"]["items"] == {}
        assert "$schema" not in tools["old"]["inputSchema"]
        assert text_of(await client.call("choice", {"a": 1})) == "done with ['a']"
        assert text_of(await client.call("untyped", {"path": "x"})) == "done with ['path']"
    await until_true(lambda: "choice" in switchboard(odd.workspace, "list").err)
    listed = switchboard(odd.workspace, "list")
    assert listed.code == 0
    assert "hosts would refuse the tool `typed`" in listed.err
    assert "`int` is no type" in listed.err
    warned = switchboard(odd.workspace, "doctor", "--json").report["findings"]
    named = [each for each in warned if each["subject"] == "odd" and "refuse" in each["message"]]
    assert len(named) == len(REFUSED)
    assert {each["severity"] for each in named} == {"warning"}


async def test_a_client_that_is_no_host_gets_every_schema_as_it_is(odd: Gate) -> None:
    shown(odd, "tools")
    async with odd.window() as client:
        tools = await client.tools()
        assert set(tools) >= TAKEN | REFUSED
        assert "anyOf" in tools["choice"]["inputSchema"]
        assert "$schema" in tools["old"]["inputSchema"]


async def test_in_a_suite_they_are_named_with_their_rules(odd: Gate) -> None:
    shown(odd, "suite")
    async with odd.window() as client:
        told = await client.introspect("odd_suite")
        assert {tool["name"] for tool in told["tools"]} == TAKEN | REFUSED
        assert set(told["refused"]) == REFUSED
        assert "anyOf" in told["refused"]["choice"]
        [one] = json.loads(
            text_of(await client.call("odd_suite", {"action": "introspect", "subtool": "plain"}))
        )["tools"]
        assert one["name"] == "plain"
        call = {"action": "call", "subtool": "choice", "args": {"b": 2}}
        assert "done with ['b']" in text_of(await client.call("odd_suite", call))
    warned = switchboard(odd.workspace, "doctor", "--json").report["findings"]
    named = [each for each in warned if each["subject"] == "odd" and "refuse" in each["message"]]
    assert {each["severity"] for each in named} == {"note"}
