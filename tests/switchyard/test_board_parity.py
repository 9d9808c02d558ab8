"""What Switchboard shows of a project is what Switchyard's own server shows, in both eras."""

import json
from typing import Any

import pytest
from boarded import ERAS, Boarded, called, simple
from yardlab import Json, Lab, free_port, get, is_alive

from support.mcp_stdio import RpcError
from support.requirements import requirement

# Members that say who answers, or how long an answer holds, and nothing of the answer.
ABOUT_THE_SERVER = {"_meta", "ttlMs", "cacheScope"}


def plain(result: Json) -> Json:
    return {key: value for key, value in result.items() if key not in ABOUT_THE_SERVER}


@requirement("S1.04", "S1.56", "S1.57", "S1.58", "S1.59", "S1.60", "S1.61")
@pytest.mark.parametrize("era", ERAS)
async def test_every_listing_is_that_of_its_own_server(board: Boarded, era: str) -> None:
    simple(board.lab)
    async with board.client(era) as ours, board.own_server(era) as theirs:
        for method in ("tools/list", "resources/list", "prompts/list", "resources/templates/list"):
            assert plain(await ours.request(method)) == plain(await theirs.request(method))
        assert len(await ours.tools()) == 13


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("doctor", {}),
    ("list", {}),
    ("status", {}),
    ("status", {"branch": "main"}),
    ("status", {"branch": "nowhere"}),
    ("brief", {}),
    ("where", {"service": "web"}),
    ("where", {"service": "wob"}),
    ("logs", {"service": "web", "lines": 3}),
    ("logs", {"errors": True, "cwd": "."}),
    ("up", {"services": ["wob"]}),
    ("up", {"branch": "nowhere"}),
    ("create", {"branch": "--bad"}),
    ("checkout", {"services": ["wob"]}),
]


@requirement("S1.43", "S1.45", "S1.46", "S1.47", "S1.48", "S1.49", "S1.62", "S1.63", "S1.64")
@pytest.mark.parametrize("era", ERAS)
async def test_the_same_call_has_the_same_result(board: Boarded, era: str) -> None:
    simple(board.lab)
    board.lab.json("up")
    async with board.client(era) as ours, board.own_server(era) as theirs:
        for name, given in CALLS:
            mine = await ours.call(f"switchyard_{name}", given)
            other = await theirs.call(f"switchyard_{name}", given)
            assert plain(mine) == plain(other), name
            error = mine.get("_meta", {}).get("switchyard/error")
            assert error == other.get("_meta", {}).get("switchyard/error")
            assert (error is not None) == mine["isError"]


@requirement("S1.35", "S1.36", "S1.37", "S1.40", "S1.41")
@pytest.mark.parametrize("era", ERAS)
async def test_resources_and_prompts_read_the_same(board: Boarded, era: str) -> None:
    simple(board.lab)
    board.lab.json("up")
    asked: list[tuple[str, Json]] = [
        *(
            ("resources/read", {"uri": f"switchyard://{name}"})
            for name in ("project/brief", "project/doctor", "agent/guide")
        ),
        ("prompts/get", {"name": "switchyard_runtime_handoff"}),
        (
            "prompts/get",
            {"name": "switchyard_branch_runtime", "arguments": {"branch": "b", "services": "web"}},
        ),
    ]
    async with board.client(era) as ours, board.own_server(era) as theirs:
        for method, params in asked:
            mine = await ours.request(method, params)
            assert plain(mine) == plain(await theirs.request(method, params))


@requirement("S1.44", "S1.50", "S1.51", "S1.52", "S1.53")
@pytest.mark.parametrize("era", ERAS)
async def test_the_whole_life_of_a_runtime(board: Boarded, era: str) -> None:
    lab, port = board.lab, free_port()
    simple(lab, port)
    async with board.client(era) as client:
        made = await called(client, "create", branch="feature")
        assert made["created"] is True
        assert lab.git("branch", "--show-current", cwd=lab.folder / made["path"]) == "feature\n"
        up = await called(client, "up", branch="feature")
        assert up["services"][0]["phase"] == "ready"
        where = (await called(client, "where", service="web", branch="feature"))["service"]
        assert get(where["port"]) == "feature web"
        assert is_alive(where["pid"])
        assert (await called(client, "checkout", branch="feature"))["branch"] == "feature"
        assert get(port) == "feature web"
        assert [one["port"] for one in (await called(client, "uncheckout"))["closed"]] == [port]
        down = await called(client, "down")
        assert [one["branch"] for one in down["stopped"]] == ["feature"]
    assert lab.ours() == []


async def test_services_outlive_switchboard(board: Boarded) -> None:
    lab = board.lab
    simple(lab)
    async with board.client() as client:
        await called(client, "up")
        await client.close()
    board.workspace.stop_daemon()
    found = lab.service("web")
    assert (found["phase"], is_alive(found["pid"])) == ("ready", True)


@requirement("S1.39", "S1.42")
@pytest.mark.parametrize("era", ERAS)
async def test_reading_leaves_no_trace(board: Boarded, era: str) -> None:
    lab = board.lab
    simple(lab)
    async with board.client(era) as client:
        await client.tools()
        for entry in (await client.request("resources/list"))["resources"]:
            await client.request("resources/read", {"uri": entry["uri"]})
        await client.request("prompts/get", {"name": "switchyard_runtime_handoff"})
        for name in ("doctor", "brief", "status", "list", "logs"):
            await called(client, name)
    assert not lab.home.exists()
    assert lab.ours() == []


async def test_bad_requests_are_refused_in_words(own_process: Boarded) -> None:
    simple(own_process.lab)
    async with own_process.client() as client:
        for given, words in (
            ({"service": 1}, "`service` must be of type string"),
            ({}, "`service` is missing"),
            ({"service": "web", "extra": 1}, "unknown argument `extra`"),
        ):
            result = await client.call("switchyard_where", given)
            assert result["isError"]
            assert words in result["content"][0]["text"]
        for method, params in (
            ("prompts/get", {"name": "switchyard_branch_runtime"}),
            ("prompts/get", {"name": "switchyard_branch_runtime", "arguments": {"branch": 1}}),
            ("prompts/get", {"name": "switchyard_nothing"}),
            ("resources/read", {"uri": "switchyard://project/nothing"}),
            ("resources/subscribe", {"uri": "switchyard://project/brief"}),
        ):
            with pytest.raises(RpcError):
                await client.request(method, params)
        nothing = await client.request(
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "switchyard_branch_runtime"},
                "argument": {"name": "branch", "value": "f"},
            },
        )
        assert nothing["completion"]["values"] == []


@requirement("S1.67")
async def test_a_call_cannot_leave_its_project(board: Boarded, lab: Lab) -> None:
    simple(lab)
    other = lab.folder / "other"
    other.mkdir()
    (other / "switchyard.toml").write_text('[services.x]\ncommand = ["true"]\n')
    async with board.client() as client:
        for cwd in (str(other), "..", "/"):
            result = await client.call("switchyard_brief", {"cwd": cwd})
            assert result["isError"]
            assert result["_meta"]["switchboard/error"]["reason"] == "outside-project"
            assert str(other) not in json.dumps(result)


@requirement("S1.07", "S1.08", "S1.73")
async def test_in_a_worktree_calls_are_about_its_branch(board: Boarded) -> None:
    lab = board.lab
    simple(lab)
    lab.json("up")
    path = lab.folder / lab.json("create", "feature")["path"]
    async with board.client(cwd=path) as ours, board.own_server(cwd=path) as theirs:
        for name in ("brief", "status"):
            mine = await ours.call(f"switchyard_{name}", {})
            assert plain(mine) == plain(await theirs.call(f"switchyard_{name}", {}))
        assert (await called(ours, "brief"))["branch"] == "feature"
        assert (await called(ours, "up"))["branch"] == "feature"
        stopped = (await called(ours, "down"))["stopped"]
        assert [one["branch"] for one in stopped] == ["feature"]
        # The root's own folder is part of the project too.
        assert (await called(ours, "brief", cwd=str(lab.root)))["branch"] == "main"
    assert lab.service("web", "main")["phase"] == "ready"
