"""Run records: what was started, written before it is announced, replaced atomically.

A run whose record was lost is found again by the marks in its processes' environment.
"""

import contextlib
import os
import time
from collections.abc import Container
from pathlib import Path
from typing import Any, NamedTuple

from switchkit.files import make_private_folder
from switchkit.platform.processes import vitals
from switchkit.processes import environment
from switchyard.core.slugs import slug
from switchyard.files import read_json, write_json
from switchyard.project.home import ProjectPlaces
from switchyard.runtime.family import RUN_VARIABLE, Leader, boot_id, marked_runs

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
    kin: tuple[tuple[int, int], ...] = ()
    """Processes of the run that outlived its first one: each with the time of its start."""
    kin_sessions: tuple[int, ...] = ()
    """The sessions that those were in."""
    definition: str = ""
    sources: tuple[str, ...] = ()
    """What it was started as, and the files that say so."""
    source_stamps: tuple[int, ...] = ()
    """When those files were written, as they say themselves: no clock is needed to compare."""
    names_resolve: bool = True

    @property
    def leader(self) -> Leader:
        """The identity of the process this run was started as."""
        return Leader(self.pid, self.ticks, self.boot_id, self.run_id, self.kin, self.kin_sessions)


def run_from_json(value: dict[str, Any]) -> RunRecord:
    """A stored record. Raises `ValueError` when it is not one."""
    known = {key: one for key, one in value.items() if key in RunRecord._fields}
    try:
        for key in ("command", "stop_command", "sources"):
            known[key] = tuple(map(str, known.get(key, ())))
        for key in ("source_stamps", "kin_sessions"):
            known[key] = tuple(map(int, known.get(key, ())))
        known["kin"] = tuple((int(pid), int(began)) for pid, began in known.get("kin", ()))
        run = RunRecord(**known)
    except TypeError as wrong:
        raise ValueError(str(wrong)) from None
    for name, kinds in _KINDS.items():
        found = getattr(run, name)
        # `type` instead of `isinstance`, because true counts as a whole number in Python.
        if type(found) not in kinds:
            raise ValueError(f"`{name}` is {found!r}")
    return run


_TEXT, _WHOLE, _NUMBER, _NONE = (str,), (int,), (int, float), type(None)
_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("run_id", "service", "branch", "branch_slug", "kind", "boot_id"), _TEXT),
    **dict.fromkeys(("root", "worktree", "host", "protocol", "log", "phase"), _TEXT),
    **dict.fromkeys(("pid", "ticks", "log_start", "restarts", "stop_signal"), _WHOLE),
    **dict.fromkeys(("started_at", "stop_grace_s"), _NUMBER),
    **dict.fromkeys(("port", "canonical_port", "exit_code"), (int, _NONE)),
    **dict.fromkeys(("url", "profile", "reason"), (str, _NONE)),
    **dict.fromkeys(("ready_at", "probed_at", "ended_at"), (int, float, _NONE)),
}
_LOADED: dict[str, tuple[tuple[int, int, int], RunRecord]] = {}


class RunBook:
    """The run records of one project."""

    def __init__(self, places: ProjectPlaces) -> None:
        self.places = places

    def path(self, branch_slug: str, service: str) -> Path:
        """Where the record of this service is."""
        return self.places.record(branch_slug, service)

    def get(self, branch_slug: str, service: str) -> RunRecord | None:
        """The record, or nothing when there is none that can be read."""
        return self._load(self.path(branch_slug, service))

    @staticmethod
    def _load(path: Path | str) -> RunRecord | None:
        """A record is replaced, never changed: same file and same times, same content."""
        try:
            status = os.stat(path)
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
        """Write the record. It survives a kill; a power cut ends the run itself."""
        path = self.path(run.branch_slug, run.service)
        try:
            write_json(path, run._asdict(), durable=False)
        except FileNotFoundError:
            make_private_folder(path.parent)
            write_json(path, run._asdict(), durable=False)

    def drop(self, run: RunRecord) -> None:
        """Remove the record of a run that has ended, unless a newer run has replaced it."""
        there = self.get(run.branch_slug, run.service)
        if there is None or there.run_id == run.run_id:
            self.path(run.branch_slug, run.service).unlink(missing_ok=True)

    def all(self, branch_slug: str | None = None) -> list[RunRecord]:
        """Every record, of one branch or of all, in a stable order."""
        return self.sorted_out(branch_slug)[0]

    def sorted_out(self, branch_slug: str | None = None) -> tuple[list[RunRecord], list[Path]]:
        """The records, and the files that are not readable as records."""
        runs: list[RunRecord] = []
        broken: list[Path] = []
        top = self.places.folder / "runs"
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


def lost_runs(places: ProjectPlaces, known: Container[str]) -> list[RunRecord]:
    """Living runs of the home that these places are in, without a readable record."""
    leaders: dict[str, int] = {}
    for pid, run_id in sorted(marked_runs().items()):
        if run_id in known:
            continue
        one = vitals(pid)
        if one and (run_id not in leaders or one.session == pid):
            leaders[run_id] = pid
    found = [_from_process(pid, places) for pid in leaders.values() if _home_of(pid) == places.home]
    return [run for run in found if run]


def _home_of(pid: int) -> Path:
    """The home that a run belongs to. Versions before 0.2 did not say it to every service."""
    env = environment(pid)
    return Path(env.get("SWITCHYARD_HOME") or f"{env.get('HOME', '')}/.switchyard").absolute()


def _from_process(pid: int, places: ProjectPlaces) -> RunRecord | None:
    env, one = environment(pid), vitals(pid)
    service, branch = env.get("SWITCHYARD_SERVICE"), env.get("SWITCHYARD_BRANCH")
    if one is None or not service or branch is None:
        return None
    branch_slug = env.get("SWITCHYARD_BRANCH_SLUG") or slug(branch)
    port = env.get("SWITCHYARD_PORT", "")
    canonical = env.get("CANONICAL_PORT", "")
    return RunRecord(
        run_id=env[RUN_VARIABLE],
        service=service,
        branch=branch,
        branch_slug=branch_slug,
        kind="service",
        pid=pid,
        ticks=one.began,
        boot_id=boot_id(),
        command=(),
        root=env.get("SWITCHYARD_ROOT", ""),
        worktree=env.get("SWITCHYARD_WORKTREE", ""),
        host=env.get("HOST", "127.0.0.1"),
        port=int(port) if port.isdigit() else None,
        canonical_port=int(canonical) if canonical.isdigit() else None,
        protocol="http" if env.get("SWITCHYARD_URL", "").startswith("http") else "tcp",
        url=env.get("SWITCHYARD_URL") or None,
        log=str(places.log(branch_slug, service)),
        log_start=0,
        started_at=time.time(),
        reason="record-lost",
    )


def all_runs(
    root: Path, places: ProjectPlaces, branch_slug: str | None = None, *, sweeps: bool = False
) -> list[RunRecord]:
    """Every recorded run; those whose record is broken or gone are found by their processes.

    The sweep of all processes is made when a record is broken, when there is none at all, or when
    whoever asks must not miss one.
    """
    runs, broken = RunBook(places).sorted_out(branch_slug)
    if broken or not runs or sweeps:
        known = {run.run_id for run in RunBook(places).all()}
        lost = [run for run in lost_runs(places, known) if run.root == str(root)]
        runs += [run for run in lost if branch_slug in (None, run.branch_slug)]
    return runs
