"""The brief: a project in one bounded answer. Reads only."""

import contextlib
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from switchkit.platform import Unknown
from switchkit.platform.ports import holder, holds, listening
from switchkit.processes import living
from switchyard.core.clock_times import told_time
from switchyard.core.fault import YardFault
from switchyard.git.status import StatusQuery
from switchyard.project.outline import ConfigOutline, outline_of
from switchyard.project.scope import SHARED_BRANCH, ProjectScope, Target
from switchyard.queries.services import Folders, observed_runs, view
from switchyard.runtime.branches import known_target
from switchyard.runtime.checkouts import checkout_list
from switchyard.runtime.log.hidden import hidden_patterns
from switchyard.runtime.log.lines import TAIL_BYTES, Sift, entries
from switchyard.runtime.log.times import LogTimes
from switchyard.runtime.observed import ObservedRun
from switchyard.runtime.runs import RunRecord

if TYPE_CHECKING:
    from switchyard.config.shapes import EnvSync

MOST_FILES = 50
MOST_ERRORS = 20
MOST_ERRORS_EACH = 8
MOST_SERVICES = 20
MOST_NAMES = 60
MOST_BYTES = 6000
MOST_REMEMBERED = 512
LONGEST_ERROR = 240
_SHOWN = ("service", "branch", "status", "phase", "pid", "port", "url")
_ERRORS: dict[str, tuple[tuple[int, int, Sift], list[tuple[float, str]]]] = {}
_TOLD = ("reason", "exit_code", "head", "changed")


def env_warnings(scope: ProjectScope, env: "EnvSync | ConfigOutline") -> list[dict[str, str]]:
    """Configured env files that are missing at the root, so that worktrees would lack them."""
    made: list[dict[str, str]] = []
    for mode, paths in (("link", env.link), ("copy", env.copy)):
        for path in paths:
            if path not in env.optional and not (scope.root / path).exists():
                told = f"`{path}` is missing at the root, so worktrees get no {mode} of it"
                made.append({"path": path, "mode": mode, "message": told})
    return made


def checkouts(scope: ProjectScope) -> list[dict[str, Any]]:
    """Canonical ports and their targets, and whether the supervisor really listens there."""
    noted = checkout_list(scope.places)
    if not noted.checkouts:
        return []
    try:
        sockets = listening()
    except Unknown:
        sockets = None
    supervisor = living(noted.pid) if noted.pid > 0 else None
    # One that is suspended takes connections, and does nothing with them.
    alive = supervisor is not None and supervisor.began == noted.ticks and not supervisor.is_stopped
    made: list[dict[str, Any]] = []
    for one in noted.checkouts:
        inodes = set[int]() if sockets is None else sockets.get(one.port, set())
        # Where nobody tells who listens, the record of a supervisor that lives is all there is.
        active = alive and (sockets is None or holds(noted.pid, inodes))
        row: dict[str, Any] = {
            "port": one.port,
            "service": one.service,
            "branch": one.branch,
            "active": active,
        }
        if supervisor and supervisor.is_stopped and holds(noted.pid, inodes):
            made.append({**row, "suspended": True})
            continue
        owner = holder(inodes) if inodes and not active else None
        if owner:
            row["port_owner"] = {"pid": owner.pid, "command": owner.command}
        made.append(row)
    return made


def _errors(
    found: list[ObservedRun], outline: ConfigOutline | None, hidden: tuple[str, ...] | None
) -> list[dict[str, Any]]:
    """The last errors of each run, a line that repeats itself once with its count.

    Nothing is shown where nobody knows what must be hidden.
    """
    made: list[dict[str, Any]] = []
    if hidden is None:
        return made
    none: tuple[str, ...] = ()
    for one in found:
        run = one.run
        counts: dict[str, tuple[int, float]] = {}
        known = outline.services.get(run.service) if outline else None
        match, ignore = known or (none, none)
        sift = Sift(None, True, match, ignore, hidden)
        for when, line in _last_errors(run, sift):
            # Last seen last, whatever was between.
            counts[line] = counts.pop(line, (0, 0.0))[0] + 1, when
        for line, (count, when) in counts.items():
            row: dict[str, Any] = {"service": run.service, "branch": run.branch, "line": line}
            row["at"] = told_time(when)
            made.append(row | ({"count": count} if count > 1 else {}))
    return made


def _last_errors(run: RunRecord, sift: Sift) -> list[tuple[float, str]]:
    """Remembered for as long as the log does not grow: a server is asked again and again."""
    path = Path(run.log)
    try:
        stamp = (path.stat().st_size, run.log_start, sift)
    except OSError:
        return []
    known = _ERRORS.get(run.log)
    if known and known[0] == stamp:
        return known[1]
    found = entries(path, MOST_ERRORS_EACH, sift, start=run.log_start, widest=TAIL_BYTES)
    times = LogTimes(path) if found else None
    if len(_ERRORS) > MOST_REMEMBERED:
        _ERRORS.clear()
    made = [(times.at(one.end), one.line[:LONGEST_ERROR]) for one in found] if times else []
    _ERRORS[run.log] = stamp, made
    return made


def _by_concern(found: list[ObservedRun], own: str) -> list[ObservedRun]:
    """The branch that the brief is about first, then what is not well, then the rest."""

    def rank(one: ObservedRun) -> int:
        if one.run.branch in (own, SHARED_BRANCH):
            return 0
        return 2 if one.phase in ("ready", "completed") else 1

    return sorted(found, key=rank)


def _fit(made: dict[str, Any]) -> None:
    """Leave out the least telling until the whole fits, and say how much was left out."""
    for key in ("recent_errors", "changed_files", "configured_services", "services"):
        while len(json.dumps(made)) > MOST_BYTES and made[key]:
            kept = len(made[key]) * 3 // 4
            made[f"{key}_omitted"] = made.get(f"{key}_omitted", 0) + len(made[key]) - kept
            made[key] = made[key][:kept]


def _put_bounded(made: dict[str, Any], key: str, values: list[Any], limit: int) -> None:
    made[key] = values[:limit]
    if len(values) > limit:
        made[f"{key}_omitted"] = len(values) - limit


def brief(
    scope: ProjectScope, branch: str | None = None, *, query: StatusQuery | None = None
) -> dict[str, Any]:
    """What an agent needs to know first, in a size that does not grow with the project.

    Git runs while the rest is read. `query` is a `git status` that is already running.
    """
    target = known_target(scope, branch) if branch else scope.here
    folder = (target or scope.main()).worktree
    with contextlib.closing(query or StatusQuery(folder)) as asked:
        return _compose(scope, target, folder, asked)


def _compose(
    scope: ProjectScope, target: Target | None, folder: Path, query: StatusQuery
) -> dict[str, Any]:
    wanted = target.branch if target else None
    problem: dict[str, Any] | None = None
    outline: ConfigOutline | None = None
    try:
        outline = outline_of(scope)
    except YardFault as fault:
        problem = fault.as_json()
    hidden = outline.redact if outline else hidden_patterns(scope.places)
    supervised = scope.places.is_supervised()
    found = observed_runs(scope, wanted)
    made: dict[str, Any] = {
        "project": outline.name if outline else scope.root.name,
        "root": str(scope.root),
        "branch": (target or scope.main()).branch,
        "worktree": str(folder),
        "scope": "branch" if target else "project",
        "supervised": supervised,
    }
    if problem:
        made["config_error"] = problem
    if any(one.status == "running" and not one.run.names_resolve for one in found):
        made["names_resolve"] = False
    _put_bounded(made, "configured_services", list(outline.services) if outline else [], MOST_NAMES)
    profiles = list(outline.profiles) if outline else []
    _put_bounded(made, "configured_profiles", profiles, MOST_NAMES)
    folders = Folders(scope)
    found = _by_concern(found, made["branch"])
    shown = [view(one, folders, supervised=supervised) for one in found]
    compact = [
        {key: one.get(key) for key in _SHOWN}
        | {key: told for key in _TOLD if (told := one.get(key)) is not None}
        for one in shown
    ]
    _put_bounded(made, "services", compact, MOST_SERVICES)
    if found[MOST_SERVICES:]:
        counts = Counter(one.run.branch for one in found[MOST_SERVICES:])
        made["omitted_branches"] = dict(counts.most_common(MOST_SERVICES))
    _put_bounded(made, "checkouts", checkouts(scope), MOST_SERVICES)
    errors = _errors(found[:MOST_SERVICES], outline, hidden)
    changed = query.changed_files()
    _put_bounded(made, "changed_files", [one[:200] for one in changed], MOST_FILES)
    warnings = env_warnings(scope, outline) if outline else []
    _put_bounded(made, "env_warnings", warnings, MOST_SERVICES)
    _put_bounded(made, "recent_errors", errors, MOST_ERRORS)
    _fit(made)
    return made
