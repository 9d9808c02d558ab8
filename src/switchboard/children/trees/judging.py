"""Which worktree a request is about: the one that it names, that its client works in, or a path."""

import os
from collections.abc import Iterable

from msgspec import Raw, Struct

from switchboard.children.trees import faults
from switchboard.children.trees.path_arguments import (
    PathArgument,
    has_paths,
    path_arguments,
    path_from_url,
)
from switchboard.children.trees.worktrees import GitTree, Repository, repository_of
from switchboard.core.sessions import ChosenTree
from switchkit.platform.paths import true_path

NAMED = "the call names it"
BY_PATH = "a path of the call is in it"


class TreeRequest(Struct, frozen=True, kw_only=True):
    """What a request says, and where it comes from."""

    server: str
    # Of the board that the client belongs to.
    workspace: str
    user_home: str
    # The worktree that it names; empty for most.
    named: str = ""
    # What was chosen for it before.
    chosen: ChosenTree | None = None
    # Where the client says that it works, and where it was started.
    roots: tuple[str, ...] = ()
    started_in: str = ""
    # Whether those are folders of this machine, for sure.
    is_local: bool = True
    # Worktrees that were there before, by their folders.
    seen: dict[str, str] = {}
    arguments: Raw = Raw(b"{}")
    naming: faults.Naming = faults.in_suites


class JudgedTree(Struct, frozen=True, kw_only=True):
    """What was decided, and which worktrees there are."""

    tree: ChosenTree
    # What they are called, by their folders.
    there: dict[str, str] = {}


def judge(request: TreeRequest) -> JudgedTree:
    """The worktree that a request is about. Looks at folders, so it belongs on a thread.

    Raises a fault where it is about none, or about several.
    """
    if not os.path.isdir(request.workspace):
        raise faults.folder_gone(request.server)
    repository = repository_of(request.workspace)
    if repository is None:
        if request.named:
            raise faults.no_repository(request.server)
        return JudgedTree(tree=request.chosen or ChosenTree(request.workspace))
    there = {tree.top: repository.called(tree) for tree in repository.trees}
    return JudgedTree(tree=_Judgement(request, repository, there).tree(), there=there)


class _Judgement:
    """One request, and the repository as it is now."""

    def __init__(
        self, request: TreeRequest, repository: Repository, called: dict[str, str]
    ) -> None:
        self._request = request
        self._repository = repository
        self._called = called
        self._is_named = bool(request.named)
        self._why = NAMED if request.named else ""

    def tree(self) -> ChosenTree:
        candidates = self._candidates()
        base = candidates[0] if len(candidates) == 1 else None
        paths = self._paths(base)
        elsewhere = [each for each in paths if each.tree != base]
        if base is None and not elsewhere:
            raise faults.undecided(
                self._request.server, map(self._name, candidates), self._request.naming
            )
        if elsewhere:
            base = self._by_paths(base, paths, elsewhere)
            self._why = BY_PATH
        assert base is not None, "it was chosen, or decided by a path"
        return ChosenTree(self._root(base), self._name(base), self._why, self._is_named)

    def _name(self, tree: GitTree) -> str:
        return self._called[tree.top]

    # By a word, or by the client

    def _candidates(self) -> list[GitTree]:
        """The worktrees that the request may be about, as far as no path decides."""
        request, repository = self._request, self._repository
        if request.named:
            return [self._named(request.named)]
        if request.chosen is not None:
            self._why, self._is_named = request.chosen.why, request.chosen.is_named
            return [repository.tree_of(request.chosen.root) or repository.own]
        found = self._lying(request.roots)
        if not found and request.started_in:
            found = self._lying((request.started_in,))
        return found or [repository.own]

    def _named(self, name: str) -> GitTree:
        path = path_from_url(name) or name
        if os.path.isabs(path):
            tree = self._lies_in(path)
            found = () if tree is None else (tree,)
        else:
            found = self._repository.named(name)
        if len(found) != 1:
            raise faults.unknown_tree(name, self._called.values())
        return found[0]

    def _lying(self, folders: Iterable[str]) -> list[GitTree]:
        """The worktrees that these folders lie in. Raises a fault for one that was removed."""
        found: dict[GitTree, None] = {}
        for folder in folders:
            path = os.path.normpath(folder)
            if not os.path.isdir(path):
                self._refuse_gone(path)
            elif (tree := self._lies_in(path)) is not None:
                found[tree] = None
        return list(found)

    def _lies_in(self, path: str) -> GitTree | None:
        written = self._repository.tree_of(os.path.normpath(path))
        return written or self._repository.tree_of(true_path(path))

    def _refuse_gone(self, path: str) -> None:
        """The client works in a folder that is not there: another would be the wrong one."""
        request = self._request
        known = [top for top in request.seen if path == top or path.startswith(top + os.sep)]
        if not known and not request.is_local:
            # It may be a folder of another machine.
            return
        name = request.seen[max(known, key=len)] if known else os.path.basename(path)
        others = (self._called[tree.top] for tree in self._repository.trees)
        raise faults.tree_gone(request.server, name, request.naming, others)

    # By paths

    def _paths(self, base: GitTree | None) -> tuple[PathArgument, ...]:
        request = self._request
        if len(self._repository.trees) == 1 or not has_paths(request.arguments):
            return ()
        return path_arguments(
            request.arguments,
            self._repository,
            stands_in=self._root(base) if base is not None else "",
            user_home=request.user_home,
        )

    def _by_paths(
        self,
        base: GitTree | None,
        paths: Iterable[PathArgument],
        elsewhere: list[PathArgument],
    ) -> GitTree:
        """The one worktree that all paths lie in. Raises a fault where that is not the case."""
        request, first = self._request, elsewhere[0]
        # A relative one that stays where it is means a file of whichever worktree it will be.
        trees = list(dict.fromkeys(each.tree for each in paths if each.is_absolute))
        hint = request.naming(self._name(first.tree))
        from_there = [each for each in elsewhere if not each.is_absolute]
        if base is not None and (self._is_named or from_there):
            if from_there:
                first = from_there[0]
                say = request.naming(self._name(first.tree))
                hint = f"give its absolute path, or {say} with the path from there"
            raise faults.wrong_tree(
                request.server, self._name(base), first.name, self._name(first.tree), hint
            )
        if len(trees) > 1:
            hint = "call it once for each of them"
            raise faults.several_trees(request.server, map(self._name, trees), hint)
        return trees[0]

    # Where a server stands in it

    def _root(self, tree: GitTree) -> str:
        """The folder in a worktree that the workspace is in its own."""
        workspace, own = self._request.workspace, self._repository.own
        if tree == own:
            return workspace
        within = os.path.relpath(workspace, own.top)
        root = os.path.normpath(os.path.join(tree.top, within))
        # A link would lead to a folder that nobody meant.
        if not os.path.isdir(root) or true_path(root) != root:
            raise faults.lacks_folder(self._request.server, self._name(tree))
        return root
