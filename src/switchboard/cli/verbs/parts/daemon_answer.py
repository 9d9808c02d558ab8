"""The answer of the daemon that runs, if one does and if it is new enough."""

from typing import TypeVar

from msgspec import Struct

from switchboard.cli.request import CommandRequest
from switchboard.control.client import ENDED, SILENT, draining_daemons, running_daemon
from switchboard.control.requests import (
    ApprovalsRequest,
    AuditAfterRequest,
    AuditRequest,
    ControlRequest,
    DecideRequest,
    RunCancelRequest,
    RunEventsRequest,
    RunsRequest,
    RunSteerRequest,
    VerifyRequest,
)
from switchboard.core.faults import Fault
from switchboard.ipc.paths import places_from
from switchboard.shim.flags import wants_in_process

T = TypeVar("T", bound=Struct)

# Names the database of a team, with its password if it has one.
DATABASE = "SWITCHBOARD_DB"
# What is asked of a team, where the command is about one.
_OF_A_TEAM = (
    *(ApprovalsRequest, DecideRequest, AuditRequest, AuditAfterRequest, VerifyRequest),
    *(RunsRequest, RunEventsRequest, RunCancelRequest, RunSteerRequest),
)
# Of a daemon that cannot be asked; what it would tell lies on disk as well.
_OUT_OF_REACH = frozenset({SILENT, ENDED, "daemon-unreachable", "socket-not-private"})


def is_of_team(request: CommandRequest) -> bool:
    """Whether the command is about a team, whose database its user has named."""
    return bool(request.environ.get(DATABASE))


def daemon_answer(request: CommandRequest, wanted: ControlRequest, kind: type[T]) -> T | None:
    """What the daemon answers, or nothing where this command has to look itself. Raises a fault."""
    environ = dict(request.environ)
    # Of a team the daemon of this user knows nothing.
    if wants_in_process(environ) or (is_of_team(request) and isinstance(wanted, _OF_A_TEAM)):
        return None
    try:
        client = running_daemon(places_from(environ))
        if client is None:
            return None
        try:
            return client.answer(wanted, kind)
        finally:
            client.close()
    except Fault as fault:
        # A decision may have been taken although its answer did not come.
        if fault.reason in _OUT_OF_REACH and not isinstance(wanted, DecideRequest):
            return None
        raise


def older_answers(
    request: CommandRequest, wanted: ControlRequest, kind: type[T], *, but_for: str
) -> list[T]:
    """What daemons answer that only finish: after an upgrade it is them who have the clients.

    `but_for` is the reason of the fault by which one says that it has nothing to do with it; any
    other is raised.
    """
    environ = dict(request.environ)
    if wants_in_process(environ):
        return []
    found: list[T] = []
    for client in draining_daemons(places_from(environ)):
        try:
            answer = client.answer(wanted, kind)
        except Fault as fault:
            if fault.reason != but_for and fault.reason not in _OUT_OF_REACH:
                raise
        else:
            found += [] if answer is None else [answer]
        finally:
            client.close()
    return found
