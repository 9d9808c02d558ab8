"""Networks of chosen hosts, for the children of one process."""

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from switchboard.core.egress import EgressRow, reachable
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Events
from switchboard.core.privacy.redaction import redacted_text
from switchboard.core.privacy.secrets import Redact
from switchboard.procs.outlet import ReachingEntry, WayOut

if TYPE_CHECKING:
    from switchboard.daemon.board.guard import Guard
    from switchboard.egress.record import EgressRecord


class Egress:
    """Opens ways out, and remembers what was reached and refused."""

    def __init__(self, events: Events, guard: Callable[[], "Guard"]) -> None:
        self._events = events
        self._guard = guard
        self._record: EgressRecord | None = None
        # The processes that are served: of questions about hosts none of them is the judge.
        self.clients: Callable[[], Iterable[int]] = lambda: (os.getppid(),)

    def __call__(
        self,
        entry: ReachingEntry,
        environ: Mapping[str, str],
        look_up: Callable[[], Awaitable[Mapping[str, str]]],
        *,
        runs: str,
        cwd: str,
        hide: Redact,
    ) -> WayOut:
        if entry.fingerprint:
            # Left out where files are read; this is the last place before it starts.
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "egress-foreign",
                f"`{entry.name}` is not yours alone, so it has no hosts to reach",
            )
        # Few have such a network.
        from switchboard.egress.record import EgressRecord  # noqa: PLC0415
        from switchboard.egress.resolving import SystemResolver  # noqa: PLC0415
        from switchboard.egress.way_out import ProxiedWayOut, WayOutSpec  # noqa: PLC0415

        if self._record is None:
            self._record = EgressRecord()
        spec = WayOutSpec(
            server=entry.name,
            hosts=entry.egress,
            environ=environ,
            look_up=look_up,
            ask=self._questions(entry, runs, cwd, hide) if entry.egress_ask else None,
        )
        return ProxiedWayOut(spec, SystemResolver(), self._record, self._events)

    def _questions(
        self, entry: ReachingEntry, runs: str, cwd: str, hide: Redact
    ) -> Callable[[str, int], Awaitable[bool]]:
        # A database and a log: who asks nobody does without both.
        from switchboard.daemon.board.egress_questions import (  # noqa: PLC0415
            EgressQuestions,
            EgressSubject,
        )
        from switchboard.egress.decisions import EgressDecisions  # noqa: PLC0415
        from switchboard.egress.limits import LIMITS  # noqa: PLC0415

        guard = self._guard()
        subject = EgressSubject(
            server=entry.name,
            runs=runs,
            shown=redacted_text(runs, hide),
            cwd=cwd,
            hosts=reachable(entry.egress, asks=True),
        )
        questions = EgressQuestions(
            subject,
            EgressDecisions(guard.home),
            guard.queue,
            audit=guard.audit,
            events=self._events,
            clients=self.clients,
            wait_s=LIMITS.ask_s,
        )
        return questions.may_reach

    def rows(self, server: str = "") -> tuple[EgressRow, ...]:
        """What a server reached and was refused, or all of them."""
        return () if self._record is None else tuple(self._record.rows(server))
