"""Whose approvals and whose audit log a command is about: those of a home, or of a team."""

from switchboard.approvals.store.sqlite import SqliteApprovals
from switchboard.audit.store import SqliteAudit
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import DATABASE
from switchboard.core.stores import ApprovalStore, AuditStore
from switchboard.ipc.paths import places_from


def opened_approvals(request: CommandRequest) -> ApprovalStore:
    """The queue, for one who closes it. Raises a fault."""
    if database := request.environ.get(DATABASE):
        # Few have a team, and the driver of a database takes a while to load.
        from switchboard.daemon.team.desk import TeamApprovals  # noqa: PLC0415

        return TeamApprovals(database)
    return SqliteApprovals(places_from(dict(request.environ)).home)


def opened_audit(request: CommandRequest) -> AuditStore:
    """The log, for one who closes it. Raises a fault."""
    if database := request.environ.get(DATABASE):
        from switchboard.daemon.team.desk import team_audit  # noqa: PLC0415 - as above

        return team_audit(database, request.environ)
    return SqliteAudit(places_from(dict(request.environ)).home)
