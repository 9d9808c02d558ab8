"""Who shares a running child, and that sharing mixes nothing."""

import asyncio
import json
import shlex
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.daemons import shim, status
from support.mcp_stdio import StdioClient, text_of
from support.processes import until_gone, until_true
from support.workspace import Workspace, child_command, server


async def report(client: StdioClient, suite: str = "echo_suite") -> dict[str, Any]:
    result = await client.call_subtool(suite, "report")
    return json.loads(json.loads(text_of(result))["content"][0]["text"])


def scoped(workspace: Workspace, scope: str) -> None:
    workspace.config_json({"suites": {"echo": {"scope": scope}}})


async def test_sessions_of_a_workspace_share_a_child_unless_told_otherwise(
    workspace: Workspace,
) -> None:
    async with shim(workspace) as one, shim(workspace) as two:
        assert (await report(one))["pid"] == (await report(two))["pid"]


async def test_a_child_of_a_session_belongs_to_it_and_ends_with_it(workspace: Workspace) -> None:
    scoped(workspace, "session")
    async with shim(workspace) as one, shim(workspace) as two:
        mine, theirs = (await report(one))["pid"], (await report(two))["pid"]
        assert mine != theirs
        assert (await report(one))["pid"] == mine
        children = (status(workspace) or {})["children"]
        sessions = {session["id"] for session in (status(workspace) or {})["sessions"]}
        assert {child["session"] for child in children} == sessions
        assert await one.close() == 0
        await until_gone([mine])
        assert (await report(two))["pid"] == theirs
    await until_gone([theirs])
    await until_true(lambda: (status(workspace) or {})["children"] == [])


async def test_a_child_of_the_user_serves_every_workspace(
    workspace: Workspace, tmp_path: Path
) -> None:
    entry = server(child_command("echo_child", "common"))
    workspace.mcp_json({"common": {**entry, "scope": "user"}, "apart": entry}, scope="home")
    other = tmp_path / "other"
    other.mkdir()
    async with shim(workspace) as one, shim(workspace, cwd=other) as two:
        here, there = await report(one, "common_suite"), await report(two, "common_suite")
        assert here["pid"] == there["pid"]
        assert here["cwd"] == str(workspace.user_home)
        assert (await report(one, "apart_suite"))["pid"] != (await report(two, "apart_suite"))[
            "pid"
        ]
        assert await one.close() == 0
        assert (await report(two, "common_suite"))["pid"] == here["pid"]
    async with shim(workspace, env={"LANG": "C"}) as three:
        # Another environment is another child, whatever the scope.
        assert (await report(three, "common_suite"))["pid"] != here["pid"]


@pytest.mark.parametrize("scope", ["session", "workspace", "user"])
async def test_sessions_never_get_each_others_answers(workspace: Workspace, scope: str) -> None:
    scoped(workspace, scope)

    async def talk(name: str) -> None:
        async with shim(workspace, patience=60) as client:
            # The ids of requests are the same in every session: 1, 2, 3 …
            texts = [f"{name} {number}" for number in range(40)]
            calls = [client.call_subtool("echo_suite", "echo", {"text": text}) for text in texts]
            for text, result in zip(texts, await asyncio.gather(*calls), strict=True):
                assert text_of(result).count(f'echo: {text}"') == 1
            # Nothing came that was not asked for.
            assert len(client.messages) == len(texts) + 1

    await asyncio.gather(*(talk(name) for name in ("ann", "bob", "cleo", "dan")))


async def test_news_and_progress_of_one_session_do_not_reach_another(workspace: Workspace) -> None:
    workspace.child("chatty", child_command("chatty_child"))
    async with shim(workspace) as one, shim(workspace) as two:
        for client in (one, two):
            await client.introspect("chatty_suite")
        heard = len(two.messages)
        params: dict[str, Any] = {
            "name": "chatty_suite",
            "arguments": {"action": "call", "subtool": "work", "args": {}},
            "_meta": {"progressToken": "only-for-one"},
        }
        assert "worked" in text_of(await one.request("tools/call", params))
        await two.tools()
        assert len(two.messages) == heard + 1
        assert "only-for-one" not in json.dumps(two.messages)


async def test_a_cancellation_reaches_the_call_that_it_means(workspace: Workspace) -> None:
    stall = {"name": "echo_suite", "arguments": {"action": "call", "subtool": "stall"}}
    async with shim(workspace) as one, shim(workspace) as two:
        first, second = one.begin("tools/call", stall), two.begin("tools/call", stall)
        assert first == second
        await until_true(lambda: (status(workspace) or {})["children"][0]["under_way"] == 2)
        await one.notify("notifications/cancelled", {"requestId": first})
        await until_true(lambda: (status(workspace) or {})["children"][0]["under_way"] == 1)
        under_way = [session["under_way"] for session in (status(workspace) or {})["sessions"]]
        assert sorted(under_way) == [0, 1]


async def test_a_reload_changes_the_scope(workspace: Workspace) -> None:
    async with shim(workspace) as one, shim(workspace) as two:
        shared = (await report(one))["pid"]
        scoped(workspace, "session")
        await until_gone([shared])
        assert (await report(one))["pid"] != (await report(two))["pid"]


async def test_what_a_workspace_shares_with_the_user_stays_in_that_workspace(
    workspace: Workspace,
) -> None:
    """Trust in it was given for this folder, and is asked again at every start here."""
    scoped(workspace, "user")
    workspace.home.mkdir(parents=True, exist_ok=True)
    async with shim(workspace) as client:
        assert (await report(client))["cwd"] != str(workspace.user_home)


async def test_hosts_and_windows_differ_in_nothing_that_a_server_would_see(
    workspace: Workspace,
) -> None:
    path = workspace.env["PATH"]
    helpers = "/home/me/.codex/tmp/arg0/codex-arg0Ab12:/home/me/.codex/tmp/arg0-linux/codex-arg0Cd"
    of_codex = f"{helpers}:/opt/x/codex-path:{path}:/home/me/.npm/_npx/1f/node_modules/.bin"
    async with shim(workspace) as one, shim(workspace, env={"PATH": of_codex}) as two:
        mine, theirs = await report(one), await report(two)
        assert mine["pid"] == theirs["pid"]
        # It sees no folder of a host either.
        assert "codex-path" not in mine["env"]["PATH"]
        assert "codex-arg0" not in mine["env"]["PATH"]
        assert "_npx" not in mine["env"]["PATH"]


async def test_what_a_window_is_keeps_no_heirs_apart(workspace: Workspace) -> None:
    workspace.mcp_json({"heir": server(child_command("echo_child"), inherit_env=True)})
    window = {"TMUX_PANE": "%3", "SHLVL": "4", "CLAUDECODE": "1", "OLDPWD": "/"}
    async with shim(workspace, env=window) as one, shim(workspace) as two:
        mine = await report(one, "heir_suite")
        assert mine["pid"] == (await report(two, "heir_suite"))["pid"]
        assert not mine["env"].keys() & window.keys()


async def test_status_tells_whose_a_child_is_and_why_boards_differ(workspace: Workspace) -> None:
    async with (
        shim(workspace, env={"NO_PROXY": "canary-of-a-host"}) as one,
        shim(workspace, env={"LANG": "C"}) as two,
    ):
        for client in (one, two):
            await report(client)
        found = status(workspace) or {}
        assert [board["differs"] for board in found["boards"]] == [[], ["LANG", "NO_PROXY"]]
        assert [child["boards"] for child in found["children"]] == [[1], [2]]
        assert all(len(child["clients"]) == 1 for child in found["children"])
        command, env = workspace.command("status"), workspace.env
        asking = partial(subprocess.run, command, env=env, capture_output=True, check=True)
        shown = (await asyncio.to_thread(asking)).stdout.decode()
        assert "differs from another board of this folder in LANG, NO_PROXY" in shown
        assert [child["apart"] for child in found["children"]] == [[], ["LANG", "NO_PROXY"]]
        own = "echo of board 2 has a process of its own for the same reason"
        assert own in shown
        # The names are told once, however many servers they keep apart.
        assert shown.count("NO_PROXY") == 1
        assert "canary-of-a-host" not in shown + json.dumps(found)


async def test_two_boards_of_a_folder_never_differ_in_nothing(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(workspace.root)
    named = tmp_path / "named.json"
    named.write_text("{}", "utf-8")
    async with (
        shim(workspace),
        shim(workspace, "--config", str(named)),
        shim(workspace, "--workspace", str(tmp_path / "link")),
    ):
        # Nobody has set it, but only the last one was asked whether it did.
        workspace.mcp_json(
            {"keyed": server(child_command("echo_child"), secret_env={"KEY": "env:UNSET"})}
        )
        async with shim(workspace):
            boards = (status(workspace) or {})["boards"]
    assert len({board["workspace"] for board in boards}) == 1
    differs = [board["differs"] for board in boards]
    assert differs == [[], ["--config"], ["--workspace"], ["UNSET"]]


def children_named(workspace: Workspace, name: str) -> list[dict[str, Any]]:
    return [each for each in (status(workspace) or {})["children"] if each["name"] == name]


# What one server sees of a session, and what that session has for it.
SEEN = {
    "everything": ({"inherit_env": True}, {"ANYTHING": "canary-else"}, "ANYTHING"),
    "a secret": ({"secret_env": {"TOKEN": "env:MY_TOKEN"}}, {"MY_TOKEN": "canary-2"}, "MY_TOKEN"),
}


@pytest.mark.parametrize("what", SEEN)
async def test_what_one_server_sees_keeps_no_other_apart(workspace: Workspace, what: str) -> None:
    fields, env, name = SEEN[what]
    workspace.mcp_json(
        {
            "odd": server(child_command("echo_child"), **fields),
            "common": server(child_command("echo_child"), scope="user"),
        },
        scope="home",
    )
    first = {"MY_TOKEN": "canary-1"}
    async with shim(workspace, env=first) as one, shim(workspace, env={**first, **env}) as two:
        for suite in ("echo_suite", "common_suite"):
            assert (await report(one, suite))["pid"] == (await report(two, suite))["pid"]
        mine, theirs = await report(one, "odd_suite"), await report(two, "odd_suite")
        assert mine["pid"] != theirs["pid"]
        assert [each["boards"] for each in children_named(workspace, "echo")] == [[1, 2]]
        assert [each["apart"] for each in children_named(workspace, "echo")] == [[]]
        assert [each["boards"] for each in children_named(workspace, "odd")] == [[1], [2]]
        assert [each["apart"] for each in children_named(workspace, "odd")] == [[], [name]]
        assert "canary" not in json.dumps(status(workspace))
        # Who started it may leave.
        pid = (await report(two))["pid"]
        assert await one.close() == 0
        assert (await report(two))["pid"] == pid


def program(folder: Path, name: str) -> Path:
    path = folder / name
    folder.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\nexec {shlex.join(child_command('echo_child'))}\n", "utf-8")
    path.chmod(0o755)
    return folder


async def test_of_a_search_path_counts_what_is_found_by_it(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Hosts add folders that nobody can list; a virtual environment has another Python."""
    line = shlex.join(child_command("echo_child"))
    servers = {"plain": server(child_command("echo_child")), "shell": server(["sh", "-c", line])}
    workspace.mcp_json(servers, scope="home")
    path = workspace.env["PATH"]
    of_host = {"PATH": f"{program(tmp_path / 'host', 'host-helper')}:{path}:/no/such/folder"}
    activated = {"PATH": f"{program(tmp_path / 'venv', 'python3')}:{path}"}
    async with shim(workspace) as one, shim(workspace, env=of_host) as two:
        for suite in ("plain_suite", "shell_suite"):
            assert (await report(one, suite))["pid"] == (await report(two, suite))["pid"]
        async with shim(workspace, env=activated) as three:
            # It names its own Python, and the shell may start any.
            plain, shell = await report(three, "plain_suite"), await report(three, "shell_suite")
            assert plain["pid"] == (await report(one, "plain_suite"))["pid"]
            assert shell["pid"] != (await report(one, "shell_suite"))["pid"]
            assert [each["apart"] for each in children_named(workspace, "shell")] == [[], ["PATH"]]


async def test_another_program_of_the_same_name_is_another_server(
    workspace: Workspace, tmp_path: Path
) -> None:
    one, two = (program(tmp_path / name, "my-server") for name in ("one", "two"))
    entry = {"mine": server(["my-server"]), "behind": server(["env", "my-server"])}
    workspace.mcp_json(entry, scope="home")
    paths = [
        {"PATH": f"{each}:{workspace.env['PATH']}"} for each in (f"{one}:{two}", f"{two}:{one}")
    ]
    async with shim(workspace, env=paths[0]) as first, shim(workspace, env=paths[1]) as second:
        for suite in ("mine_suite", "behind_suite"):
            mine, theirs = await report(first, suite), await report(second, suite)
            assert mine["pid"] != theirs["pid"]
        assert (await report(first))["pid"] == (await report(second))["pid"]


async def test_what_an_entry_sets_itself_is_compared_with_nobody(workspace: Workspace) -> None:
    pinned = {"PATH": workspace.env["PATH"], "LANG": "C"}
    workspace.mcp_json({"pinned": server(child_command("echo_child"), env=pinned)}, scope="home")
    other = {"PATH": f"/usr/lib:{workspace.env['PATH']}", "LANG": "de_DE"}
    async with shim(workspace) as one, shim(workspace, env=other) as two:
        mine, theirs = await report(one, "pinned_suite"), await report(two, "pinned_suite")
        assert mine["pid"] == theirs["pid"]
        assert mine["env"]["LANG"] == "C"
        assert (await report(one))["pid"] != (await report(two))["pid"]


@pytest.mark.parametrize("scope", ["workspace", "user"])
async def test_a_loose_server_serves_whoever_is_there(workspace: Workspace, scope: str) -> None:
    entry = server(child_command("echo_child"), scope=scope, share="loose")
    workspace.mcp_json(
        {"common": entry, "apart": server(child_command("echo_child"))}, scope="home"
    )
    async with shim(workspace) as one, shim(workspace, env={"LANG": "C"}) as two:
        mine, theirs = await report(one, "common_suite"), await report(two, "common_suite")
        assert mine["pid"] == theirs["pid"]
        assert (await report(one, "apart_suite"))["pid"] != (await report(two, "apart_suite"))[
            "pid"
        ]
        (child,) = (
            each for each in (status(workspace) or {})["children"] if each["name"] == "common"
        )
        assert child["boards"] == [1, 2]
        # Who started it may leave.
        assert await one.close() == 0
        assert (await report(two, "common_suite"))["pid"] == mine["pid"]
    workspace.stop_daemon()
    await until_gone([mine["pid"]])


async def test_a_loose_server_of_scope_session_is_still_nobody_elses(workspace: Workspace) -> None:
    workspace.config_json({"suites": {"echo": {"scope": "session", "share": "loose"}}})
    async with shim(workspace) as one, shim(workspace) as two:
        assert (await report(one))["pid"] != (await report(two))["pid"]


async def test_commands_use_the_server_that_clients_have_warm(workspace: Workspace) -> None:
    """What is typed at a terminal starts no second process, and finds what the first one holds."""
    workspace.mcp_json({"table": server(child_command("keeping_child"))})
    args = {"name": "t", "value": "forty-two"}
    async with shim(workspace) as client:
        await client.call_subtool("table_suite", "keep", args)
        for words in (("introspect", "table"), ("call", "table", "recall", "name=t")):
            command = workspace.command(*words)
            asking = partial(
                subprocess.run,
                command,
                cwd=workspace.root,
                env=workspace.env,
                capture_output=True,
                check=True,
            )
            said = (await asyncio.to_thread(asking)).stdout.decode()
        assert "forty-two" in said
        assert len(children_named(workspace, "table")) == 1
