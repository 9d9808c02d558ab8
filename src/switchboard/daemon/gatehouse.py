"""What stands at the gate of one home: questions, pins, trust and the audit log.

One for each process. Questions, pins and the log lie on disk, where every process of a user sees
them; trust for a session is in memory and ends with the session.
"""

from pathlib import Path

from msgspec import Struct

from switchboard.approvals.database import Database
from switchboard.approvals.desk import Desk
from switchboard.approvals.desk_asker import DeskAsker
from switchboard.approvals.gate import ApprovalChannel, ApprovalGate
from switchboard.approvals.pins import Pins
from switchboard.approvals.request import ApprovalRequests, LaunchOf
from switchboard.approvals.trail import ApprovalTrail
from switchboard.approvals.trust import TrustBook
from switchboard.audit.paths import AuditPaths
from switchboard.audit.writer import AuditWriter
from switchboard.core.ports import CallAudit, Events
from switchboard.core.secrets import NO_SECRETS, Redact


class Gates(Struct, frozen=True, eq=False):
    """What a road is built with when the surface is guarded."""

    approval: ApprovalGate
    audit: CallAudit


class Gatehouse:
    """Shared by every board of a process."""

    def __init__(self, home: str, events: Events) -> None:
        self._database = Database(home)
        self._desk = Desk(self._database)
        self._trust = TrustBook()
        self.audit = AuditWriter(AuditPaths(Path(home)), tell=events.emit)

    def gates(
        self,
        launch_of: LaunchOf,
        events: Events,
        channel: ApprovalChannel,
        hide: Redact = NO_SECRETS,
    ) -> Gates:
        """The gates of one board, where nobody is told what `hide` takes out."""
        requests = ApprovalRequests(
            launch_of, self._trust, client_pid=lambda session: session.client_pid, by_value=hide
        )
        approval = ApprovalGate(
            requests,
            self._trust,
            self._desk,
            Pins(self._database, by_value=hide),
            ApprovalTrail(events, self.audit),
            fallback=None if channel == "none" else DeskAsker(self._desk),
            channel=channel,
        )
        return Gates(approval, self.audit)

    def leave(self, session_id: str) -> None:
        """A session has ended, and with it what was asked and trusted in it."""
        self._trust.leave(session_id)
        self._desk.leave(session_id)

    def close(self) -> None:
        """Write what waits."""
        self.audit.close()
        self._database.close()
