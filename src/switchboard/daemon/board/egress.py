"""Networks of chosen hosts, for the children of one process."""

import os
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.network.egress import EgressRow, reachable
from switchboard.core.ports import Events
from switchboard.core.privacy.secrets import Redact
from switchboard.procs.outlet import ReachingEntry, WayOut
from switchkit.platform import light

if TYPE_CHECKING:
    from switchboard.daemon.board.egress_questions import Answering, Attendant, EgressQuestions
    from switchboard.daemon.board.guard import Guard
    from switchboard.egress.answers.asked_before import AskedBefore
    from switchboard.egress.record import EgressRecord
    from switchboard.egress.resolving import SystemResolver

# Its sandbox has no network of its own.
_MAC = "Darwin"


class Egress:
    """Opens ways out, and remembers what was reached and refused."""

    def __init__(
        self,
        events: Events,
        guard: Callable[[], "Guard"],
        answering: "Callable[[], Answering]" = lambda: "any",
    ) -> None:
        self._events = events
        self._guard = guard
        self._answering = answering
        self._record: EgressRecord | None = None
        # Of each server or tool, for all of its processes.
        self._resolvers: dict[str, SystemResolver] = {}
        self._before: dict[tuple[str, str], AskedBefore] = {}
        # Commands that call a server, by its name.
        self._attendants: dict[str, list[Attendant]] = {}
        # The processes that are served: of questions about hosts none of them is the judge.
        self.clients: Callable[[], Iterable[int]] = lambda: (os.getppid(),)
        # The folders that are worked in: nothing in them says whom to believe.
        self.workspaces: Callable[[], Iterable[str]] = tuple
        # The proxies of our own environment, where no client made it.
        self.own_environ: Mapping[str, str] = {}

    def __call__(
        self,
        entry: ReachingEntry,
        environ: Mapping[str, str],
        look_up: Callable[[], Awaitable[Mapping[str, str]]],
        *,
        bound: str,
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
        from switchboard.egress.session_variables import session_variables  # noqa: PLC0415
        from switchboard.egress.way_out import ProxiedWayOut, WayOutSpec  # noqa: PLC0415

        if self._record is None:
            self._record = EgressRecord()
        resolver = self._resolvers.setdefault(entry.name, SystemResolver())
        spec = WayOutSpec(
            server=entry.name,
            hosts=entry.egress,
            variables=session_variables(
                environ, entry.env, own=self.own_environ, workspaces=self.workspaces()
            ),
            look_up=look_up,
            questions=(
                self._questions(entry, bound, runs, cwd, hide) if entry.egress_ask else None
            ),
            on_shared_network=light.system_name() == _MAC,
        )
        return ProxiedWayOut(spec, resolver, self._record, self._events)

    def _questions(
        self, entry: ReachingEntry, bound: str, runs: str, cwd: str, hide: Redact
    ) -> "EgressQuestions":
        # A database and a log: who asks nobody does without both.
        from switchboard.core.privacy.redaction import redacted_text  # noqa: PLC0415
        from switchboard.daemon.board.egress_questions import (  # noqa: PLC0415
            EgressQuestions,
            EgressSubject,
        )
        from switchboard.egress.answers.asked_before import AskedBefore  # noqa: PLC0415
        from switchboard.egress.answers.decisions import EgressDecisions  # noqa: PLC0415
        from switchboard.egress.limits import LIMITS  # noqa: PLC0415

        guard = self._guard()
        subject = EgressSubject(
            server=entry.name,
            bound=bound,
            shown=redacted_text(runs, hide),
            cwd=cwd,
            hosts=reachable(entry.egress, asks=True),
        )
        return EgressQuestions(
            subject,
            EgressDecisions(guard.home),
            guard.queue,
            before=self._before.setdefault((entry.name, bound), AskedBefore()),
            audit=guard.audit,
            events=self._events,
            clients=self.clients,
            wait_s=LIMITS.ask_s,
            answering=self._answering(),
            attendants=lambda: self._attendants.get(entry.name, ()),
        )

    @contextmanager
    def attended(self, server: str, attendant: "Attendant") -> Generator[None]:
        """While this lasts a command calls a server, and is told what waits for a person."""
        self._attendants.setdefault(server, []).append(attendant)
        try:
            yield
        finally:
            self._attendants[server].remove(attendant)
            if not self._attendants[server]:
                del self._attendants[server]

    def forget(self, server: str, where: str) -> bool:
        """Let a server ask about a host again that was denied; whether one was."""
        known = (each for (name, _), each in self._before.items() if name == server)
        return sum(each.forget(where) for each in known) > 0

    def rows(self, server: str = "") -> tuple[EgressRow, ...]:
        """What a server reached and was refused, or all of them."""
        return () if self._record is None else tuple(self._record.rows(server))
