"""A server that follows looks at the worktree of its caller: real git, real processes."""

import asyncio
import json
from typing import Any

import pytest
from msgspec import Raw

from cli.commands import switchboard
from following.town import ERAS, ERROR, ROOT, EraName, Town, mover, said
from support.daemons import shim, status
from support.processes import until_gone, until_true
from support.repositories import git, worktree
from support.workspace import child_command, server
from switchboard.children.results import passed_through, with_root
from switchboard.core.sessions import ChosenTree

each_era = pytest.mark.parametrize("era", ERAS)


@each_era
async def test_a_call_names_the_worktree_that_it_is_about(town: Town, era: EraName) -> None:
    async with mover(town, era) as client:
        here = await client.report()
        there = await client.report(worktree="feature-x")
        assert (here["cwd"], there["cwd"]) == (str(town.main), str(town.side))
        assert here["pid"] != there["pid"]
        # Each of them stays, and is found again by whatever name.
        assert (await client.report(worktree=str(town.side)))["pid"] == there["pid"]
        assert (await client.report(worktree="side"))["pid"] == there["pid"]
        assert (await client.report(worktree="main"))["pid"] == here["pid"]
        assert (await client.report())["pid"] == here["pid"]
        unknown = await client.refused(worktree="nobody")
        assert (unknown["reason"], unknown["hint"]) == (
            "unknown-worktree",
            "it has: main, feature-x",
        )


@each_era
async def test_a_session_that_moves_gets_the_servers_of_its_worktree(
    town: Town, era: EraName
) -> None:
    """In the modern era nothing is told of changes, so each call asks."""
    async with mover(town, era, at=[town.main]) as client:
        assert await client.cwd() == town.main
        if era == "handshake":
            await client.moves(town.side)
        else:
            client.at[:] = [town.side / "sub"]
            client.at[0].mkdir()
        assert await client.cwd() == town.side
        # The call's own word is stronger.
        assert await client.cwd(worktree="main") == town.main
        # What is introspected is what would be called.
        told = await client.tool("look_suite", {"action": "introspect"})
        assert told["_meta"][ROOT] == str(town.side)
        if era == "handshake":
            await client.moves(town.main, town.side)
        else:
            client.at.append(town.main)
        assert (await client.refused())["reason"] == "tree-undecided"


@each_era
async def test_without_roots_the_folder_counts_that_the_client_was_started_in(
    town: Town, era: EraName
) -> None:
    """A host that names the workspace for every project, and stands in a worktree of it."""
    pinned = ("--workspace", str(town.main))
    (town.side / "sub").mkdir()
    async with mover(town, era, *pinned, cwd=town.side / "sub") as client:
        assert await client.cwd() == town.side
    async with mover(town, era, *pinned, cwd=town.side, at=[town.main]) as client:
        assert await client.cwd() == town.main


@each_era
async def test_a_path_leads_to_its_worktree_or_is_refused_by_name(town: Town, era: EraName) -> None:
    async with mover(town, era) as client:
        path = str(town.side / "code.py")
        routed = await client.call("echo", {"text": path})
        assert path in said(routed)
        assert routed["_meta"][ROOT] == str(town.side)
        refused = await client.call("echo", {"text": path}, worktree="main")
        fault = refused["_meta"][ERROR]
        assert fault["reason"] == "wrong-tree"
        assert "`look` looks at the worktree `main`, and `text` is in `feature-x`" in said(refused)
        assert 'say {"worktree":"feature-x"}' in said(refused)
        assert str(town.folder) not in said(refused)
        both = {"a": str(town.main / "code.py"), "text": path}
        assert (await client.call("echo", both))["_meta"][ERROR]["reason"] == "wrong-tree"
        relative = await client.call("echo", {"text": "../side/code.py"})
        assert relative["_meta"][ERROR]["reason"] == "wrong-tree"


@each_era
async def test_tools_under_their_own_names_follow_too(town: Town, era: EraName) -> None:
    """Their arguments are the server's own, so a worktree is named beside them."""
    town.home(look=town.entry(expose="tools"))
    heard: list[str] = []
    async with mover(town, era, at=[town.main], heard=heard) as client:
        tools = {tool.name: tool for tool in (await client.client.list_tools()).tools}
        assert set(tools["echo"].input_schema["properties"]) == {"text"}

        async def root(text: str, meta: Any = None) -> str:
            result = await client.tool("echo", {"text": text}, meta)
            return result["_meta"][ROOT] if not result.get("isError") else said(result)

        assert await root("hello") == str(town.main)
        assert await root(str(town.side / "code.py")) == str(town.side)
        named = {"switchboard/worktree": "feature-x"}
        assert await root("hello", named) == str(town.side)
        assert "wrong-tree" not in await root("hello", named)
        refused = await root(str(town.main / "code.py"), named)
        assert "`look` looks at the worktree `feature-x`" in refused
        assert "`switchboard/worktree`" in refused
        if era == "handshake":
            await client.moves(town.side)
            # Its listings may be others there.
            await until_true(lambda: "notifications/tools/list_changed" in heard)
            await client.client.list_tools()
        else:
            client.at[:] = [town.side]
        assert await root("hello") == str(town.side)


async def test_a_server_that_does_not_follow_is_as_ever_and_takes_no_worktree(town: Town) -> None:
    town.home(look=server(child_command("echo_child", "look")))
    async with mover(town) as client:
        tools = {tool.name: tool for tool in (await client.client.list_tools()).tools}
        assert set(tools["look_suite"].input_schema["properties"]) == {"action", "subtool", "args"}
        result = await client.call("echo", {"text": str(town.side / "code.py")})
        assert "_meta" not in result
        assert (await client.refused(worktree="feature-x"))["reason"] == "worktree-not-followed"
    town.home(look=town.entry())
    async with mover(town) as client:
        tools = {tool.name: tool for tool in (await client.client.list_tools()).tools}
        schema = tools["look_suite"].input_schema
        assert set(schema["properties"]) == {"action", "subtool", "args", "worktree"}
        assert schema["required"] == ["action"]


@each_era
async def test_prompts_and_resources_are_those_of_the_worktree(town: Town, era: EraName) -> None:
    town.home(frank=server(child_command("frank_child", era, "frank"), follow="worktree"))
    async with mover(town, era, at=[town.main]) as client:

        async def roots() -> set[str]:
            read = await client.client.read_resource("frank://1")
            prompt = (await client.client.list_prompts()).prompts[0].name
            got = await client.client.get_prompt(prompt)
            return {(each.meta or {})[ROOT] for each in (read, got)}

        assert await roots() == {str(town.main)}
        if era == "handshake":
            await client.moves(town.side)
        else:
            client.at[:] = [town.side]
        assert await roots() == {str(town.side)}


async def test_a_client_hears_of_changes_in_the_worktree_that_it_moved_to(town: Town) -> None:
    child = child_command("frank_child", "handshake", "frank")
    town.home(frank=server(child, follow="worktree", expose="tools"))
    heard: list[str] = []
    pinned = ("--workspace", str(town.main))
    async with mover(town, "handshake", *pinned, cwd=town.side, heard=heard) as client:
        before = {tool.name for tool in (await client.client.list_tools()).tools}
        result = await client.tool("grow", {"kind": "tools"})
        assert result["_meta"][ROOT] == str(town.side)
        await until_true(lambda: "notifications/tools/list_changed" in heard)
        after = {tool.name for tool in (await client.client.list_tools()).tools}
        assert len(after - before) == 1


def test_what_a_server_says_of_the_root_is_not_our_word() -> None:
    meta = {ROOT: "/elsewhere", " Switchboard/Root": 1, "its/own": 1}
    told = json.dumps({"content": [], "_meta": meta}).encode()
    outcome = passed_through(Raw(told), is_modern=False)
    raw = with_root(outcome, ChosenTree("/here")).raw
    assert raw is not None
    assert json.loads(bytes(raw))["_meta"] == {ROOT: "/here", "its/own": 1}


# Sharing, and its ends


async def test_a_session_that_moves_shares_the_server_with_those_that_began_there(
    daemon_town: Town,
) -> None:
    """A child is one of an entry, an environment and a root, however its sessions came there."""
    town = daemon_town
    async with mover(town) as moving, mover(town, cwd=town.side) as there:
        mine, theirs = await moving.report(worktree="feature-x"), await there.report()
        assert mine["pid"] == theirs["pid"]
        assert mine["cwd"] == str(town.side)
        home = await there.report(worktree="main")
        assert home["pid"] == (await moving.report())["pid"]
    other = {"LANG": "C"}
    async with shim(town.workspace, env=other) as client:
        call = {"action": "call", "subtool": "report", "worktree": "feature-x"}
        result = await client.call("look_suite", call)
        assert result["_meta"][ROOT] == str(town.side)
        assert f'"pid\\\\": {mine["pid"]},' not in said(result)


async def test_a_server_of_one_session_ends_with_it_in_every_worktree(daemon_town: Town) -> None:
    town = daemon_town
    town.home(look=town.entry(scope="session"))
    async with mover(town) as one, mover(town) as two:
        mine = [(await one.report(worktree=name))["pid"] for name in ("main", "feature-x")]
        theirs = [(await two.report(worktree=name))["pid"] for name in ("main", "feature-x")]
        assert len({*mine, *theirs}) == 4
        assert (await one.report(worktree="feature-x"))["pid"] == mine[1]
    await until_gone([*mine, *theirs])


async def test_status_has_a_line_for_each_worktree(daemon_town: Town) -> None:
    town = daemon_town
    async with mover(town) as client:
        pids = {name: (await client.report(worktree=name))["pid"] for name in ("main", "feature-x")}
        told = {child["worktree"]: child for child in (status(town.workspace) or {})["children"]}
        assert {name: told[name]["pid"] for name in told} == pids
        roots = {name: told[name]["root"] for name in told}
        assert roots == {"main": str(town.main), "feature-x": str(town.side)}
        assert all(child["clients"] == ["mcp 0.1.0"] for child in told.values()), told
        lines = switchboard(town.workspace, "status").out.splitlines()
        for name, pid in pids.items():
            assert [line for line in lines if f"look in {name} " in line and f" {pid} " in line]
        report = switchboard(town.workspace, "status", "--json").report
        assert {child["worktree"] for child in report["daemon"]["children"]} == set(pids)


async def test_a_new_worktree_is_there_at_once_and_so_is_a_new_branch(town: Town) -> None:
    async with mover(town) as client:
        assert await client.cwd() == town.main
        third = worktree(town.main, town.folder / "third", "third")
        assert await client.cwd(worktree="third") == third
        git(third, "switch", "-q", "-c", "other")
        assert (await client.refused(worktree="feature-y"))["hint"].endswith("other")
        assert await client.cwd(worktree="other") == third
        # Git's own name of it is still the same.
        assert await client.cwd(worktree="third") == third


async def test_a_command_names_a_worktree_too(town: Town) -> None:
    words = ("call", "look", "report", "--json")
    done = await asyncio.to_thread(switchboard, town.workspace, *words, "--worktree", "feature-x")
    assert done.report["result"]["_meta"][ROOT] == str(town.side)
    typed = ("call", "look", "echo", f"text={town.side}/code.py", "--worktree", "main")
    refused = await asyncio.to_thread(switchboard, town.workspace, *typed)
    assert refused.code == 1
    assert "say `--worktree feature-x`" in refused.err
    shown = switchboard(town.workspace, "introspect", "look", "echo", "--worktree", "feature-x")
    assert shown.out.startswith("echo\n")
    lonely = switchboard(town.workspace, "introspect", "--worktree", "feature-x")
    assert "`--worktree` needs a `SUITE`" in lonely.err


async def test_each_worktree_has_the_servers_of_its_own_branch(town: Town) -> None:
    """What the other branch writes is what runs there."""
    town.home()
    town.workspace.mcp_json({"look": town.entry()})
    other = town.side / ".switchboard" / "mcp.json"
    async with mover(town) as client:
        missing = await client.refused(worktree="feature-x")
        assert missing["reason"] == "tree-refused"
        assert "there is no such server there" in missing["message"]
        other.parent.mkdir()
        entry = town.entry()
        entry["args"].append("of-the-other-branch")
        other.write_text(json.dumps({"mcpServers": {"look": entry}}))
        there = await client.report(worktree="feature-x")
        assert there["argv"][-1] == "of-the-other-branch"
        assert (await client.report())["argv"][-1] == "look"
        del entry["follow"]
        other.write_text(json.dumps({"mcpServers": {"look": entry}}))
        refused = await client.refused(worktree="feature-x")
        assert refused["reason"] == "tree-refused"
        assert "its entry there does not follow" in refused["message"]


async def test_a_suite_child_stands_in_its_own_folder_of_each_worktree(town: Town) -> None:
    town.home()
    folder = town.workspace.child("look", child_command("echo_child", "look"), follow="worktree")
    git(town.main, "add", "-A")
    git(town.main, "commit", "-q", "-m", "a child")
    git(town.side, "merge", "-q", "main")
    async with mover(town) as client:
        for name, top in (("main", town.main), ("feature-x", town.side)):
            result = await client.call("report", worktree=name)
            assert result["_meta"][ROOT] == str(top)
            assert str(top / folder.relative_to(town.main)) in said(result)
