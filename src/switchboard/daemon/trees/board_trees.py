"""The servers of other worktrees, for the sessions of one board: those of the boards there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from switchboard.children.trees.faults import not_there
from switchboard.children.trees.tree_choice import TreeServer
from switchboard.config.problems import ConfigInvalid
from switchboard.daemon.trees.unasked import UnaskedVariables

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from switchboard.core.faults import Fault
    from switchboard.core.sessions import ChosenTree, Session
    from switchboard.daemon.board.runtime import Runtime

    # Gives what runs in another folder, as for a session that had started there. Raises
    # `ConfigInvalid` or `UnaskedVariables`.
    OpenTree = Callable[[str], Awaitable[Runtime]]

_THERE = "in that worktree: {}"


class BoardTrees:
    """Opens boards of other worktrees, and knows which sessions have been there."""

    def __init__(self, runtime: Runtime, open_tree: OpenTree | None) -> None:
        self._runtime = runtime
        self._open_tree = open_tree
        # By their folders.
        self._open: dict[str, tuple[Runtime, Callable[[str, str], None]]] = {}
        # The sessions of ours that have been there.
        self._visitors: dict[str, set[str]] = {}

    async def server(self, tree: ChosenTree, name: str, session: Session) -> TreeServer:
        """The server of this name there, for a session of ours. Raises a fault."""
        refused = partial(not_there, name, tree.name)
        if self._open_tree is None:
            raise refused("only one folder is served here", "start a session there")
        try:
            there = await self._open_tree(tree.root)
        except ConfigInvalid:
            hint = _THERE.format("switchboard doctor")
            raise refused("its configuration cannot be used", hint) from None
        except UnaskedVariables:
            why = "its configuration names variables that this session was not asked for"
            raise refused(why, "start a session there") from None
        self._enter(tree.root, there, session)
        return _server_in(there, name, refused)

    def _enter(self, root: str, there: Runtime, session: Session) -> None:
        known = self._open.get(root)
        if known is None or known[0] is not there:
            if known is not None:
                known[0].on_changed.discard(known[1])
            hear = partial(self._heard, root)
            there.on_changed.add(hear)
            self._open[root] = (there, hear)
        if session.id in self._runtime.sessions:
            self._visitors.setdefault(root, set()).add(session.id)
            there.visit(session.id)

    def _heard(self, root: str, kind: str, session_id: str) -> None:
        """A server there lists something else now, for everybody or for one session."""
        for visitor in self._visitors.get(root, ()):
            if session_id in {"", visitor}:
                self._runtime.announce(kind, visitor)

    def leave(self, session_id: str) -> None:
        """A session of ours has ended."""
        for root, visitors in self._visitors.items():
            if session_id in visitors:
                visitors.discard(session_id)
                if root in self._open:
                    self._open[root][0].depart(session_id)

    def close(self) -> None:
        """No session of ours is anywhere any more."""
        for there, hear in self._open.values():
            there.on_changed.discard(hear)
        self._open.clear()


def _server_in(there: Runtime, name: str, refused: Callable[[str, str], Fault]) -> TreeServer:
    entry = next((each for each in there.assembly.servers if each.name == name), None)
    if entry is None:
        raise refused(*_why_not(there, name))
    trees = there.source(name).trees
    if trees is None:
        hint = 'write `follow = "worktree"` in its entry there too, or start a session there'
        raise refused("its entry there does not follow", hint)
    return TreeServer(entry, trees.own)


def _why_not(there: Runtime, name: str) -> tuple[str, str]:
    """Why a server cannot be used there, and what to do about it."""
    settings = there.settings
    if any(each.name == name for each in settings.untrusted):
        return "there it waits for the trust of its user", _THERE.format("switchboard trust")
    for omission in settings.omitted:
        if omission.entry.name == name:
            return omission.reason, _THERE.format(omission.hint) if omission.hint else ""
    if why := there.assembly.left_out.get(name):
        return why, _THERE.format("switchboard doctor")
    return "there is no such server there", _THERE.format("switchboard list")
