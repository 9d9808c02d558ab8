"""The gate is on by default. Without it nothing is guarded or kept; discovery stays the same."""

from pathlib import Path
from typing import Literal

import pytest
from mcp import Client, StdioServerParameters

from gate.ground import SUITE, Era, Gate, fault, questions_to, run, said
from support.mcp_stdio import StdioClient
from support.requirements import attack, requirement
from support.workspace import Json

BOTH_ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])
BOTH_FLAGS = (False, True)


def switch(gate: Gate, *, on: bool) -> None:
    if on:
        gate.guard()
    else:
        gate.workspace.config_toml("guard = false\n", scope="home")


def state_of(gate: Gate) -> set[str]:
    """Give the files of the home that belong to the gate."""
    home = gate.workspace.home
    names = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    return {name for name in names if "audit" in name or "approvals" in name}


async def listing(client: StdioClient) -> list[Json]:
    """Give everything that discovery tells, in order."""
    answers = [await client.request("tools/list")]
    answers.append(await client.call(SUITE, {"action": "introspect"}))
    answers.append(await client.call(SUITE, {"action": "introspect", "subtool": "write"}))
    return answers


@requirement("S3.112")
async def test_nobody_has_to_ask_for_the_gate(gate: Gate) -> None:
    gate.workspace.config_toml("# nothing of the guard\n", scope="home")
    async with gate.window(capabilities={}, command=gate.hurried(hold_s=0.3)) as client:
        assert fault(await run(client, "write", text="no"))["reason"] == "approval-required"
    assert gate.written == []


@requirement("S3.112")
@pytest.mark.parametrize("key", ["guard", "enable_mcp_server_surface"])
@attack("A5")
async def test_a_workspace_cannot_take_the_gate_away(gate: Gate, key: str) -> None:
    gate.workspace.config_toml("# nothing of the guard\n", scope="home")
    gate.workspace.config_toml(f"{key} = false\n")
    async with gate.window(capabilities={}, command=gate.hurried(hold_s=0.3)) as client:
        assert fault(await run(client, "write", text="no"))["reason"] == "approval-required"
    assert gate.written == []


@requirement("S3.110", "S3.111", "S3.115")
@BOTH_ERAS
@attack("A6")
async def test_without_the_flag_nobody_is_asked_and_nothing_is_kept(gate: Gate, era: Era) -> None:
    switch(gate, on=False)
    async with gate.window(era) as client:
        assert said(await run(client, "write", text="unasked")) == "written: unasked"
        assert said(await run(client, "erase", text="unasked too"))
        unknown = fault(await run(client, "wriet", text="no"))
        assert unknown["reason"] == "unknown-subtool"
        assert questions_to(client) == []
    assert gate.written == ["unasked", "unasked too"]
    gate.workspace.stop_daemon()
    assert state_of(gate) == set()


@requirement("S3.115", "S3.116", "S3.118")
@BOTH_ERAS
async def test_both_discovery_paths_tell_the_same_in_the_same_order(gate: Gate, era: Era) -> None:
    gate.workspace.echo_child()
    seen: list[list[str]] = []
    # What servers say of themselves is known from then on.
    async with gate.window(era) as client:
        await listing(client)
        await client.call("echo_suite", {"action": "introspect"})
    gate.workspace.stop_daemon()
    for on in BOTH_FLAGS:
        switch(gate, on=on)
        async with gate.window(era) as client:
            answers = await listing(client)
            assert answers[0]["tools"]
            # As text: the order of members counts too.
            seen.append([str(answer) for answer in answers])
        gate.workspace.stop_daemon()
    assert seen[0] == seen[1]


@requirement("S3.116", "S3.118")
@pytest.mark.parametrize("expose", ["suite", "tools"])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_official_client_finds_the_same_tools_on_both_paths(
    gate: Gate, mode: Literal["legacy", "2026-07-28"], expose: str
) -> None:
    gate.workspace.config_json({"suites": {"ledger": {"expose": expose}}})
    found: list[str] = []
    for on in BOTH_FLAGS:
        switch(gate, on=on)
        command, *args = gate.command()
        board = StdioServerParameters(
            command=command, args=args, env=gate.workspace.env, cwd=gate.workspace.root
        )
        async with Client(board, mode=mode) as client:
            found.append((await client.list_tools()).model_dump_json())
        gate.workspace.stop_daemon()
    assert found[0] == found[1]
    assert '"write"' in found[0] if expose == "tools" else f'"{SUITE}"' in found[0]


@requirement("S3.104", "S3.116")
@BOTH_ERAS
async def test_a_tool_under_its_own_name_is_guarded_as_in_its_suite(gate: Gate, era: Era) -> None:
    gate.workspace.config_json({"suites": {"ledger": {"expose": "tools"}}})
    async with gate.window(era, capabilities={}, command=gate.hurried(hold_s=0.3)) as client:
        assert {"write", "read"} <= set(await client.tools())
        refused = await client.call("write", {"text": "no"})
        assert fault(refused)["reason"] == "approval-required"
        assert not (await client.call("read", {})).get("isError")
    assert gate.written == []


@requirement("S3.119")
@pytest.mark.parametrize("on", BOTH_FLAGS)
async def test_errors_keep_their_codes_on_both_paths(gate: Gate, *, on: bool) -> None:
    switch(gate, on=on)
    async with gate.window() as client:
        codes = [
            fault(await client.call(SUITE, {"action": "call"}))["code"],
            fault(await run(client, "wriet"))["code"],
            fault(await client.call(SUITE, {"action": "dance"}))["code"],
        ]
        assert codes == ["invalid_argument", "not_found", "invalid_argument"]


@requirement("S3.111", "S3.117")
def test_the_schema_of_config_toml_tells_of_the_flag() -> None:
    text = (Path(__file__).parents[2] / "schemas" / "config.schema.json").read_text("utf-8")
    assert '"guard"' in text
    assert '"enable_mcp_server_surface"' in text
