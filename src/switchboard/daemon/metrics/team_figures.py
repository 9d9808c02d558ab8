"""What the database of a team says of all of it, and what this process knows of the database."""

import asyncio
import time
from collections.abc import Iterator

from switchboard import __version__
from switchboard.core.faults import Fault
from switchboard.daemon.metrics.exposition import Labels, MetricFamily, single
from switchboard.daemon.team.membership import Team
from switchboard.postgres.database import NO_TABLES, PostgresDatabase
from switchboard.postgres.unusable import unusable

# Whoever asks more often gets the same again: the database has other things to do.
_FRESH_S = 1.0
# Whoever waits longer is told that it cannot be reached.
_PATIENCE_S = 4.0
_LIVE = ("queued", "working", "asking")

_QUERY = (
    "SELECT"
    " (SELECT count(*) FROM questions WHERE state = 'pending'"
    " AND expires_at > extract(epoch FROM now())) AS questions,"
    " (SELECT count(*) FROM run_queue JOIN runs ON id = run_id"
    " WHERE state = 'queued' AND runs.owner = '') AS depth,"
    " (SELECT coalesce(extract(epoch FROM now() - min(since)), 0)::float8"
    " FROM run_queue JOIN runs ON id = run_id"
    " WHERE state = 'queued' AND runs.owner = '') AS oldest,"
    " (SELECT count(*) FROM runs WHERE state = 'queued') AS queued,"
    " (SELECT count(*) FROM runs WHERE state = 'working') AS working,"
    " (SELECT count(*) FROM runs WHERE state = 'asking') AS asking,"
    " (SELECT count(*) FROM members WHERE role = 'gateway'"
    " AND beat_at > now() - make_interval(secs => ?)) AS gateway,"
    " (SELECT count(*) FROM members WHERE role = 'worker'"
    " AND beat_at > now() - make_interval(secs => ?)) AS worker"
)


class TeamFigures:
    """Asks the database on a thread, one question at a time and not too often."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._sql: PostgresDatabase | None = None
        self._asking: asyncio.Future[dict[str, float] | None] | None = None
        self._found: dict[str, float] | None = None
        self._found_at = 0.0

    async def refresh(self) -> None:
        """Have what the database says, if it says it soon."""
        if self._found is not None and time.monotonic() - self._found_at < _FRESH_S:
            return
        if self._asking is None:
            self._asking = asyncio.ensure_future(asyncio.to_thread(self._ask))
        done, _ = await asyncio.wait({self._asking}, timeout=_PATIENCE_S)
        self._found = None
        if done:
            self._found, self._found_at = self._asking.result(), time.monotonic()
            self._asking = None

    def families(self) -> Iterator[MetricFamily]:
        """Everything as it was found last."""
        team, found = self._team, self._found
        known: dict[Labels, float] = {(("version", __version__),): 1}
        yield MetricFamily("switchboard_build_info", "gauge", "Which version this is.", known)
        for name, about, value in (
            ("database_up", "1 where the database answers.", int(found is not None)),
            ("lease_seconds", "How long a process may be silent.", team.lease_s),
            ("lease_age_seconds", "How long ago it last said so.", team.presence.silent_s),
            ("audit_queue", "Audit records that are not written yet.", team.audit_waiting),
        ):
            yield MetricFamily(f"switchboard_{name}", "gauge", about, single(value))
        if found is None:
            return
        for name, about, key in (
            ("questions_waiting", "Questions that wait for a person, of the team.", "questions"),
            ("queue_depth", "Runs that no worker has taken, of the team.", "depth"),
            ("queue_oldest_seconds", "How long the oldest of them waits.", "oldest"),
        ):
            yield MetricFamily(f"switchboard_{name}", "gauge", about, single(found[key]))
        runs: dict[Labels, float] = {(("state", each),): found[each] for each in _LIVE}
        yield MetricFamily(
            "switchboard_runs", "gauge", "Runs of the team that have not ended.", runs
        )
        roles: dict[Labels, float] = {
            (("role", each),): found[each] for each in ("gateway", "worker")
        }
        yield MetricFamily(
            "switchboard_members", "gauge", "Processes of the team that live.", roles
        )

    def close(self) -> None:
        """Let go of the connection, unless it is in use."""
        if self._asking is None and self._sql is not None:
            self._sql.close()

    def _ask(self) -> dict[str, float] | None:
        try:
            if self._sql is None:
                self._sql = PostgresDatabase(self._team.address, NO_TABLES, failure=unusable)
            [row] = self._sql.rows(_QUERY, self._team.lease_s, self._team.lease_s)
        except Fault:
            return None
        return {key: float(value) for key, value in row.items()}
