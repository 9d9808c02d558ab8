"""The children of a server that follows: one for each worktree, chosen for every request."""

from collections.abc import Iterable

from switchboard.children.child import Child
from switchboard.children.trees.tree_choice import TreeChoice
from switchboard.core.sessions import Session


class TreeChildren:
    """A `ChildSource` over those of the worktrees."""

    __slots__ = ("cwd", "limits", "trees")
    accounts = None

    def __init__(self, trees: TreeChoice) -> None:
        self.trees = trees
        self.cwd = trees.own.cwd
        self.limits = trees.own.limits

    def of(self, session: Session) -> Child:
        source = self.trees.source_of(session)
        if source is None:
            raise self.trees.not_entered(session)
        return source.of(session)

    def shown_to(self, session: Session) -> Child | None:
        """Of a worktree where it cannot be used, that of its own: who calls is told why."""
        return (self.trees.source_of(session) or self.trees.own).shown_to(session)

    def children(self) -> Iterable[Child]:
        """Those of its own worktree: others belong to the boards that are there."""
        return self.trees.own.children()
