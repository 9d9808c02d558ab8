"""The table of runs and their transcripts. Its methods are those of `RunStore`, on its thread."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sql import Sql
from switchboard.core.stores import Owners
from switchboard.runs.run import ENDED, Run, RunEvent, RunSpec
from switchboard.runs.transcripts import MOST_BYTES, cut_mark, fitted, is_of_the_run

# Whoever lost an answer asks again within minutes. Later the same words are a new wish.
_REPEAT_S = 3600.0
_UNFINISHED = "state IN ('queued', 'working', 'asking')"
# A run that cannot be read keeps nobody from the others.
_IS_JSON = "json_valid(CAST(run AS TEXT))"
_MEMBER = "json_extract(CAST(run AS TEXT), "
_read_run = msgspec.json.Decoder(Run).decode


class RunTable:
    """Takes runs in, changes them as long as they last, and gives each to one process."""

    def __init__(self, database: Sql, owners: Owners, *, clock: Callable[[], float]) -> None:
        self._database = database
        self._owners = owners
        self._clock = clock

    # Runs

    def add(self, run: Run, /) -> Run:
        spec = run.spec
        with self._database.together(lasting=True):
            if spec.request_key and (found := self._asked_already(spec)) is not None:
                return self._owned(found, spec)
            self._database.change(
                "INSERT INTO runs (id, workspace, request_key, may_write, state, is_delivered,"
                " created_at, ended_at, owner, run) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *(run.id, spec.workspace, spec.request_key, int(spec.may_write), run.state),
                *(int(run.is_delivered), run.created_at, run.ended_at, self._owners.own()),
                msgspec.json.encode(run),
            )
            self._note_searched(run)
            self._note_added(run)
        return run

    def update(self, run_id: str, /, **changes: Any) -> Run:
        ends = changes.get("state") in ENDED
        with self._database.together(lasting=ends, over=run_id):
            run = self._known(run_id)
            if changes.keys() - {"is_delivered"}:
                self._check_writer(run_id)
            if run.has_ended:
                changes = {key: value for key, value in changes.items() if key == "is_delivered"}
            return self._put(run, changes) if changes else run

    def left(self, owner: str, /) -> None:
        with self._database.together():
            for row in self._undelivered():
                spec = row[0].spec
                if spec.owner == owner and spec.repeat_key:
                    self._database.change(
                        "UPDATE runs SET request_key = ? WHERE id = ?", spec.repeat_key, row[0].id
                    )

    def _asked_already(self, spec: RunSpec) -> Run | None:
        """The latest run of the same request whose answer nobody has."""
        for run, key, owner in self._undelivered():
            if key == spec.request_key:
                return run
            if not spec.repeat_key or run.spec.repeat_key != spec.repeat_key:
                continue
            # The client has left, or was left by the process that served it.
            if key == spec.repeat_key or self._owners.is_gone(owner):
                return run
        return None

    def _undelivered(self) -> list[tuple[Run, str, str]]:
        """Runs whose answer somebody may still ask for again, newest first, with key and owner."""
        rows = self._database.rows(
            "SELECT run, request_key, owner FROM runs WHERE request_key != '' AND is_delivered = 0"
            " AND (ended_at = 0 OR ended_at > ?) ORDER BY number DESC",
            self._clock() - _REPEAT_S,
        )
        return [
            (run, row["request_key"], row["owner"])
            for row in rows
            if (run := readable_run(row["run"])) is not None
        ]

    def _owned(self, run: Run, spec: RunSpec) -> Run:
        """The run of a request that was sent again, which belongs to who sent it last."""
        if run.spec.owner == spec.owner:
            return run
        self._database.hold(run.id)
        run = self._known(run.id)
        own = replace(run.spec, owner=spec.owner, request_key=spec.request_key)
        self._database.change(
            "UPDATE runs SET request_key = ? WHERE id = ?", spec.request_key, run.id
        )
        return self._put(run, {"spec": own})

    def get(self, run_id: str, /) -> Run | None:
        found = self._database.rows("SELECT run FROM runs WHERE id = ?", run_id)
        return readable_run(found[0]["run"]) if found else None

    def listed(self, *, workspace: str = "", last: int = 50) -> list[Run]:
        rows = self._database.rows(
            "SELECT run FROM runs WHERE ? IN ('', workspace) ORDER BY number DESC LIMIT ?",
            workspace,
            last,
        )
        return [run for row in rows if (run := readable_run(row["run"])) is not None]

    def unfinished(self, *, workspace: str = "") -> list[Run]:
        return self._select(f"{_UNFINISHED} AND ? IN ('', workspace)", workspace)

    def last_of_thread(self, workspace: str, thread_id: str, /) -> Run | None:
        # A reply has no thread of its own before it begins, and maybe never.
        rows = self._database.rows(
            f"SELECT run FROM runs WHERE workspace = ?1 AND {_IS_JSON}"  # noqa: S608 - ours
            f" AND ?2 IN ({_MEMBER}'$.thread_id'), {_MEMBER}'$.spec.resumes'))"
            " ORDER BY number DESC LIMIT 1",
            workspace,
            thread_id,
        )
        return readable_run(rows[0]["run"]) if rows else None

    def conversations(self) -> set[str]:
        rows = self._database.rows(
            f"SELECT id, {_MEMBER}'$.spec.conversation') AS began,"  # noqa: S608 - ours
            f" {_MEMBER}'$.spec.replies_to') AS replied FROM runs WHERE {_IS_JSON}"
            " UNION ALL SELECT id, '', '' FROM runs"
        )
        return {row[name] for row in rows for name in ("id", "began", "replied") if row[name]}

    def sweep(self, before: float, /) -> int:
        with self._database.together():
            return self._database.change(
                "DELETE FROM runs WHERE ended_at > 0 AND ended_at < ?", before
            )

    # Who executes them

    def claim(self, run_id: str, /, *, alone: bool) -> Run | None:
        with self._database.together(lasting=True):
            self._database.hold(run_id)
            found = self._database.rows(
                "SELECT run FROM runs WHERE id = ? AND state = 'queued' AND owner = ?",
                run_id,
                self._owners.own(),
            )
            if not found:
                return None
            run = _read_run(found[0]["run"])
            if alone and run.spec.may_write and self._is_written_in(run.spec):
                return None
            changes = {
                "state": "working",
                "attempts": run.attempts + 1,
                "started_at": run.started_at or self._clock(),
            }
            return self._put(run, changes)

    def _is_written_in(self, spec: RunSpec) -> bool:
        """Whether a run that may write works there, in a process that lives.

        Runs above this one wait for it, and do not count.
        """
        working = self._select_owned(
            "workspace = ? AND may_write = 1 AND state IN ('working', 'asking')", spec.workspace
        )
        return any(
            run.spec.depth >= spec.depth and not self._owners.is_gone(owner)
            for run, owner in working
        )

    def abandoned(self) -> list[Run]:
        owners = self._database.rows(f"SELECT DISTINCT owner FROM runs WHERE {_UNFINISHED}")  # noqa: S608 - ours
        gone = [row["owner"] for row in owners if self._owners.is_gone(row["owner"])]
        return [
            run for owner in gone for run in self._select(f"{_UNFINISHED} AND owner = ?", owner)
        ]

    def adopt(self, run_id: str, /, **changes: Any) -> Run | None:
        with self._database.together(lasting=True):
            self._database.hold(run_id)
            found = self._database.rows(
                f"SELECT run, owner FROM runs WHERE id = ? AND {_UNFINISHED}",  # noqa: S608 - ours
                run_id,
            )
            if not found or not self._owners.is_gone(found[0]["owner"]):
                return None
            self._database.change(
                "UPDATE runs SET owner = ? WHERE id = ?", self._owners.own(), run_id
            )
            return self._put(_read_run(found[0]["run"]), changes)

    def want_end(self, run_id: str, /) -> bool:
        changed = self._database.change(
            f"UPDATE runs SET is_unwanted = 1 WHERE id = ? AND {_UNFINISHED}",  # noqa: S608 - ours
            run_id,
        )
        return changed == 1

    def unwanted(self) -> list[str]:
        rows = self._database.rows(
            f"SELECT id FROM runs WHERE is_unwanted = 1 AND owner = ? AND {_UNFINISHED}",  # noqa: S608 - ours
            self._owners.own(),
        )
        return [row["id"] for row in rows]

    # Transcripts

    def append(self, run_id: str, data: str, /) -> RunEvent:
        at = self._clock()
        with self._database.together(over=run_id):
            found = self._database.rows(
                "SELECT events, bytes, is_cut FROM runs WHERE id = ?", run_id
            )
            if not found:
                raise unknown_run(run_id)
            self._check_writer(run_id)
            number, size, is_cut = (found[0][name] for name in ("events", "bytes", "is_cut"))
            data = fitted(data)
            # What the run itself did is short, and tells how it ended.
            if size + len(data) > MOST_BYTES and not is_of_the_run(data):
                if is_cut:
                    return RunEvent(run_id=run_id, number=number, at=at, data=data)
                data, is_cut = cut_mark(MOST_BYTES), 1
            self._database.change(
                "INSERT INTO events (run_id, number, at, data) VALUES (?, ?, ?, ?)",
                *(run_id, number + 1, at, data),
            )
            self._database.change(
                "UPDATE runs SET events = ?, bytes = ?, is_cut = ? WHERE id = ?",
                *(number + 1, size + len(data), is_cut, run_id),
            )
        return RunEvent(run_id=run_id, number=number + 1, at=at, data=data)

    def transcript(self, run_id: str, /, *, after: int = 0) -> list[RunEvent]:
        rows = self._database.rows(
            "SELECT number, at, data FROM events WHERE run_id = ? AND number > ? ORDER BY number",
            run_id,
            after,
        )
        return [
            RunEvent(run_id=run_id, number=row["number"], at=row["at"], data=row["data"])
            for row in rows
        ]

    # Rows

    def _known(self, run_id: str) -> Run:
        run = self.get(run_id)
        if run is None:
            raise unknown_run(run_id)
        return run

    def _put(self, run: Run, changes: dict[str, Any]) -> Run:
        run = replace(run, **changes)
        self._database.change(
            "UPDATE runs SET state = ?, is_delivered = ?, ended_at = ?, run = ? WHERE id = ?",
            *(run.state, int(run.is_delivered), run.ended_at, msgspec.json.encode(run), run.id),
        )
        self._note_searched(run)
        return run

    def _note_searched(self, run: Run) -> None:
        """Keep what is searched for inside a run, where the database cannot look into it."""

    def _note_added(self, run: Run) -> None:
        """Keep what else belongs to a new run, where there is more."""

    def _check_writer(self, run_id: str) -> None:
        """Raise a fault where the run is not this process's to write, if that is looked at."""

    def _select(self, condition: str, *values: Any) -> list[Run]:
        return [run for run, _ in self._select_owned(condition, *values)]

    def _select_owned(self, condition: str, *values: Any) -> list[tuple[Run, str]]:
        """Runs with their owners. One that cannot be read keeps nobody from the others."""
        rows = self._database.rows(
            f"SELECT run, owner FROM runs WHERE {condition} ORDER BY number",  # noqa: S608 - ours
            *values,
        )
        return [
            (run, row["owner"]) for row in rows if (run := readable_run(row["run"])) is not None
        ]


def readable_run(data: bytes) -> Run | None:
    """A run as it is kept; nothing if another version, or a broken disk, wrote it."""
    try:
        return _read_run(data)
    except msgspec.MsgspecError:
        return None


def unknown_run(run_id: str) -> Fault:
    """The fault of whoever names a run that is not known, or not any more."""
    return Fault(
        FaultCode.NOT_FOUND,
        "unknown-run",
        f"there is no run `{run_id}`, or it ended so long ago that it was forgotten",
        hint="switchboard runs list",
    )
