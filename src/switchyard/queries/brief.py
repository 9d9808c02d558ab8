"""The brief: a project in one bounded answer. Reads only."""

import contextlib
from pathlib import Path
from typing import Any

from switchyard.config.shapes import Config
from switchyard.core.fault import YardFault
from switchyard.git.status import StatusQuery
from switchyard.project.configuration import config_of
from switchyard.project.scope import ProjectScope, Target
from switchyard.queries.logs import sift_for
from switchyard.queries.services import observed_runs, view
from switchyard.runtime.checkouts import stored_checkouts
from switchyard.runtime.logs import tail
from switchyard.runtime.observed import ObservedRun

MOST_FILES = 50
MOST_ERRORS = 20
MOST_ERRORS_EACH = 8
MOST_SERVICES = 20
MOST_NAMES = 60
LONGEST_ERROR = 240
_SHOWN = ("service", "branch", "status", "phase", "pid", "port", "url")
_TOLD = ("reason", "exit_code")


def env_warnings(scope: ProjectScope, config: Config) -> list[dict[str, str]]:
    """Configured env files that are missing at the root, so that worktrees would lack them."""
    made: list[dict[str, str]] = []
    for mode, paths in (("link", config.env.link), ("copy", config.env.copy)):
        for path in paths:
            if path not in config.env.optional and not (scope.root / path).exists():
                told = f"`{path}` is missing at the root, so worktrees get no {mode} of it"
                made.append({"path": path, "mode": mode, "message": told})
    return made


def checkouts(scope: ProjectScope) -> list[dict[str, Any]]:
    """Canonical ports and their targets; only a running supervisor serves them."""
    active = scope.places.is_supervised()
    return [
        {"port": one.port, "service": one.service, "branch": one.branch, "active": active}
        for one in stored_checkouts(scope.places)
    ]


def _errors(found: list[ObservedRun], config: Config | None) -> list[dict[str, str]]:
    made: list[dict[str, str]] = []
    for one in found:
        run = one.run
        sift = sift_for(config, run.service, grep=None, errors=True)
        path = Path(run.log)
        for line in tail(path, MOST_ERRORS_EACH, sift, start=run.log_start):
            shown = line[:LONGEST_ERROR]
            made.append({"service": run.service, "branch": run.branch, "line": shown})
    return made[-MOST_ERRORS:]


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
    target = scope.target(branch) if branch else scope.here
    folder = (target or scope.main()).worktree
    with contextlib.closing(query or StatusQuery(folder)) as asked:
        return _compose(scope, target, folder, asked)


def _compose(
    scope: ProjectScope, target: Target | None, folder: Path, query: StatusQuery
) -> dict[str, Any]:
    wanted = target.branch if target else None
    problem: dict[str, Any] | None = None
    try:
        config: Config | None = config_of(scope)
    except YardFault as fault:
        config, problem = None, fault.as_json()
    supervised = scope.places.is_supervised()
    found = observed_runs(scope, wanted)
    made: dict[str, Any] = {
        "project": config.name if config else scope.root.name,
        "root": str(scope.root),
        "branch": (target or scope.main()).branch,
        "worktree": str(folder),
        "scope": "branch" if target else "project",
        "supervised": supervised,
    }
    if problem:
        made["config_error"] = problem
    _put_bounded(made, "configured_services", list(config.services) if config else [], MOST_NAMES)
    _put_bounded(made, "configured_profiles", list(config.profiles) if config else [], MOST_NAMES)
    shown = [view(one, supervised=supervised) for one in found]
    compact = [
        {key: one.get(key) for key in _SHOWN}
        | {key: told for key in _TOLD if (told := one.get(key)) is not None}
        for one in shown
    ]
    _put_bounded(made, "services", compact, MOST_SERVICES)
    _put_bounded(made, "checkouts", checkouts(scope), MOST_SERVICES)
    errors = _errors(found[:MOST_SERVICES], config)
    changed = query.changed_files()
    _put_bounded(made, "changed_files", [one[:200] for one in changed], MOST_FILES)
    _put_bounded(made, "env_warnings", env_warnings(scope, config) if config else [], MOST_SERVICES)
    made["recent_errors"] = errors
    return made
