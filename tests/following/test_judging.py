"""Which worktree a request is about, and what is refused because it could be the wrong one."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from support.repositories import no_repository, repository, worktree
from switchboard.children.trees.faults import in_commands, in_meta
from switchboard.children.trees.judging import BY_PATH, NAMED, TreeRequest, judge
from switchboard.core.faults import Fault
from switchboard.core.sessions import ChosenTree


class Ground:
    """A repository `app` with two worktrees, and requests to a server in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.app = folder / "app"
        (self.app / "packages" / "a").mkdir(parents=True)
        (self.app / "packages" / "a" / "code.py").write_text("x = 1\n")
        repository(self.app)
        self.side = worktree(self.app, folder / "side", "feature-x")
        self.nested = worktree(self.app, self.app / ".trees" / "nested", "deep")
        self.seen: dict[str, str] = {}

    def judged(self, **more: Any) -> ChosenTree:
        args = more.pop("args", {})
        request = TreeRequest(
            server="fs",
            workspace=str(more.pop("workspace", self.app)),
            user_home=str(self.folder),
            roots=tuple(map(str, more.pop("roots", ()))),
            started_in=str(more.pop("started_in", "")),
            arguments=Raw(json.dumps(args).encode()),
            seen=self.seen,
            **more,
        )
        found = judge(request)
        self.seen |= found.there
        return found.tree

    def refused(self, **more: Any) -> Fault:
        with pytest.raises(Fault) as refused:
            self.judged(**more)
        # No folder is told to whoever calls.
        told = f"{refused.value.message} {refused.value.hint} {refused.value.details}"
        assert str(self.folder) not in told
        return refused.value


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """For tests that change nothing."""
    ground = Ground(tmp_path_factory.mktemp("still"))
    (ground.folder / "link").symlink_to(ground.side)
    return ground


def at(root: Path, name: str, why: str = "", *, is_named: bool = False) -> ChosenTree:
    return ChosenTree(str(root), name, why, is_named)


# By a word, by the client, by the folder that it started in


def test_without_a_word_it_is_the_workspace(ground: Ground, tmp_path: Path) -> None:
    assert ground.judged() == at(ground.app, "main")
    assert ground.judged(workspace=ground.side) == at(ground.side, "feature-x")
    plain = no_repository(tmp_path / "plain")
    assert ground.judged(workspace=plain, args={"path": str(ground.side)}) == at(plain, "")


@pytest.mark.parametrize(
    "word", ["feature-x", "side", "{side}", "{side}/packages", "file://{side}"]
)
def test_a_word_names_it(still: Ground, word: str) -> None:
    named = word.format(side=still.side)
    assert still.judged(named=named) == at(still.side, "feature-x", NAMED, is_named=True)


def test_a_word_that_names_none_or_several_is_refused(ground: Ground) -> None:
    for named in ("nobody", "/", "../side", str(ground.folder), "Feature-X"):
        refused = ground.refused(named=named)
        assert refused.reason == "unknown-worktree"
        assert refused.hint == "it has: main, deep, feature-x"
    worktree(ground.app, ground.folder / "elsewhere" / "side", "third")
    # A name that git has given wins over a folder that is called the same.
    assert ground.judged(named="side").name == "feature-x"
    plain = no_repository(ground.folder / "plain")
    assert ground.refused(named="x", workspace=plain).reason == "no-repository"


def test_the_client_and_then_its_folder_say_where_it_works(ground: Ground) -> None:
    assert ground.judged(roots=[ground.side]) == at(ground.side, "feature-x")
    assert ground.judged(started_in=ground.side) == at(ground.side, "feature-x")
    assert ground.judged(started_in=ground.nested / "packages") == at(ground.nested, "deep")
    assert ground.judged(roots=[ground.app], started_in=ground.side) == at(ground.app, "main")
    # What is in another repository, or in none, says nothing about this one.
    assert ground.judged(roots=[ground.folder], started_in=ground.side).name == "feature-x"
    assert ground.judged(started_in=ground.folder).name == "main"
    named = ground.judged(named="main", roots=[ground.side], started_in=ground.nested)
    assert named == at(ground.app, "main", NAMED, is_named=True)


def test_a_client_in_several_worktrees_has_to_say_which(ground: Ground) -> None:
    roots = [ground.app, ground.side, ground.side / "packages"]
    refused = ground.refused(roots=roots)
    assert refused.reason == "tree-undecided"
    assert "`main`, `feature-x`" in refused.message
    assert refused.hint == 'say {"worktree":"main"}'
    assert ground.judged(roots=roots, named="feature-x").name == "feature-x"
    # A path says it too.
    by_path = ground.judged(roots=roots, args={"path": str(ground.side / "x")})
    assert by_path == at(ground.side, "feature-x", BY_PATH)


def test_in_each_worktree_it_stands_in_the_same_folder(ground: Ground) -> None:
    workspace = ground.app / "packages" / "a"
    assert ground.judged(workspace=workspace, named="feature-x").root == str(
        ground.side / "packages" / "a"
    )
    assert ground.judged(workspace=workspace, roots=[ground.side]).root == str(
        ground.side / "packages" / "a"
    )
    # Roots are no reason to leave the workspace within a worktree.
    assert ground.judged(workspace=workspace, roots=[ground.app]).root == str(workspace)
    (ground.side / "packages" / "a" / "code.py").unlink()
    (ground.side / "packages" / "a").rmdir()
    assert ground.refused(workspace=workspace, named="feature-x").reason == "tree-lacks-folder"
    # Nor does a link of the other branch lead anywhere else.
    (ground.side / "packages" / "a").symlink_to(ground.folder)
    assert ground.refused(workspace=workspace, named="feature-x").reason == "tree-lacks-folder"


# By a path


@pytest.mark.parametrize(
    "args",
    [
        {"path": "{side}/a.py"},
        {"paths": ["{side}/a.py", "{side}"]},
        {"deep": [{"er": {"uri": "file://{side}/a%20b.py"}}]},
        {"path": "~/side/new/file"},
        {"path": "{folder}/app/../side/a.py"},
        {"path": "{folder}/link/a.py"},
        {"path": "{side}/a.py", "text": "a/b", "url": "https://example.org/x", "branch": "side"},
        {"path": "{side}/a.py", "other": "/etc/hosts", "relative": "packages/a/code.py"},
        {"edits": {"{side}/a.py": "x = 2"}},
        {"lines": ["text"] * 5_000, "path": "{side}/a.py"},
    ],
)
def test_a_path_in_another_worktree_leads_there(still: Ground, args: Any) -> None:
    text = json.dumps(args).replace("{side}", str(still.side))
    args = json.loads(text.replace("{folder}", str(still.folder)))
    assert still.judged(args=args) == at(still.side, "feature-x", BY_PATH)


def test_slashes_written_by_their_number_are_slashes(ground: Ground) -> None:
    text = json.dumps({"path": str(ground.side)}).replace("/", "\\u002f")
    assert ground.judged(args={}) == at(ground.app, "main")
    request = TreeRequest(
        server="fs", workspace=str(ground.app), user_home="/", arguments=Raw(text.encode())
    )
    assert judge(request).tree.name == "feature-x"


def test_arguments_are_looked_through_however_deep_they_are(ground: Ground) -> None:
    text = f'{{"deep": {"[" * 900}"{ground.side}/a.py"{"]" * 900}}}'
    request = TreeRequest(
        server="fs", workspace=str(ground.app), user_home="/", arguments=Raw(text.encode())
    )
    assert judge(request).tree.name == "feature-x"


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"path": "{app}/packages"},
        {"path": "/etc/hosts"},
        {"path": "packages/a/code.py"},
        {"command": "cat {side}/a.py"},
        {"text": "one\n{side}/a.py"},
        {"branch": "feature-x"},
        {"branch": "side", "of": "nested"},
        {"path": "{side}ways/a.py"},
    ],
)
def test_what_is_no_path_of_another_worktree_leads_nowhere(still: Ground, args: Any) -> None:
    text = json.dumps(args).replace("{side}", str(still.side)).replace("{app}", str(still.app))
    assert still.judged(args=json.loads(text)) == at(still.app, "main")


def test_where_a_path_is_written_to_be_counts_not_where_a_link_leads(ground: Ground) -> None:
    """Worktrees share files such as `.env` by links."""
    (ground.app / ".env").write_text("A=1")
    (ground.side / ".env").symlink_to(ground.app / ".env")
    args = {"path": str(ground.side / ".env")}
    assert ground.judged(workspace=ground.side, args=args) == at(ground.side, "feature-x")
    assert ground.judged(args=args) == at(ground.side, "feature-x", BY_PATH)


def test_a_named_worktree_and_a_path_elsewhere_is_a_contradiction(ground: Ground) -> None:
    refused = ground.refused(named="main", args={"file": str(ground.side / "a.py")})
    assert refused.reason == "wrong-tree"
    message = "`fs` looks at the worktree `main`, and `file` is in `feature-x`"
    assert (refused.message, refused.hint) == (message, 'say {"worktree":"feature-x"}')
    typed = ground.refused(named="main", args={"file": str(ground.side)}, naming=in_commands)
    assert typed.hint == "say `--worktree feature-x`"
    shown = ground.refused(named="main", args={"file": str(ground.side)}, naming=in_meta)
    assert "`_meta` as `switchboard/worktree`" in shown.hint
    # What was chosen for the call before is as good as named, if that was.
    chosen = at(ground.app, "main", NAMED, is_named=True)
    assert ground.refused(chosen=chosen, args={"file": str(ground.side)}).reason == "wrong-tree"


def test_a_relative_path_into_another_worktree_is_refused(ground: Ground) -> None:
    """There it would mean another file, or none."""
    for path in ("../side/a.py", ".trees/nested/a.py", "./.trees/nested"):
        refused = ground.refused(args={"path": path})
        assert refused.reason == "wrong-tree"
        assert refused.message.startswith("`fs` looks at the worktree `main`, and `path` is in `")
        assert refused.hint.startswith("give its absolute path, or say {")
        assert refused.hint.endswith(" with the path from there")


def test_paths_in_several_worktrees_are_refused(ground: Ground) -> None:
    args = {"old": str(ground.app / "a"), "new": str(ground.side / "a")}
    for more in ({}, {"started_in": ground.side}, {"roots": [ground.nested]}):
        refused = ground.refused(args=args, **more)
        assert refused.reason == "wrong-tree"
        assert "`main`, `feature-x`" in refused.message
        assert refused.hint == "call it once for each of them"


# What was removed


def test_a_client_in_a_removed_worktree_is_told_so(ground: Ground) -> None:
    assert ground.judged(roots=[ground.nested]).name == "deep"
    ground.app.joinpath(".trees").rename(ground.folder / "moved")
    for more in ({"roots": [ground.nested]}, {"started_in": ground.nested / "packages"}):
        refused = ground.refused(**more)
        assert refused.reason == "tree-gone"
        assert "`deep`" in refused.message
        assert refused.hint == 'say {"worktree":"main"}'
    assert ground.judged(roots=[ground.nested], named="main").name == "main"
    # Also one that was never heard of before.
    assert ground.refused(roots=[ground.folder / "never"]).reason == "tree-gone"
    # Over HTTP a client may be on another machine, where that folder is.
    assert ground.judged(roots=[ground.folder / "never"], is_local=False).name == "main"
    assert ground.refused(roots=[ground.nested], is_local=False).reason == "tree-gone"


def test_a_workspace_that_is_gone_is_no_workspace(ground: Ground) -> None:
    ground.side.rename(ground.folder / "moved")
    assert ground.refused(workspace=ground.side).reason == "tree-gone"
    assert ground.refused(workspace=ground.side, named="main").reason == "tree-gone"
