"""Another worktree is another folder: what is trusted, confined, asked and noted is of that one."""

import asyncio
import json
from pathlib import Path
from typing import Any

from mcp_types import ElicitResult

from cli.commands import switchboard, trust_shown
from following.town import ERROR, ROOT, Town, mover, said
from support.processes import mentioning
from support.reading import read_it, reply
from support.repositories import git, repository
from support.requirements import attack
from support.workspace import CHECKOUT, Json, child_command, server
from switchboard.settings.trust import trust_folder


def untrusting(town: Town) -> None:
    """Trust nothing but what is trusted one by one."""
    del town.workspace.env["SWITCHBOARD_TRUST_WORKSPACE"]


def trust(town: Town, folder: Path) -> None:
    assert trust_folder(str(town.workspace.home), str(folder))


def standing_in(folder: Path) -> list[int]:
    """The processes of servers that stand there."""
    links = ((pid, Path(f"/proc/{pid}/cwd")) for pid in mentioning("echo_child"))
    return [pid for pid, link in links if link.exists() and link.readlink() == folder]


@attack("B2")
async def test_a_server_of_the_user_starts_in_no_worktree_that_nobody_trusts(town: Town) -> None:
    """A branch that somebody else wrote is checked out beside one that is trusted."""
    untrusting(town)
    trust(town, town.main)
    async with mover(town) as client:
        assert await client.cwd() == town.main
        path: Json = {"x": str(town.side / "code.py")}
        for refused in (
            await client.call("report", worktree="feature-x"),
            await client.call("report", path),
        ):
            fault = refused["_meta"][ERROR]
            assert fault["reason"] == "tree-refused"
            assert "`look` cannot look at the worktree `feature-x`" in fault["message"]
            assert "this folder is not trusted" in fault["message"]
            assert fault["hint"] == "in that worktree: switchboard trust --folder"
        assert await asyncio.to_thread(standing_in, town.side) == []
        trust(town, town.side)
        assert await client.cwd(worktree="feature-x") == town.side


async def test_a_server_of_the_workspace_is_trusted_in_each_worktree_by_itself(town: Town) -> None:
    untrusting(town)
    town.home()
    town.workspace.mcp_json({"look": town.entry()})
    git(town.main, "add", "-A")
    git(town.main, "commit", "-q", "-m", "a server")
    git(town.side, "merge", "-q", "main")
    done = await asyncio.to_thread(trust_shown, town.workspace, "look", env={})
    assert done.code == 0, done
    async with mover(town) as client:
        assert await client.cwd() == town.main
        refused = await client.refused(worktree="feature-x")
        assert "there it waits for the trust of its user" in refused["message"]
        assert refused["hint"] == "in that worktree: switchboard trust"
        assert await asyncio.to_thread(standing_in, town.side) == []
        done = await asyncio.to_thread(trust_shown, town.workspace, "look", env={}, cwd=town.side)
        assert done.code == 0, done
        assert await client.cwd(worktree="feature-x") == town.side
        # Another script there asks again, whatever the first worktree has.
        entry = town.entry()
        entry["args"].append("more")
        other = town.side / ".switchboard" / "mcp.json"
        other.write_text(json.dumps({"mcpServers": {"look": entry}}), "utf-8")
        refused = await client.refused(worktree="feature-x")
        assert "waits for the trust" in refused["message"]
        assert await client.cwd() == town.main


async def test_a_folder_that_claims_to_be_a_worktree_reaches_no_other_repository(
    town: Town,
) -> None:
    """What a confined program can write in its own folder leads it nowhere else."""
    evil = repository(town.folder / "evil")
    for said_place in (town.main / ".git", town.main / ".git" / "worktrees" / "side"):
        moved = evil / ".git"
        if moved.is_dir():
            moved.rename(evil / "git-of-its-own")
        moved.write_text(f"gitdir: {said_place}\n", "utf-8")
        async with mover(town, cwd=evil) as client:
            assert await client.cwd() == evil
            for name in ("main", "feature-x", str(town.main)):
                assert (await client.refused(worktree=name))["reason"] == "no-repository"
            result = await client.call("echo", {"text": str(town.main / "code.py")})
            assert result["_meta"][ROOT] == str(evil)
    # Nor does its repository have a folder because it says so.
    (evil / ".git").unlink()
    (evil / "git-of-its-own").rename(evil / ".git")
    place = evil / ".git" / "worktrees" / "stolen"
    place.mkdir(parents=True)
    (place / "gitdir").write_text(f"{town.side / '.git'}\n", "utf-8")
    (place / "HEAD").write_text("ref: refs/heads/stolen\n", "utf-8")
    async with mover(town, cwd=evil) as client:
        assert (await client.refused(worktree="stolen"))["hint"] == "it has: main"


async def test_a_sandbox_opens_the_worktree_that_its_server_stands_in(town: Town) -> None:
    command = child_command("squatting_child")
    town.home(
        look=server(
            command, follow="worktree", sandbox_profile="default", read_roots=[str(CHECKOUT)]
        )
    )
    async with mover(town) as client:

        async def write(worktree: str, path: str) -> str:
            result = await client.call("write", {"path": path}, worktree=worktree)
            return result["_meta"].get(ERROR, {}).get("reason", "") or said(result)

        assert "written" in await write("main", "by-main")
        assert "written" in await write("feature-x", "by-side")
        assert (town.main / "by-main").exists()
        assert (town.side / "by-side").exists()
        assert not (town.main / "by-side").exists()
        # What lies beside its worktree is not its own, by whichever name.
        (town.side / "out").symlink_to(town.main)
        assert await write("feature-x", str(town.main / "stolen")) == "wrong-tree"
        assert "refused: " in await write("feature-x", str(town.side / "out" / "stolen"))
        assert not (town.main / "stolen").exists()
        assert not (town.side / "stolen").exists()


class Reader:
    """Who reads what they are asked, and agrees for the session."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def __call__(self, context: object, params: Any) -> ElicitResult:
        del context
        self.shown.append(params.message)
        await read_it()
        return ElicitResult.model_validate(reply("allow_session"))


async def test_what_is_asked_and_noted_is_of_the_worktree(town: Town) -> None:
    """Agreed to in one worktree is not agreed to in another."""
    town.home(look=town.entry(trust_annotations=False))
    town.workspace.config_toml("guard = true\n", scope="home")
    reader = Reader()
    async with mover(town, asks=reader) as client:
        await client.cwd()
        await client.cwd()
        assert len(reader.shown) == 1
        assert f"Folder: {town.main}" in reader.shown[0]
        assert "Worktree:" not in reader.shown[0]
        await client.cwd(worktree="feature-x")
        await client.cwd(worktree="feature-x")
        assert len(reader.shown) == 2
        lines = reader.shown[1].splitlines()
        assert str(town.side.name) in lines[0]
        assert f"Folder: {town.side}" in lines
        assert "Worktree: feature-x (the call names it)" in lines
        await client.call("echo", {"text": str(town.side / "code.py")})
        assert "Worktree: feature-x (a path of the call is in it)" in reader.shown[2]
        assert f"Folder: {town.side}" in reader.shown[2]
    words = ("audit", "tail", "--last", "100", "--json")
    log = await asyncio.to_thread(switchboard, town.workspace, *words)
    records = [each["record"] for each in log.report["records"]]
    ran = [each for each in records if each["event"] == "tool.call.finished"]
    places = [(each["cwd"], each["workspace"]) for each in ran if each["tool"] == "report"]
    main, side = (str(town.main), str(town.main)), (str(town.side), str(town.side))
    assert places == [main, main, side, side]
    asked = [each["cwd"] for each in records if each["event"] == "approval.requested"]
    assert asked == [str(town.main), str(town.side), str(town.side)]
