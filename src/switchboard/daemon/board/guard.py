"""What guards the calls of one home: questions, pins, trust and the audit log.

One for each process. Questions, pins and the log lie on disk, where every process of a user sees
them; trust for a session is in memory and ends with the session.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from switchboard.approvals.gate import ApprovalChannel, ApprovalGate
from switchboard.approvals.lasting.rules import LastingRules
from switchboard.approvals.pins import Pins
from switchboard.approvals.queue import ApprovalQueue
from switchboard.approvals.queue_asker import HOLD_S, QueueAsker
from switchboard.approvals.request import ApprovalRequests, LaunchOf
from switchboard.approvals.store.owners import ProcessOwners
from switchboard.approvals.store.sqlite import SqliteApprovals
from switchboard.approvals.trail import ApprovalTrail
from switchboard.approvals.trust import TrustBook
from switchboard.audit.store import SqliteAudit
from switchboard.core.calls.launches import Launch
from switchboard.core.events import DefinitionHeld
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.ports import Events
from switchboard.core.privacy.secrets import NO_SECRETS, Redact
from switchboard.core.stores import ApprovalStore, AuditStore
from switchboard.settings.consent.own_code import own_code

if TYPE_CHECKING:
    from switchboard.daemon.team.membership import Team


class Gates(Struct, frozen=True, eq=False):
    """What a road is built with when the surface is guarded."""

    approval: ApprovalGate
    audit: AuditStore


class Guard:
    """Shared by every board of a process."""

    def __init__(self, home: str, events: Events, team: "Team | None" = None) -> None:
        self.home = home
        self.approvals: ApprovalStore = SqliteApprovals(home) if team is None else team.approvals()
        self.audit: AuditStore = (
            SqliteAudit(home, tell=events.emit) if team is None else team.audit(events.emit)
        )
        owners = ProcessOwners() if team is None else team.presence
        self.queue = self._queue = ApprovalQueue(self.approvals, owners)
        self._trust = TrustBook()
        self._events = events
        # Changed tools that were noticed in listings, which are made often: told of once.
        self._held: dict[tuple[str, str], str] = {}
        # What waits for answers, and what writes down that sessions have ended.
        self._asking = TaskSet()
        self._tasks = TaskSet()

    def gates(
        self,
        launch_of: LaunchOf,
        events: Events,
        channel: ApprovalChannel,
        hide: Redact = NO_SECRETS,
        *,
        wait_s: float | None = None,
        ttl_s: float | None = None,
        user_home: str = "",
        allow: Sequence[str] = (),
        workspace: str = "",
    ) -> Gates:
        """The gates of one board, where nobody is told what `hide` takes out.

        `allow` names tools that are silent about themselves and need no yes. A question waits for
        `wait_s`; with `ttl_s` that long, and whoever asks it does, too.
        """
        requests = ApprovalRequests(
            launch_of,
            self._trust,
            client_pid=lambda session: session.client_pid,
            by_value=hide,
            wait_s=wait_s,
            ttl_s=ttl_s,
            user_home=user_home,
        )
        # The end of the question comes first.
        hold_s = HOLD_S if ttl_s is None else 2 * ttl_s
        approval = ApprovalGate(
            requests,
            self._trust,
            self._queue,
            Pins(self.approvals, by_value=hide),
            ApprovalTrail(events, self.audit),
            rules=LastingRules(self.approvals, allow, lambda launch: own_code(launch, workspace)),
            fallback=None if channel == "none" else QueueAsker(self._queue, hold_s=hold_s),
            channel=channel,
            tasks=self._asking,
        )
        return Gates(approval, self.audit)

    async def held(self, launches: Mapping[str, Launch], hide: Redact) -> frozenset[str]:
        """Those tools of a server that it has changed, and that nobody has looked at."""
        found = await Pins(self.approvals, by_value=hide).held_among(launches)
        for each in found.values():
            if self._held.get((each.server, each.tool)) != each.id:
                self._held[each.server, each.tool] = each.id
                # Nobody has called it, and a listing belongs to no session.
                self._events.emit(
                    DefinitionHeld(
                        session_id="", server=each.server, tool=each.tool, approval_id=each.id
                    )
                )
        return frozenset(found)

    def leave(self, session_id: str) -> None:
        """A session has ended, and with it what was asked and trusted in it."""
        self._trust.leave(session_id)
        self._tasks.start(self._leave(session_id))

    async def _leave(self, session_id: str) -> None:
        # What it asked expires in time, and nobody is there to be told that this failed.
        with contextlib.suppress(Fault):
            await self.approvals.leave(session_id)

    async def aclose(self) -> None:
        """Write what waits, and let go of every file."""
        await self._asking.aclose()
        await self._tasks.wait()
        await self.approvals.aclose()
        await self.audit.aclose()
