"""RunRecord records: what was started, written before it is announced, replaced as one step."""

import contextlib
import os
from pathlib import Path
from typing import Any, NamedTuple

from switchyard.files import private_directory, read_json, write_json
from switchyard.proc.family import Leader
from switchyard.project.home import ProjectPlaces

MOST_LOADED = 4096


class RunRecord(NamedTuple):
    """One start of one service. `phase` is what was last seen of it, not what is true now."""

    run_id: str
    service: str
    branch: str
    branch_slug: str
    kind: str
    pid: int
    ticks: int
    boot_id: str
    command: tuple[str, ...]
    root: str
    worktree: str
    host: str
    port: int | None
    canonical_port: int | None
    protocol: str
    url: str | None
    log: str
    log_start: int
    started_at: float
    profile: str | None = None
    phase: str = "starting"
    ready_at: float | None = None
    probed_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    reason: str | None = None
    restarts: int = 0
    stop_signal: int = 15
    stop_grace_s: float = 10.0
    stop_command: tuple[str, ...] = ()

    @property
    def leader(self) -> Leader:
        """The identity of the process this run was started as."""
        return Leader(self.pid, self.ticks, self.boot_id, self.run_id)


def run_from_json(value: dict[str, Any]) -> RunRecord:
    """A stored record. Raises `ValueError` when it is not one."""
    known = {key: one for key, one in value.items() if key in RunRecord._fields}
    for key in ("command", "stop_command"):
        known[key] = tuple(known.get(key, ()))
    try:
        return RunRecord(**known)
    except TypeError as wrong:
        raise ValueError(str(wrong)) from None


_LOADED: dict[str, tuple[tuple[int, int, int], RunRecord]] = {}


class RunBook:
    """The run records of one project."""

    def __init__(self, places: ProjectPlaces) -> None:
        self._places = places

    def path(self, branch_slug: str, service: str) -> Path:
        """Where the record of this service is."""
        return self._places.record(branch_slug, service)

    def get(self, branch_slug: str, service: str) -> RunRecord | None:
        """The record, or nothing when there is none that can be read."""
        return self._load(self.path(branch_slug, service))

    @staticmethod
    def _load(path: Path | str) -> RunRecord | None:
        """A record is replaced, never changed: the same file with the same times says the same."""
        try:
            status = os.stat(path)  # noqa: PTH116 - asked for every record of every answer
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            known = _LOADED.get(str(path))
            if known and known[0] == stamp:
                return known[1]
            value = read_json(Path(path))
            run = run_from_json(value) if value else None
        except (ValueError, OSError):
            return None
        if run:
            if len(_LOADED) > MOST_LOADED:
                _LOADED.clear()
            _LOADED[str(path)] = stamp, run
        return run

    def put(self, run: RunRecord) -> None:
        """Write the record. It outlives any kill; a power cut ends the run itself."""
        path = self.path(run.branch_slug, run.service)
        try:
            write_json(path, run._asdict(), durable=False)
        except FileNotFoundError:
            private_directory(path.parent)
            write_json(path, run._asdict(), durable=False)

    def drop(self, run: RunRecord) -> None:
        """Forget a run that has ended, unless another has taken its place."""
        there = self.get(run.branch_slug, run.service)
        if there is None or there.run_id == run.run_id:
            self.path(run.branch_slug, run.service).unlink(missing_ok=True)

    def all(self, branch_slug: str | None = None) -> list[RunRecord]:
        """Every record, of one branch or of all, in a steady order."""
        return self.sorted_out(branch_slug)[0]

    def sorted_out(self, branch_slug: str | None = None) -> tuple[list[RunRecord], list[Path]]:
        """The records, and the files that say nothing: cut short, or written by a strange hand."""
        runs: list[RunRecord] = []
        broken: list[Path] = []
        top = self._places.folder / "runs"
        folders = [str(top / branch_slug)] if branch_slug else self._folders(top)
        for folder in folders:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                for entry in os.scandir(folder):
                    if entry.name.endswith(".json") and not entry.name.startswith("."):
                        run = self._load(entry.path)
                        if run:
                            runs.append(run)
                        elif entry.is_file():
                            broken.append(Path(entry.path))
        return sorted(runs, key=lambda run: (run.branch, run.started_at, run.service)), broken

    @staticmethod
    def _folders(top: Path) -> list[str]:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return sorted(entry.path for entry in os.scandir(top))
        return []
