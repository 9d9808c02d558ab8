"""One worker of a team: a process that does the runs that gateways take in."""

import asyncio
import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Sequence

from msgspec.structs import replace

from switchboard.core.ports import Events
from switchboard.daemon.board.run_service import complaints
from switchboard.daemon.team.complaints import Complaints
from switchboard.daemon.team.membership import Team
from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.agreed_lease import FENCE, SILENCE
from switchboard.postgres.presence import Presence
from switchboard.runs.durable_engine import DurableEngine
from switchboard.runs.team.queue_table import OF_HOST
from switchboard.runs.team.team_store import TeamRunStore
from switchboard.runs.team.worker_runs import Duty, WorkerRuns
from switchboard.settings.sections import Settings
from switchboard.vault.keys.team_key import TeamKey
from switchkit.reaper_client import Reaper

# A machine that is started anew is back by then.
_MACHINE_LEASES = 10
_LOOK_S = 0.5
_GRACE_S = 5.0
# Whoever supervises it is to start it again: nothing is wrong with the configuration.
LAPSED_CODE = 75


class TeamWorker(Team):
    """A member that takes runs. To be made in the loop that it works in."""

    def __init__(
        self,
        address: DatabaseAddress,
        keys: Sequence[TeamKey],
        *,
        name: str,
        queues: Sequence[str],
        max_runs: int,
        loop: asyncio.AbstractEventLoop,
        lease: str = "",
    ) -> None:
        """As a `Team`, on a thread; `loop` is that of the work. No `max_runs`: as configured."""
        self._loop = loop
        self._reapers: list[Reaper] = []
        self._queues = tuple(dict.fromkeys((*queues, OF_HOST + socket.gethostname())))
        self._max_runs = max_runs
        # There once the board has agents.
        self.working: WorkerRuns | None = None
        self._pulsed_at = 0.0
        self._is_closed = threading.Event()
        super().__init__(address, keys, name=name, reached_at="", lease=lease)
        threading.Thread(target=self._end_in_time, name="end", daemon=True).start()

    @property
    def queues(self) -> tuple[str, ...]:
        """Those that it serves."""
        return self._queues

    @property
    def executes_runs(self) -> bool:
        return True

    def keep(self, reaper: Reaper) -> None:
        reaper.silence_s = SILENCE * self.lease_s
        self._reapers.append(reaper)

    def runs(self, settings: Settings, events: Events) -> WorkerRuns:
        limits = settings.runs
        if self._max_runs:
            most = self._max_runs
            limits = replace(limits, max_runs=most, max_per_engine=most, max_per_workspace=most)
        tell = Complaints(self.address, complaints(events))
        presence = self.presence
        self.working = WorkerRuns(
            TeamRunStore(self.address, owners=presence, is_lapsed=lambda: presence.is_lapsed),
            lambda execute: DurableEngine(
                settings.home,
                execute,
                limits,
                owners=presence,
                tell=tell,
                # The other spelling is none that DBOS knows.
                database=re.sub("^postgres:", "postgresql:", self.address.url),
            ),
            events=events,
            limits=limits,
            duty=Duty(
                queues=self._queues,
                patience_s=self.lease_s,
                machine_s=_MACHINE_LEASES * self.lease_s,
            ),
            is_lapsed=lambda: presence.is_lapsed,
        )
        return self.working

    def _as_member(self, reached_at: str) -> Presence:
        return Presence(
            self.address,
            "worker",
            reached_at=reached_at,
            lease_s=self.lease_s,
            fence=FENCE,
            on_beat=self._beat,
        )

    def _beat(self) -> None:
        # In the loop: a worker whose loop stands still keeps no engine at work.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._pulse)

    def _pulse(self) -> None:
        before, self._pulsed_at = self._pulsed_at, time.monotonic()
        if before and self._pulsed_at - before > FENCE * self.lease_s:
            # Engines may have been ended without it.
            self.presence.lapse()
        if not self.presence.is_lapsed:
            for reaper in self._reapers:
                reaper.pulse()

    def _end_in_time(self) -> None:
        """See to the end of the process: of one that has lapsed, and of one that was closed.

        Whatever hangs then hangs for good, a thread that waits for its database above all.
        """
        while not self.presence.is_lapsed and not self._is_closed.wait(_LOOK_S):
            pass
        threading.Event().wait(_GRACE_S)
        os._exit(LAPSED_CODE if self.presence.is_lapsed else 0)

    def close(self) -> None:
        super().close()
        self._is_closed.set()
