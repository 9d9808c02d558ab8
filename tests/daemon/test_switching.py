"""`disable` and `enable`: a server is off until its user wants it again, whoever is served."""

import asyncio
import json
import stat

import pytest

from cli.commands import UNTRUSTING, switchboard
from support.daemons import shim, status
from support.mcp_stdio import StdioClient
from support.processes import until_gone
from support.workspace import Workspace, child_command, server


async def suites(client: StdioClient) -> set[str]:
    listed = await client.request("tools/list")
    return {tool["name"] for tool in listed["tools"]}


async def test_a_server_is_switched_off_and_on_while_a_client_is_served(
    workspace: Workspace,
) -> None:
    workspace.mcp_json({"mine": server(child_command("echo_child", "mine"))}, scope="home")
    async with shim(workspace) as client:
        await client.call_subtool("echo_suite", "echo", {"text": "hi"})
        found = status(workspace)
        assert found is not None
        (child,) = [each for each in found["children"] if each["name"] == "echo" and each["pid"]]
        off = await asyncio.to_thread(switchboard, workspace, "disable", "echo", "--json")
        assert off.report["servers"] == [{"name": "echo", "where": "here", "is_new": True}]
        assert await suites(client) == {"mine_suite"}
        await until_gone([child["pid"]])
        on = await asyncio.to_thread(switchboard, workspace, "enable", "echo", apart=True)
        assert on.out == "echo is on in this workspace\n"
        assert await suites(client) == {"echo_suite", "mine_suite"}
        again = await client.call_subtool("echo_suite", "echo", {"text": "hi"})
        assert "echo: hi" in json.dumps(again)


def test_what_is_off_is_listed_as_off_and_never_started(workspace: Workspace) -> None:
    before = {path: path.read_bytes() for path in workspace.root.rglob("*") if path.is_file()}
    assert switchboard(workspace, "disable", "echo_suite").out == "echo is off in this workspace\n"
    after = {path: path.read_bytes() for path in workspace.root.rglob("*") if path.is_file()}
    assert before == after, "a file of the workspace was changed"
    record = workspace.home / "switched-off.json"
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    listed = switchboard(workspace, "list")
    (row,) = [line for line in listed.out.splitlines() if line.startswith("echo ")]
    assert "  off  " in row
    assert listed.err == "hint: switchboard enable echo\n"
    (entry,) = switchboard(workspace, "list", "--json").report["servers"]
    assert (entry["is_off"], entry["left_out"]) == (True, "")
    called = switchboard(workspace, "call", "echo", "echo", "--args", '{"text": "x"}')
    assert (called.code, called.err) == (
        1,
        "error: the server `echo` is switched off\n\nhint: switchboard enable echo\n",
    )
    doctor = switchboard(workspace, "doctor", "--deep", "--json")
    assert (doctor.code, doctor.report["off"], doctor.report["started"]) == (0, 1, [])
    assert switchboard(workspace, "disable", "echo").out == (
        "echo was off already in this workspace\n"
    )
    assert switchboard(workspace, "enable", "echo").out == "echo is on in this workspace\n"
    assert switchboard(workspace, "call", "echo", "echo", "--args", '{"text": "x"}').code == 0


def test_a_server_of_the_home_is_off_everywhere_or_here_alone(workspace: Workspace) -> None:
    workspace.mcp_json({"mine": server(child_command("echo_child", "mine"))}, scope="home")
    other = workspace.user_home / "other"
    other.mkdir()

    def states() -> list[bool]:
        found: list[bool] = []
        for folder in (workspace.root, other):
            report = switchboard(workspace, "list", "--json", cwd=folder).report
            found += [each["is_off"] for each in report["servers"] if each["name"] == "mine"]
        return found

    assert switchboard(workspace, "disable", "--here", "mine").code == 0
    assert states() == [True, False]
    assert switchboard(workspace, "disable", "mine").code == 0
    assert states() == [True, True]
    assert switchboard(workspace, "enable", "mine").out == "mine is on\n"
    assert states() == [False, False]


def test_what_is_off_takes_no_name_from_another(workspace: Workspace) -> None:
    workspace.mcp_json({"Echo": server(child_command("echo_child", "other"))}, scope="home")
    assert switchboard(workspace, "disable", "Echo").code == 0
    listed = switchboard(workspace, "list", "--json").report["servers"]
    assert [(each["name"], each["is_off"], each["left_out"]) for each in listed] == [
        ("Echo", True, ""),
        ("echo", False, ""),
    ]


async def test_a_client_cannot_switch_on_what_its_user_switched_off(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        assert await suites(client) == {"echo_suite"}
        await asyncio.to_thread(switchboard, workspace, "disable", "echo")
        done = await asyncio.to_thread(switchboard, workspace, "enable", "echo", "--json")
        assert (done.code, done.report["reason"]) == (1, "presence-unproven")
        assert await suites(client) == set()


@pytest.mark.parametrize("verb", ["disable", "enable"])
def test_an_unknown_name_is_an_error_and_names_are_completed(
    workspace: Workspace, verb: str
) -> None:
    done = switchboard(workspace, verb, "ecoh")
    assert done.code == 1
    assert "no server and no suite is named `ecoh`" in done.err
    assert "echo" in done.err
    switchboard(workspace, "completion", "bash", "--names", verb)
    if verb == "enable":
        switchboard(workspace, "disable", "echo")
    names = switchboard(workspace, "completion", "bash", "--names", verb)
    assert names.out == "echo\n"


def test_one_that_waits_for_trust_still_waits_after_it_is_on(workspace: Workspace) -> None:
    assert switchboard(workspace, "disable", "echo", env=UNTRUSTING).code == 0
    assert "switchboard trust" not in switchboard(workspace, "list", env=UNTRUSTING).err
    on = switchboard(workspace, "enable", "echo", env=UNTRUSTING)
    assert on.err == "hint: switchboard trust echo\n"


def test_a_damaged_record_is_named_and_hides_nothing(workspace: Workspace) -> None:
    (workspace.home / "switched-off.json").write_text("{", "utf-8")
    done = switchboard(workspace, "list")
    assert "the record of servers is damaged; no server counts as switched off" in done.err
    assert "echo_suite" in done.out


def test_the_words_of_other_clients_lead_to_the_command(workspace: Workspace) -> None:
    workspace.mcp_json({"mine": server(["true"], disabled=True)}, scope="home")
    assert "switchboard disable NAME" in switchboard(workspace, "config", "check").err
