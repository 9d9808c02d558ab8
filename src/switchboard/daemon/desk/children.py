"""What a command may do to the children of a server, and read of them."""

import asyncio
import shlex
from collections.abc import Iterable

from switchboard.children.child import Child
from switchboard.control.answers import Changed, ServerLogLines
from switchboard.control.requests import ChildRequest, LogsRequest
from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.sessions.child_status import Whose
from switchboard.procs.stderr_log import StderrLogs
from switchkit.cli.columns import counted

# Whoever follows a log asks again after this.
_LONGEST_LOOK_S = 20.0
_WHY = {
    "stop": "its user has stopped it",
    "restart": "its user has restarted it",
}


async def change_children(
    children: Iterable[tuple[Child, Whose]], request: ChildRequest
) -> Changed:
    """Start, stop or restart those of one name."""
    found = [
        child
        for child, whose in children
        if child.entry.name == request.name
        and (not whose.workspace or request.workspace in {"", whose.workspace})
    ]
    if not found:
        raise Fault(
            FaultCode.NOT_FOUND,
            "unknown-child",
            f"no board of this daemon has a child `{request.name}`",
            hint="switchboard status",
        )
    waiting = sum(child.connection.in_flight for child in found)
    if request.only_unused and waiting:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "calls-under-way",
            f"`{request.name}` works on {counted(waiting, 'call')}, which would get no answer",
            hint=f"wait, or: switchboard restart {shlex.quote(request.name)} --force",
        )
    for child in found:
        if child.entry.account and not child.is_running:
            # Of several accounts, those that are not in use may have no login.
            continue
        if why := _WHY.get(request.action):
            await child.connection.stop(why)
        if request.action != "stop":
            await child.connection.ready()
    return Changed(len(found))


async def log_lines(logs: StderrLogs, request: LogsRequest) -> ServerLogLines:
    """What a server printed; waits for a line where none is there yet and somebody follows."""
    own = logs.find((request.workspace, request.name))
    # One that all workspaces share has a log of its own, and tells each what is about it.
    log = own or logs.find(("", request.name))
    wait_s = min(request.wait_s, _LONGEST_LOOK_S)
    if log is None:
        await asyncio.sleep(min(wait_s, 1.0))
        return ServerLogLines(is_known=False)
    if wait_s > 0:
        await log.grown(request.after, wait_s)
    lines = log.after(request.after)
    shown = lines
    if own is None:
        shown = tuple(each for each in lines if each.is_ours or each.workspace == request.workspace)
    return ServerLogLines(lines=shown, last=log.last, withheld=len(lines) - len(shown))
