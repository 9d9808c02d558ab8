"""Which child serves a session: the one of everybody, or one of its own."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from switchboard.children.accounts.choice import AccountChoice
from switchboard.children.child import Child
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.children.schema import ServerEntry
from switchboard.children.starting.sandboxes import Sandboxes
from switchboard.core.sessions import Session

if TYPE_CHECKING:
    from switchboard.children.trees.tree_choice import TreeChoice


class ChildSource(Protocol):
    """Where the child of one server comes from, for whichever session asks."""

    @property
    def cwd(self) -> str:
        """Where its children run."""
        ...

    @property
    def limits(self) -> ChildLimits:
        """How long things may take."""
        ...

    @property
    def accounts(self) -> AccountChoice | None:
        """Which account a request uses; nothing for a server that has none."""
        ...

    @property
    def trees(self) -> "TreeChoice | None":
        """Which worktree a request is about; nothing for a server that does not follow."""
        ...

    def of(self, session: Session) -> Child:
        """The child that serves this session. Starts nothing.

        Raises a fault where the account cannot be decided.
        """
        ...

    def shown_to(self, session: Session) -> Child | None:
        """The child whose listings the session is shown; nothing where no account is decided."""
        ...

    def children(self) -> Iterable[Child]:
        """Those that it has given."""
        ...


class ChildrenOfBoard(Protocol):
    """The children of a board, as far as their sources need them."""

    @property
    def sandboxes(self) -> Sandboxes:
        """Where its children run."""
        ...

    def owner(self, session_id: str) -> str:
        """The session if it is one that will be seen to end."""
        ...

    def child_by_key(
        self, key: bytes, entry: ServerEntry, limits: ChildLimits, session_id: str = ""
    ) -> Child:
        """The child of this entry, or of this entry and session. Starts nothing."""
        ...

    def children_by_key(self, key: bytes) -> Iterable[Child]:
        """The children of one entry, whoever they belong to."""
        ...


class OwnChildren:
    """A child for each session."""

    __slots__ = ("_children", "_entry", "_key", "cwd", "limits")
    accounts = None
    trees = None

    def __init__(
        self, children: ChildrenOfBoard, key: bytes, entry: ServerEntry, limits: ChildLimits
    ) -> None:
        self._children = children
        self.limits = limits
        self.cwd = children.sandboxes.run_folder(entry)
        self._key = key
        self._entry = entry

    def of(self, session: Session) -> Child:
        owner = self._children.owner(session.id)
        child = self._children.child_by_key(self._key, self._entry, self.limits, owner)
        child.connection.client = session
        if child.callers.only != session.workspace:
            child.callers.come(session.workspace)
        return child

    shown_to = of

    def children(self) -> Iterable[Child]:
        return self._children.children_by_key(self._key)


class SharedChild:
    """The same child for every session, until it asks without saying whom.

    From then on each session that will be seen to end has a child of its own, on its own board.
    """

    __slots__ = ("_board", "_child", "_own", "cwd", "limits")
    accounts = None
    trees = None

    def __init__(
        self,
        board: ChildrenOfBoard,
        shared: ChildrenOfBoard,
        key: bytes,
        entry: ServerEntry,
        limits: ChildLimits,
    ) -> None:
        self.limits = limits
        self._board = board
        self._own = OwnChildren(board, key, entry, limits)
        self.cwd = shared.sandboxes.run_folder(entry)
        self._child = shared.child_by_key(key, entry, limits)

    def of(self, session: Session) -> Child:
        child = self._child
        if child.is_set_apart and session.id != child.kept_for and self._board.owner(session.id):
            return self._own.of(session)
        child.connection.client = session
        if child.callers.only != session.workspace:
            child.callers.come(session.workspace)
        return child

    shown_to = of

    def children(self) -> Iterable[Child]:
        own = (each for each in self._own.children() if each is not self._child)
        return (self._child, *own)
