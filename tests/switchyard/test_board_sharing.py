"""One daemon, several clients: each yard sees its own client's variables and waits for nobody."""

import asyncio
import json
import time

import pytest
from boarded import Boarded, called, simple
from yardlab import Lab, processes, wait_for

from support.requirements import requirement
from support.workspace import child_command, server


@pytest.fixture
def daemon(lab: Lab) -> Boarded:
    made = Boarded(lab, daemon=True)
    lab.cleanup(made.workspace.stop_daemon)
    return made


def environment_of(lab: Lab, pid: int) -> dict[str, str]:
    assert pid in lab.ours()
    return processes()[pid]["env"]


async def test_sessions_with_other_homes_have_other_yards(daemon: Boarded) -> None:
    lab = daemon.lab
    simple(lab)
    second = lab.folder / "second"
    async with daemon.client() as one, daemon.client(SWITCHYARD_HOME=str(second)) as other:
        await called(one, "up")
        assert len((await called(one, "status"))["services"]) == 1
        assert (await called(other, "status"))["services"] == []
        assert (await called(other, "doctor"))["home"] == str(second)
        await called(one, "down")
    assert not second.exists()


@pytest.mark.parametrize("inherits", [False, True])
async def test_services_see_no_more_of_the_client_than_they_should(
    board: Boarded, *, inherits: bool
) -> None:
    lab = board.lab
    simple(lab)
    if inherits:
        board.workspace.config_toml("[yard]\ninherit_env = true\n", scope="home")
    async with board.client(MARCO="polo") as client:
        up = await called(client, "up")
        seen = environment_of(lab, up["services"][0]["pid"])
        await called(client, "down")
    assert seen.get("MARCO") == ("polo" if inherits else None)
    assert seen["HOME"] == board.workspace.env["HOME"]
    assert seen["SWITCHYARD_HOME"] == str(lab.home)


async def test_a_workspace_cannot_ask_for_the_whole_environment(own_process: Boarded) -> None:
    lab = own_process.lab
    simple(lab)
    own = lab.root / ".switchboard" / "config.toml"
    own.parent.mkdir()
    own.write_text("[yard]\ninherit_env = true\n")
    async with own_process.client(MARCO="polo") as client:
        up = await called(client, "up")
        assert "MARCO" not in environment_of(lab, up["services"][0]["pid"])
        await called(client, "down")


async def test_nobody_waits_for_a_slow_start(board: Boarded) -> None:
    lab = board.lab
    lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\nready = { delay = "4s" }\n')
    async with board.client() as client, board.client() as other:
        slow = client.begin("tools/call", {"name": "switchyard_up", "arguments": {}})
        wait_for(lab.ours)
        began = time.monotonic()
        assert (await called(client, "status"))["services"][0]["phase"] == "starting"
        assert (await called(other, "brief"))["project"] == "shop"
        await client.request("ping")
        assert time.monotonic() - began < 3
        answer = await client.answer_to(slow)
        assert answer["result"]["structuredContent"]["services"][0]["phase"] == "ready"
        await called(client, "down")


async def test_nobody_waits_for_a_pattern_without_end(board: Boarded) -> None:
    lab = board.lab
    lab.config(
        '[services.web]\ncommand = ["echo", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"]\nkind = "task"\n'
    )
    lab.json("up")
    async with board.client() as client:
        params = {"name": "switchyard_logs", "arguments": {"grep": "(a+)+$"}}
        endless = client.begin("tools/call", params)
        for _ in range(20):
            began = time.monotonic()
            await client.request("ping")
            assert time.monotonic() - began < 1
        result = (await client.answer_to(endless))["result"]
        assert result["_meta"]["switchyard/error"]["code"] == "slow-pattern"


async def test_what_is_cancelled_is_not_answered_and_blocks_nobody(board: Boarded) -> None:
    lab = board.lab
    lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\nready = { delay = "3s" }\n')
    async with board.client() as client:
        numbers = [
            client.begin("tools/call", {"name": "switchyard_up", "arguments": {}})
            for _ in range(20)
        ]
        wait_for(lab.ours)
        for number in numbers:
            await client.notify("notifications/cancelled", {"requestId": number})
        await asyncio.wait_for(client.request("ping"), 2)
        # What was begun is finished all the same; later calls have their turn.
        assert (await called(client, "up"))["already_running"] == ["web"]
        down = await called(client, "down")
        assert [one["service"] for one in down["stopped"]] == ["web"]
    assert lab.ours() == []


@requirement("S1.04")
async def test_the_names_are_reserved_for_the_yard(own_process: Boarded) -> None:
    simple(own_process.lab)
    command = child_command("echo_child", "echo")
    own_process.workspace.mcp_json(
        {
            "echo": server(command),
            "prefixed": {**server(command), "expose": "tools", "tool_prefix": "Switchyard_"},
        },
        scope="home",
    )
    suites = {"suites": {"echo": {"suiteName": "Switchyard_Up"}}}
    (own_process.workspace.home / "switchboard.config.json").write_text(json.dumps(suites))
    async with own_process.client() as client:
        tools = await client.tools()
    assert len(tools) == 13
    assert all(name.startswith("switchyard_") for name in tools)


async def test_a_child_that_is_the_yard_too_takes_nothing_away(own_process: Boarded) -> None:
    simple(own_process.lab)
    command = [str(own_process.workspace.command()[0]).replace("switchboard", "switchyard"), "mcp"]
    own_process.workspace.mcp_json({"yard": server(command)}, scope="home")
    async with own_process.client() as client:
        assert "yard_suite" in await client.tools()
        resources = (await client.request("resources/list"))["resources"]
        assert len([one["uri"] for one in resources]) == 3
        prompts = (await client.request("prompts/list"))["prompts"]
        assert len(prompts) == 2
        uri = "switchyard://project/brief"
        ours = await client.request("resources/read", {"uri": uri})
        theirs = await client.request("resources/read", {"uri": f"switchboard://yard/{uri}"})
        assert ours["contents"][0]["text"] == theirs["contents"][0]["text"]
