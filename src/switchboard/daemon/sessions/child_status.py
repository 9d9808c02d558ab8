"""What a daemon tells of one child: what runs, and whose it is."""

from collections.abc import Iterable

from msgspec import Struct

from switchboard.children.child import Child
from switchboard.children.trees.worktrees import tree_name
from switchboard.control.status import ChildStatus
from switchboard.daemon.state import DaemonState
from switchkit.platform.facts import resident_bytes
from switchkit.processes import program_behind

_SILENT = "it does not answer"


class Whose(Struct, frozen=True):
    """Whom a child serves: all of a workspace, or of every one, unless a session is named."""

    workspace: str = ""
    session: str = ""
    # The variables for which it is not the same as another of this server.
    apart: tuple[str, ...] = ()


def worktree_names(children: Iterable[tuple[Child, Whose]]) -> dict[Child, str]:
    """The worktrees of those that follow, by the names that people know. Reads files."""
    return {
        child: tree_name(whose.workspace or child.entry.cwd)
        for child, whose in children
        if child.entry.follow
    }


def child_status(
    state: DaemonState, child: Child, whose: Whose, *, is_connected: bool, worktree: str = ""
) -> ChildStatus:
    """What is known of a child."""
    weaker = child.entry.weaker_sandbox
    is_confined = child.entry.sandbox_profile != "none"
    inside = program_behind(child.pid, is_keeper=bool(weaker)) if is_confined else 0
    pid = inside or child.pid
    fault = child.connection.last_fault
    # It is there, as far as we were told, and was just asked for a sign of life.
    is_silent = not is_connected and child.connection.link is not None
    boards = [
        board for board in state.boards if any(each is child for each in board.runtime.needed())
    ]
    # Sessions of other boards come by where a server follows them.
    visitors = {each for board in boards for each in board.runtime.sessions}
    clients = {
        session.client or "unnamed"
        for each in state.attachments
        for session in each.sessions()
        if (each.board in boards or session.id in visitors) and whose.session in {"", session.id}
    }
    return ChildStatus(
        name=child.entry.name,
        account=child.entry.account,
        scope=child.entry.scope,
        workspace=whose.workspace,
        root=(whose.workspace or child.entry.cwd) if child.entry.follow else "",
        worktree=worktree,
        session=whose.session,
        apart=whose.apart,
        boards=tuple(board.number for board in boards),
        clients=tuple(sorted(clients)),
        transport=child.entry.transport,
        is_running=is_connected,
        pid=pid,
        sandbox_pid=child.pid if inside else 0,
        weaker_sandbox=weaker,
        age_s=round(child.connection.age_s, 3),
        memory_bytes=(resident_bytes(pid) or 0) if pid else 0,
        calls=child.calls,
        under_way=child.connection.in_flight,
        last_error=_SILENT if is_silent else fault.message if fault is not None else "",
        last_error_at=0.0 if is_silent or fault is None else round(fault.at, 3),
    )
