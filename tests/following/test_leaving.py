"""A worktree that goes: its servers go first, and whoever calls next is told why."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path

from cli.commands import switchboard
from following.town import Mover, Town, mover
from support.daemons import status
from support.processes import alive, until_gone, until_true
from support.repositories import git, worktree
from support.workspace import Json, child_command, server
from switchboard.settings.trust import trust_folder
from switchkit.tenancy import Removal

HOOK = """
[project]
name = "town"
[services.web]
command = ["true"]
[hooks]
pre_remove = [["sh", "{script}", "{{worktree}}"]]
"""
# Notes who stands in the folder, or has a file of it open, at the moment before it is moved aside.
SCRIPT = """
for process in /proc/[0-9]*; do
  [ "$process" = "/proc/$$" ] && continue
  for link in "$process/cwd" "$process"/fd/*; do
    case "$(readlink "$link")" in "$1"|"$1"/*) echo "$process $link" >> {noted} ;; esac
  done
done
: >> {noted}
"""


def yard(town: Town, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `switchyard`, which knows nothing of Switchboard."""
    return subprocess.run(
        [sys.executable, "-m", "switchyard", *words],
        cwd=cwd or town.main,
        env={**town.workspace.env, "SWITCHYARD_HOME": str(town.folder / "yard")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def with_yard(town: Town) -> Path:
    """A worktree of the yard's, and a server that squats wherever it stands."""
    (town.main / ".gitignore").write_text("squat*\n", "utf-8")
    script = town.folder / "who.sh"
    script.write_text(SCRIPT.format(noted=town.folder / "noted"), "utf-8")
    (town.main / "switchyard.toml").write_text(HOOK.format(script=script), "utf-8")
    git(town.main, "add", "-A")
    git(town.main, "commit", "-q", "-m", "a yard")
    town.home(look=server(child_command("squatting_child", "squat"), follow="worktree"))
    done = yard(town, "create", "third", "--json")
    assert done.returncode == 0, done
    return Path(json.loads(done.stdout)["path"])


def sizes(folder: Path) -> Json:
    return {str(each): each.stat().st_mtime_ns for each in sorted(folder.rglob("squat*"))}


async def test_removing_a_worktree_ends_its_servers_first(town: Town) -> None:
    """By the command that knows nothing of us. Nothing holds the folder, and nothing writes in it.

    It refuses to remove a folder in which any process stands, and is not forced here.
    """
    third = await asyncio.to_thread(with_yard, town)
    async with mover(town) as client:
        home = (await client.report())["pid"]
        pid = (await client.report(worktree="third"))["pid"]
        await until_true((third / "squat.again").exists)
        done = await asyncio.to_thread(yard, town, "rm", "third", "--json")
        assert done.returncode == 0, done
        assert not alive(pid)
        # Seen by the hook that ran before it was moved aside.
        assert (town.folder / "noted").read_text("utf-8") == ""
        trash = Path(json.loads(done.stdout)["trash"])
        kept = sizes(trash)
        assert len(kept) == 2
        assert not third.exists()
        gone = await client.refused(worktree="third")
        assert (gone["reason"], gone["hint"]) == ("unknown-worktree", "it has: main, feature-x")
        # Those of other worktrees notice nothing.
        assert (await client.report())["pid"] == home
        assert sizes(trash) == kept
        assert not third.exists()
    if "SWITCHBOARD_IN_PROCESS" not in town.workspace.env:
        left = [child["worktree"] for child in (status(town.workspace) or {})["children"]]
        assert "third" not in left


async def test_nothing_starts_in_a_worktree_that_is_being_removed(town: Town) -> None:
    async with mover(town) as client:
        pid = (await client.report(worktree="feature-x"))["pid"]
        with Removal(str(town.side)) as removal:
            assert await asyncio.to_thread(removal.vacated, 30.0)
            assert not alive(pid)
            refused = await client.refused(worktree="feature-x")
            assert refused["reason"] == "tree-leaving"
            assert "is being removed" in refused["message"]
            assert (await client.report())["cwd"] == str(town.main)
        # It was not removed after all.
        await until_answered(client, "feature-x")
        assert (await client.report(worktree="feature-x"))["pid"] != pid


async def until_answered(client: Mover, worktree: str) -> None:
    """Call until it is answered: a server that could not start is tried again after a moment."""
    async with asyncio.timeout(60):
        while (await client.call("report", worktree=worktree)).get("isError"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_a_removal_that_is_refused_leaves_everything_as_it_was(town: Town) -> None:
    third = await asyncio.to_thread(with_yard, town)
    (third / "work.txt").write_text("not committed", "utf-8")
    async with mover(town) as client:
        pid = (await client.report(worktree="third"))["pid"]
        done = await asyncio.to_thread(yard, town, "rm", "third", "--json")
        assert done.returncode != 0
        assert "work.txt" in done.stdout
        # It was refused before anybody had to leave.
        assert (await client.report(worktree="third"))["pid"] == pid


async def test_a_worktree_that_git_removed_is_told_of(town: Town) -> None:
    async with mover(town, at=[town.side]) as client:
        pid = (await client.report())["pid"]
        stalled = asyncio.create_task(client.call("stall"))
        # Sent first, so that it is at work when the other is answered.
        await asyncio.sleep(0)
        await client.call("echo", {"text": "it is at work"})
        await asyncio.to_thread(git, town.main, "worktree", "remove", "--force", str(town.side))
        # Whoever waits is told, and the process is gone soon.
        async with asyncio.timeout(30):
            ended = await stalled
        assert "its worktree was removed or moved" in json.dumps(ended)
        await until_gone([pid])
        # The client still says that it works there: no other worktree is taken for it.
        for _ in range(2):
            gone = await client.refused()
            assert gone["reason"] == "tree-gone"
            assert (
                "the worktree `feature-x` that `look` would look at was removed" in gone["message"]
            )
            assert gone["hint"] == 'say {"worktree":"main"}'
        assert await client.cwd(worktree="main") == town.main
        await client.moves(town.main)
        assert await client.cwd() == town.main


async def test_a_session_that_began_in_a_worktree_is_told_that_it_is_gone(town: Town) -> None:
    third = worktree(town.main, town.folder / "third", "third")
    async with mover(town, cwd=third) as client:
        pid = (await client.report())["pid"]
        await asyncio.to_thread(shutil.rmtree, third)
        await until_gone([pid])
        for more in ({}, {"worktree": "third"}, {"worktree": "main"}):
            gone = await client.refused(**more)
            assert gone["reason"] == "tree-gone"
            assert "removed, moved or replaced" in gone["message"]
        # Another folder in its place is not what this session was about.
        git(town.main, "worktree", "prune")
        worktree(town.main, third, "fourth")
        assert "removed, moved or replaced" in (await client.refused())["message"]


async def test_another_folder_at_the_same_path_is_not_the_one_that_was_trusted(town: Town) -> None:
    del town.workspace.env["SWITCHBOARD_TRUST_WORKSPACE"]
    home = str(town.workspace.home)
    third = worktree(town.main, town.folder / "third", "third")
    assert trust_folder(home, str(town.main))
    assert trust_folder(home, str(third))
    async with mover(town) as client:
        pid = (await client.report(worktree="third"))["pid"]
        await asyncio.to_thread(git, town.main, "worktree", "remove", "--force", str(third))
        worktree(town.main, third, "fourth")
        refused = await client.refused(worktree="fourth")
        assert refused["reason"] == "tree-refused", refused
        assert "this folder is not trusted" in refused["message"]
        await until_gone([pid])
        assert trust_folder(home, str(third))
        await until_answered(client, "fourth")
        assert await client.cwd(worktree="fourth") == third


async def test_a_command_tells_why_too(daemon_town: Town) -> None:
    town = daemon_town
    words = ("call", "look", "report", "--worktree", "feature-x")
    done = await asyncio.to_thread(switchboard, town.workspace, *words)
    assert done.code == 0, done
    await asyncio.to_thread(shutil.rmtree, town.side)
    done = await asyncio.to_thread(switchboard, town.workspace, *words)
    assert done.code == 1
    assert "this repository has no worktree `feature-x`" in done.err
    # Nothing is left of it where nobody began there.
    await until_true(lambda: str(town.side) not in json.dumps(status(town.workspace)))
