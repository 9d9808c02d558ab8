"""Networks of chosen hosts, for the children of one process."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from switchboard.core.egress import EgressRow
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Events
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

    def __call__(
        self,
        entry: ReachingEntry,
        environ: Mapping[str, str],
        look_up: Callable[[], Awaitable[Mapping[str, str]]],
        *,
        runs: str,
        cwd: str,
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
        from switchboard.egress.way_out import WayOut as Way  # noqa: PLC0415
        from switchboard.egress.way_out import WayOutSpec  # noqa: PLC0415

        if self._record is None:
            self._record = EgressRecord()
        del runs, cwd
        spec = WayOutSpec(server=entry.name, hosts=entry.egress, environ=environ, look_up=look_up)
        return Way(spec, SystemResolver(), self._record, self._events)

    def rows(self, server: str = "") -> tuple[EgressRow, ...]:
        """What a server reached and was refused, or all of them."""
        return () if self._record is None else tuple(self._record.rows(server))
