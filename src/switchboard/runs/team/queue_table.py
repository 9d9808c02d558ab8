"""The table of runs of a team, with the queue that workers take them from.

A run that waits belongs to nobody; whoever takes it owns it until it ends, gives it back or is
gone. Nobody but its owner writes it.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sql import Sql
from switchboard.core.stores import Owners
from switchboard.postgres.database import Part
from switchboard.runs.endings import halted, must_end
from switchboard.runs.run import Run, RunSpec
from switchboard.runs.store.postgres import TeamRunTable
from switchboard.runs.store.run_table import readable_run

# Of changes of runs, with their ids; and that there may be something to do.
CHANGED = "switchboard_runs"
WORK = "switchboard_work"
_MOST_WAITING = 200
TAKEN_OVER = "run-taken-over"
# Every worker serves the queue of its machine, by this word and the machine's name.
OF_HOST = "host:"

_FIRST = """
CREATE TABLE run_queue (
    run_id TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    queue TEXT NOT NULL,
    -- The lowest first.
    priority INTEGER NOT NULL,
    -- Whether it is the machine of the queue that has its conversation.
    is_bound BOOLEAN NOT NULL DEFAULT FALSE,
    -- Since when nobody has it.
    since TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE TABLE run_inputs (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    input TEXT NOT NULL
);
CREATE FUNCTION tell_of_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('switchboard_runs', NEW.id);
    IF NEW.ended_at > 0 OR (NEW.state = 'queued' AND NEW.owner = '') THEN
        PERFORM pg_notify('switchboard_work', '');
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER runs_told AFTER INSERT OR UPDATE OF run, is_unwanted, owner ON runs
    FOR EACH ROW EXECUTE FUNCTION tell_of_runs();
CREATE FUNCTION tell_of_inputs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('switchboard_work', '');
    RETURN NULL;
END
$$;
CREATE TRIGGER inputs_told AFTER INSERT ON run_inputs
    FOR EACH ROW EXECUTE FUNCTION tell_of_inputs();
"""
QUEUE = Part("queue", (_FIRST,))


class QueuePlace(Struct, frozen=True):
    """Where a run waits, and who goes before whom: the lowest first."""

    queue: str = "default"
    priority: int = 100


class QueueTable(TeamRunTable):
    """Gives each run that waits to one worker, and takes those back whose worker is gone."""

    def __init__(
        self,
        database: Sql,
        owners: Owners,
        *,
        placed: Callable[[RunSpec], QueuePlace],
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(database, owners, clock=clock)
        self._placed = placed
        self._members = owners

    # Whoever takes runs

    def waiting(self, queues: Sequence[str]) -> list[tuple[Run, float]]:
        """Runs that nobody has, with the seconds that they have waited, in their order."""
        rows = self._sql.rows(
            "SELECT run, extract(epoch FROM now() - since)::float8 AS waited"
            " FROM runs JOIN run_queue ON run_id = id"
            " WHERE state = 'queued' AND owner = '' AND is_unwanted = 0 AND queue = ANY(?)"
            " ORDER BY priority, number LIMIT ?",
            *(list(queues), _MOST_WAITING),
        )
        found = ((readable_run(row["run"]), row["waited"]) for row in rows)
        return [(run, waited) for run, waited in found if run is not None]

    def stranded(self, after_s: float) -> list[Run]:
        """Runs that wait for a machine on which no worker was alive for so long."""
        rows = self._sql.rows(
            "SELECT run FROM runs JOIN run_queue ON run_id = id"
            " WHERE state = 'queued' AND runs.owner = '' AND is_bound"
            " AND since < now() - make_interval(secs => ?) AND NOT EXISTS ("
            "SELECT 1 FROM members WHERE role = 'worker' AND queue = 'host:' || host"
            " AND beat_at > now() - make_interval(secs => ?))",
            *(after_s, after_s),
        )
        return [run for row in rows if (run := readable_run(row["run"])) is not None]

    def own(self) -> list[Run]:
        """Runs of this process that have not ended."""
        return self._select("owner = ? AND ended_at = 0", self._members.own())

    def take(self, run_id: str, /, *, alone: bool) -> Run | None:
        """Take a run that waits. Nothing where another was quicker.

        With `alone`, nothing either while somebody has another that may write in its workspace.
        """
        with self._sql.together(lasting=True):
            self._sql.hold(run_id)
            run = self._free(run_id)
            if run is None or (alone and run.spec.may_write and self._is_taken(run.spec)):
                return None
            self._sql.change("UPDATE runs SET owner = ? WHERE id = ?", self._members.own(), run_id)
            return run

    def give_back(self, run_id: str, /) -> Run | None:
        """Let a run wait again that is ours, or whose owner is gone. Nothing where it is not so.

        Nor where a run that somebody left must not be attempted again.
        """
        with self._sql.together(lasting=True):
            self._sql.hold(run_id)
            rows = self._sql.rows(
                "SELECT run, owner, is_unwanted FROM runs WHERE id = ? AND ended_at = 0", run_id
            )
            if not rows:
                return None
            owner = rows[0]["owner"]
            if owner != self._members.own() and not self._members.is_gone(owner):
                return None
            run = readable_run(rows[0]["run"])
            if run is None:
                return None
            if owner != self._members.own() and must_end(run):
                # Its owner may have been taken for gone only after such runs were looked for.
                return None
            self._sql.change("UPDATE runs SET owner = '' WHERE id = ?", run_id)
            if rows[0]["is_unwanted"]:
                return self._put(run, _cancelled(run, self._clock()))
            if run.spec.on_crash == "resume" and run.thread_id:
                # What the engine remembers of it lies on that machine.
                self._bind(run_id, owner)
            self._sql.change("UPDATE run_queue SET since = now() WHERE run_id = ?", run_id)
            kept = run.thread_id if run.spec.on_crash == "resume" else ""
            return self._put(
                run, {"state": "queued", "doing": "", "approval_id": "", "thread_id": kept}
            )

    def end_waiting(self, run_id: str, /, **changes: Any) -> Run | None:
        """End a run that nobody has. Nothing where somebody does."""
        with self._sql.together(lasting=True):
            self._sql.hold(run_id)
            run = self._free(run_id)
            return None if run is None else self._put(run, changes)

    # What is said to runs that work elsewhere

    def put_in(self, run_id: str, text: str, /) -> None:
        self._sql.change("INSERT INTO run_inputs (run_id, input) VALUES (?, ?)", run_id, text)

    def inputs(self) -> list[tuple[str, str]]:
        """What was said to our runs, once."""
        rows = self._sql.rows(
            "DELETE FROM run_inputs USING runs WHERE run_id = id"
            " AND (owner = ? OR ended_at > 0) RETURNING run_inputs.number, run_id, input",
            self._members.own(),
        )
        ordered = sorted(rows, key=lambda row: row["number"])
        return [(row["run_id"], row["input"]) for row in ordered]

    # Rows

    def _note_added(self, run: Run) -> None:
        placed = self._placed(run.spec)
        self._sql.change(
            "INSERT INTO run_queue (run_id, queue, priority) VALUES (?, ?, ?)",
            *(run.id, placed.queue, placed.priority),
        )
        if run.spec.replies_to:
            # The conversation lies on the machine of the run before.
            rows = self._sql.rows("SELECT owner FROM runs WHERE id = ?", run.spec.replies_to)
            if rows and rows[0]["owner"]:
                self._bind(run.id, rows[0]["owner"])

    def _bind(self, run_id: str, owner: str) -> None:
        """Let a run be for workers of the machine of an owner."""
        queue = OF_HOST + host_of(owner)
        self._sql.change(
            "UPDATE run_queue SET queue = ?, is_bound = TRUE WHERE run_id = ?", queue, run_id
        )

    def _check_writer(self, run_id: str) -> None:
        rows = self._sql.rows("SELECT owner FROM runs WHERE id = ?", run_id)
        if rows and rows[0]["owner"] != self._members.own():
            raise taken_over(run_id)

    def _free(self, run_id: str) -> Run | None:
        rows = self._sql.rows(
            "SELECT run FROM runs WHERE id = ? AND state = 'queued' AND owner = ''", run_id
        )
        return readable_run(rows[0]["run"]) if rows else None

    def _is_taken(self, spec: RunSpec) -> bool:
        """Whether somebody who lives has another run that may write there.

        Runs above this one wait for it, and do not count.
        """
        others = self._select_owned(
            "workspace = ? AND may_write = 1 AND owner != '' AND ended_at = 0", spec.workspace
        )
        return any(
            run.spec.depth >= spec.depth and not self._members.is_gone(owner)
            for run, owner in others
        )


def host_of(owner: str) -> str:
    """The machine of a process, by its name among the members."""
    return owner.partition(":")[0]


def _cancelled(run: Run, now: float) -> dict[str, Any]:
    ending = halted("cancelled", run)
    changes: dict[str, Any] = {"state": ending.state, "output": ending.output}
    return changes | {"reason": ending.reason, "ended_at": now, "doing": "", "approval_id": ""}


def taken_over(run_id: str) -> Fault:
    """The fault of whoever writes a run that is another's by now."""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        TAKEN_OVER,
        f"run {run_id} belongs to another worker by now",
        hint=f"switchboard runs show {run_id}",
    )
