"""Worktrees: made with their files, and never removed while they hold work."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from yardlab import Lab, is_alive, wait_for

from support.requirements import requirement

CONFIG = """
[env]
link = [".env"]
copy = ["conf/dev.json"]
[services.web]
command = [SVC, "serve"]
port = 0
"""


@pytest.fixture
def shop(lab: Lab) -> Lab:
    """Give a repository with ignored env files."""
    lab.config(CONFIG)
    (lab.root / ".gitignore").write_text(".env*\nconf/\nnode_modules/\n*.key\n")
    (lab.root / "code.py").write_text("x = 1\n")
    lab.repository()
    (lab.root / ".env").write_text("A=1\n")
    (lab.root / ".env.other").write_text("secret")
    (lab.root / "conf").mkdir()
    (lab.root / "conf" / "dev.json").write_text("{}")
    return lab


def made(lab: Lab, branch: str = "side") -> Path:
    return Path(lab.json("create", branch)["path"])


def commit(lab: Lab, tree: Path, name: str = "new.txt") -> None:
    (tree / name).write_text("work")
    lab.git("add", "-A", cwd=tree)
    lab.git("commit", "-q", "-m", "work", cwd=tree)


@requirement("S1.44", "S1.45", "S1.68")
def test_a_worktree_gets_the_configured_files_and_no_others(shop: Lab) -> None:
    told = shop.json("create", "feat/One")
    tree = Path(told["path"])
    assert (told["created"], told["slug"]) == (True, "feat-one")
    assert (tree / ".env").is_symlink()
    assert (tree / ".env").read_text() == "A=1\n"
    assert (tree / "conf" / "dev.json").read_text() == "{}"
    assert not (tree / "conf" / "dev.json").is_symlink()
    assert not (tree / ".env.other").exists()
    assert shop.git("branch", "--show-current", cwd=tree).strip() == "feat/One"
    rows = shop.json("list")["worktrees"]
    assert [(one["branch"], one["path"], one["exists"]) for one in rows] == [
        ("feat/One", str(tree), True)
    ]
    assert shop.json("list", cwd=tree)["worktrees"] == rows


@requirement("S1.44")
def test_creating_it_again_creates_nothing(shop: Lab) -> None:
    tree = made(shop)
    (tree / ".env").unlink()
    (tree / ".env").write_text("mine")
    again = shop.json("create", "side")
    assert (again["created"], again["path"]) == (False, str(tree))
    assert (tree / ".env").read_text() == "mine"
    shop.json("create", "side", "--force-env")
    assert (tree / ".env").is_symlink()


@requirement("S1.43")
def test_a_missing_source_is_a_warning_and_not_a_failure(shop: Lab) -> None:
    (shop.root / ".env").unlink()
    warned = shop.json("doctor")["env_warnings"]
    assert [(one["path"], one["mode"]) for one in warned] == [(".env", "link")]
    told = shop.json("create", "side")
    assert {one["path"]: one["result"] for one in told["env"]} == {
        ".env": "missing",
        "conf/dev.json": "copied",
    }


def test_worktreeinclude_is_honoured(shop: Lab) -> None:
    (shop.root / "a.key").write_text("k")
    (shop.root / "plain.txt").write_text("not ignored")
    (shop.root / ".worktreeinclude").write_text("*.key\nplain.txt\n")
    tree = made(shop)
    assert (tree / "a.key").read_text() == "k"
    assert not (tree / "plain.txt").exists()


@pytest.mark.parametrize("branch", ["-x", "a..b", "a b", "x.lock", "a~1", "refs//x", "@", "a\\b"])
def test_hostile_branch_names_are_refused(shop: Lab, branch: str) -> None:
    done = shop.sy("create", "--json", branch, code=2)
    assert done.json["ok"] is False
    assert shop.json("list")["worktrees"] == []


def test_names_beyond_ascii_stay_distinct_and_readable(shop: Lab) -> None:
    slugs = [
        shop.json("create", branch)["slug"]
        for branch in ("größe/über", "日本語", "日本", "пример", "plain")
    ]
    assert len(set(slugs)) == len(slugs)
    assert slugs[0].startswith("gro")
    assert slugs[-1] == "plain"
    assert all(one.isascii() and "default" not in one for one in slugs)


def test_names_that_collide_after_slugging_are_refused(shop: Lab) -> None:
    made(shop, "feat/x")
    assert shop.json("create", "feat-x", code=4)["error"]["code"] == "slug-taken"
    assert shop.json("create", "MAIN", code=4)["error"]["code"] == "slug-taken"
    assert shop.git("branch", "--list", "feat-x") == ""


def test_a_root_that_collides_with_a_worktree_is_not_started(shop: Lab) -> None:
    made(shop, "feat/x")
    shop.git("checkout", "-q", "-b", "feat-x")
    assert shop.json("up", code=4)["error"]["code"] == "slug-taken"
    assert shop.ours() == []


def test_prune_lets_ports_of_forgotten_branches_go(shop: Lab) -> None:
    shop.git("checkout", "-q", "-b", "passing")
    shop.json("up")
    shop.json("down")
    shop.git("checkout", "-q", "main")
    shop.json("up")
    shop.json("prune")
    ports = json.loads((shop.home / "ports.json").read_text())["ports"]
    assert [owner[1:] for owner in ports.values()] == [["main", "web"]]


def test_a_link_that_leads_out_of_the_project_undoes_the_creation(shop: Lab) -> None:
    (shop.root / ".env").unlink()
    (shop.root / ".env").symlink_to("/etc/passwd")
    assert shop.json("create", "side", code=1)["error"]["code"] == "env-escapes"
    assert shop.json("list")["worktrees"] == []
    assert shop.git("worktree", "list").count("\n") == 1
    assert shop.git("branch", "--list", "side") == ""


def test_a_worktree_root_inside_the_project_is_kept_out_of_its_status(shop: Lab) -> None:
    path = shop.root / "switchyard.toml"
    path.write_text(
        path.read_text().replace('name = "shop"', 'name = "shop"\nworktree_root = "wt"')
    )
    shop.git("commit", "-qam", "root")
    tree = made(shop)
    assert tree == shop.root / "wt" / "side"
    assert shop.git("status", "--porcelain") == ""
    assert shop.json("brief", cwd=tree)["branch"] == "side"


def test_worktrees_made_by_git_are_adopted(shop: Lab) -> None:
    tree = shop.folder / "by-hand"
    shop.git("worktree", "add", "-q", "-b", "hand", str(tree))
    assert "adopt" in str(shop.json("doctor", cwd=tree, code=1)["problems"])
    assert shop.json("adopt")["adopted"][0]["branch"] == "hand"
    assert shop.json("doctor", cwd=tree)["root"] == str(shop.root)
    assert shop.json("up", "hand")["worktree"] == str(tree)


def test_a_clean_worktree_is_removed_with_its_runtime(shop: Lab) -> None:
    tree = made(shop)
    pid = shop.json("up", "side")["services"][0]["pid"]
    (tree / ".env.mine").write_text("ignored, and yet somebody's work")
    told = shop.json("rm", "side")
    assert [one["branch"] for one in told["stopped"]] == ["side"]
    assert not is_alive(pid)
    assert not tree.exists()
    assert (Path(told["trash"]) / ".env.mine").exists()
    assert shop.git("worktree", "list").count("\n") == 1
    assert shop.git("branch", "--list", "side").strip() == "side"
    assert shop.json("list")["worktrees"] == []


@pytest.mark.parametrize("harm", ["modified", "untracked", "staged"])
def test_changes_are_never_removed(shop: Lab, harm: str) -> None:
    tree = made(shop)
    pid = shop.json("up", "side")["services"][0]["pid"]
    if harm == "modified":
        (tree / "code.py").write_text("x = 2\n")
    else:
        (tree / "new.py").write_text("y")
    if harm == "staged":
        shop.git("add", "-A", cwd=tree)
    refused = shop.json("rm", "side", code=4)
    assert refused["error"]["code"] == "would-lose-work"
    assert tree.exists()
    assert is_alive(pid)
    shop.json("rm", "side", "--force-tree")
    assert not tree.exists()


def test_commits_that_are_nowhere_else_keep_their_branch(shop: Lab) -> None:
    tree = made(shop)
    commit(shop, tree)
    refused = shop.json("rm", "side", "--delete-branch", "--force-tree", code=4)
    assert "neither merged nor pushed" in refused["error"]["message"]
    assert tree.exists()
    shop.git("merge", "-q", "--no-edit", "side")
    told = shop.json("rm", "side", "--delete-branch")
    assert told["branch_deleted"] is True
    assert shop.git("branch", "--list", "side") == ""


def test_a_locked_or_inhabited_worktree_stays(shop: Lab) -> None:
    tree = made(shop)
    shop.git("worktree", "lock", str(tree))
    assert "locked" in shop.json("rm", "side", code=4)["error"]["message"]
    shop.git("worktree", "unlock", str(tree))
    with subprocess.Popen(["sleep", "60"], cwd=tree) as guest:
        message = shop.json("rm", "side", code=4)["error"]["message"]
        assert f"process {guest.pid} is running in it" in message
        assert is_alive(guest.pid)
        guest.kill()
    shop.json("rm", "side")


def test_a_refusal_comes_before_anything_is_done(shop: Lab) -> None:
    """Somebody else stands in the worktree: its services go on, and its hook has not run."""
    path = shop.root / "switchyard.toml"
    path.write_text(path.read_text() + f'[hooks]\npre_remove = [["touch", "{shop.folder}/ran"]]\n')
    tree = made(shop)
    shop.json("up", "side")
    running = set(shop.ours())
    terminal = subprocess.Popen(["sleep", "100"], cwd=tree)
    try:
        error = shop.json("rm", "side", code=4)["error"]
        assert f"process {terminal.pid} is running in it" in error["message"]
        assert set(shop.ours()) == running
        assert not (shop.folder / "ran").exists()
    finally:
        terminal.kill()
        terminal.wait()
    shop.json("rm", "side", "--force-tree")
    assert (shop.folder / "ran").exists()


def test_a_later_branch_of_the_same_name_begins_without_the_old_data(shop: Lab) -> None:
    path = shop.root / "switchyard.toml"
    keep = '[services.db]\ncommand = ["sh", "-c", "echo; touch $DATA/file; exec sleep 100"]\n'
    path.write_text(path.read_text() + keep + 'env = { DATA = "{data_dir}" }\n')
    made(shop)
    shop.json("up", "side", "db")
    state = shop.folder_of_state()
    wait_for((state / "data" / "side" / "db" / "file").exists)
    shop.json("rm", "side", "--force-tree", "--delete-branch", "--force-branch")
    assert not (state / "data" / "side").exists()
    assert not (state / "logs" / "side").exists()
    kept = [one.name for one in (state / "trash").iterdir()]
    assert sorted(one.split("-")[0] for one in kept) == ["data", "logs"]
    (state / "data" / "gone" / "db").mkdir(parents=True)
    (state / "logs" / "main").mkdir(parents=True, exist_ok=True)
    assert shop.json("prune")["data"] == ["gone"]
    assert not (state / "data" / "gone").exists()
    assert (state / "logs" / "main").exists()
    for one in (state / "trash").iterdir():
        os.utime(one, (0, 0))
    assert len(shop.json("prune")["trash"]) == 3
    assert list((state / "trash").iterdir()) == []


def test_a_refusing_hook_keeps_the_worktree(shop: Lab) -> None:
    path = shop.root / "switchyard.toml"
    path.write_text(path.read_text() + '[hooks]\npre_remove = [["false"]]\n')
    tree = made(shop)
    assert shop.json("rm", "side", code=1)["error"]["code"] == "hook-failed"
    assert tree.exists()


def test_prune_forgets_what_is_gone_and_keeps_work(shop: Lab) -> None:
    gone, work, done = made(shop, "gone"), made(shop, "work"), made(shop, "done")
    commit(shop, work)
    subprocess.run(["rm", "-rf", str(gone)], check=True)
    shown = {one["branch"]: one for one in shop.json("prune", "--dry-run", "--merged")["worktrees"]}
    assert [shown[one]["action"] for one in ("gone", "work", "done")] == [
        "forget",
        "keep",
        "remove",
    ]
    assert done.exists()
    shop.json("prune", "--merged")
    assert [one["branch"] for one in shop.json("list")["worktrees"]] == ["work"]
    assert work.exists()
    assert not done.exists()


def test_heavy_folders_are_cloned_or_the_reason_is_told(shop: Lab) -> None:
    path = shop.root / "switchyard.toml"
    heavy = shop.root / "node_modules" / "a"
    heavy.mkdir(parents=True)
    (heavy / "b.js").write_text("1")
    (heavy / "c").symlink_to("b.js")
    text = path.read_text()
    for mode in ("auto", "copy", "hardlink"):
        path.write_text(text + f'[clone]\npaths = ["node_modules"]\nmode = "{mode}"\n')
        told = shop.json("create", f"b-{mode}")
        clone = Path(told["path"]) / "node_modules" / "a"
        if told["cloned"][0]["result"] == "skipped":
            assert mode == "auto"
            assert told["cloned"][0]["reason"]
            assert not clone.exists()
        else:
            assert (clone / "b.js").read_text() == "1"
            assert str((clone / "c").readlink()) == "b.js"
