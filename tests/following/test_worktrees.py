"""Which folders are worktrees of one repository: those that it names, and that name it."""

import os
import shutil
from pathlib import Path

import pytest

from support.repositories import git, no_repository, repository, worktree
from switchboard.children.trees.worktrees import Repository, repository_of, tree_name


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A repository with a worktree beside it, one inside of it, and one without a branch."""
    root = repository(tmp_path / "app")
    worktree(root, tmp_path / "side", "feature-x")
    worktree(root, root / ".claude" / "worktrees" / "nested", "deep/one")
    git(root, "worktree", "add", "-q", "--detach", str(tmp_path / "bare-head"))
    return root


def found(folder: Path) -> Repository:
    repository = repository_of(str(folder))
    assert repository is not None
    return repository


def tops(folder: Path) -> set[str]:
    return {tree.top for tree in found(folder).trees}


def test_every_worktree_knows_all_of_them(app: Path, tmp_path: Path) -> None:
    nested = app / ".claude" / "worktrees" / "nested"
    every = {str(app), str(tmp_path / "side"), str(nested), str(tmp_path / "bare-head")}
    (nested / "sub").mkdir()
    for folder in (app, tmp_path / "side", nested, nested / "sub", tmp_path / "bare-head"):
        assert tops(folder) == every
    assert found(nested / "sub").own.top == str(nested)
    assert found(app).own.top == str(app)
    plain = no_repository(tmp_path / "plain")
    assert repository_of(str(plain)) is None
    # Git passes by what only has the name.
    (nested / "sub" / ".git").mkdir()
    assert found(nested / "sub").own.top == str(nested)


def test_they_are_called_by_branch_by_name_and_by_folder(app: Path, tmp_path: Path) -> None:
    trees = found(app)
    called = {os.path.relpath(tree.top, tmp_path): trees.called(tree) for tree in trees.trees}
    assert called == {
        "app": "main",
        "side": "feature-x",
        "app/.claude/worktrees/nested": "deep/one",
        "bare-head": "bare-head",
    }
    assert [tree.top for tree in trees.named("feature-x")] == [str(tmp_path / "side")]
    assert [tree.top for tree in trees.named("side")] == [str(tmp_path / "side")]
    assert [tree.top for tree in trees.named("app")] == [str(app)]
    assert trees.named("nobody") == ()
    assert tree_name(str(tmp_path / "side")) == "feature-x"
    # Whoever switches branches is called by the new one.
    git(tmp_path / "side", "switch", "-q", "-c", "other")
    assert tree_name(str(tmp_path / "side")) == "other"


def test_a_path_is_in_the_innermost_worktree(app: Path, tmp_path: Path) -> None:
    trees = found(app)

    def of(path: Path) -> str:
        tree = trees.tree_of(str(path))
        return "" if tree is None else tree.top

    nested = app / ".claude" / "worktrees" / "nested"
    assert of(app / "src" / "a.py") == str(app)
    assert of(nested / "src" / "a.py") == str(nested)
    assert of(nested.with_name("nested-other") / "a.py") == str(app)
    assert of(tmp_path / "side") == str(tmp_path / "side")
    assert of(tmp_path / "sideways") == ""


def test_worktrees_of_a_bare_repository_have_no_main_one(tmp_path: Path) -> None:
    first = repository(tmp_path / "first")
    bare = tmp_path / "project" / ".git"
    git(tmp_path, "clone", "-q", "--bare", str(first), str(bare))
    main = tmp_path / "project" / "main"
    git(bare, "worktree", "add", "-q", str(main), "main")
    assert tops(main) == {str(main)}
    assert tree_name(str(main)) == "main"


def test_names_written_from_where_they_stand_are_understood(tmp_path: Path) -> None:
    """As git writes them from 2.48 on, where it is told to."""
    root = repository(tmp_path / "app")
    side = worktree(root, tmp_path / "side", "feature-x")
    place = root / ".git" / "worktrees" / "side"
    (side / ".git").write_text(f"gitdir: {os.path.relpath(place, side)}\n")
    (place / "gitdir").write_text(f"{os.path.relpath(side / '.git', place)}\n")
    assert tops(side) == tops(root) == {str(root), str(side)}


# Forgeries. Nobody who can write in one folder alone makes another one reachable from it.


def test_a_folder_that_claims_to_be_a_worktree_of_another_repository_is_in_none(
    app: Path, tmp_path: Path
) -> None:
    place = app / ".git" / "worktrees" / "side"
    evil = tmp_path / "evil"
    evil.mkdir()
    for said in (place, app / ".git", app / ".git" / "worktrees" / "new", tmp_path / "nowhere"):
        (evil / ".git").write_text(f"gitdir: {said}\n")
        assert repository_of(str(evil)) is None
    (evil / ".git").unlink()
    (evil / ".git").symlink_to(app / ".git")
    assert repository_of(str(evil)) is None
    (evil / ".git").unlink()
    shutil.copy(tmp_path / "side" / ".git", evil / ".git")
    assert repository_of(str(evil)) is None
    # The real ones are none the worse for it.
    assert len(tops(app)) == 4


def test_a_repository_that_claims_a_folder_of_another_has_it_not(app: Path, tmp_path: Path) -> None:
    evil = repository(tmp_path / "evil")
    theirs = {"main": app, "linked": tmp_path / "side", "plain": tmp_path / "plain"}
    theirs["plain"].mkdir()
    for name, folder in theirs.items():
        place = evil / ".git" / "worktrees" / name
        place.mkdir(parents=True)
        (place / "gitdir").write_text(f"{folder / '.git'}\n")
        (place / "HEAD").write_text("ref: refs/heads/stolen\n")
        (place / "commondir").write_text("../..\n")
    # A link in the place of a worktree's own folder leads to no other repository either.
    (evil / ".git" / "worktrees" / "side").symlink_to(app / ".git" / "worktrees" / "side")
    assert tops(evil) == {str(evil)}


def test_a_submodule_is_no_worktree_of_the_repository_around_it(tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner")
    outer = repository(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "part")
    assert repository_of(str(outer / "part")) is None
    assert tops(outer) == {str(outer)}


def test_nonsense_in_its_files_makes_no_worktree(app: Path, tmp_path: Path) -> None:
    places = app / ".git" / "worktrees"
    (places / "side" / "gitdir").write_text("")
    (places / "nested" / "gitdir").write_text("/\0/.git")
    (places / "a file").write_text("x")
    os.mkfifo(places / "bare-head" / "other")
    assert tops(app) == {str(app), str(tmp_path / "bare-head")}
    # One that its repository does not name any more is alone.
    assert repository_of(str(tmp_path / "side")) is None
