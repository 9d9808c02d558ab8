"""The answers that may need the configuration: where, logs, list. Every call asks anew."""

import re
from pathlib import Path
from typing import Any

from switchyard.config.shapes import Config
from switchyard.configured import check_service, config_for, config_of
from switchyard.excerpts import LINES
from switchyard.fault import USAGE, Fault
from switchyard.home import ProjectPlaces
from switchyard.logs import Sift, since_offset, tail
from switchyard.runs import RunBook
from switchyard.scope import SHARED_SLUG, Scope, Target
from switchyard.slugs import slug
from switchyard.standings import standings
from switchyard.whereabouts import whereabouts


def where(scope: Scope, service: str, branch: str | None = None) -> dict[str, Any]:
    """URL, port, pid, worktree and log path of one service.

    A service that does not run is answered for too; only an unknown one is a `Fault`.
    """
    target = scope.target(branch)
    found = whereabouts(scope, service, target, anywhere=branch is None and scope.here is None)
    return {"service": found or _never_ran(scope, service, target)}


def _never_ran(scope: Scope, service: str, target: Target) -> dict[str, Any]:
    config = config_for(scope, target)
    check_service(config, service)
    configured = config.services[service]
    log = scope.places.log(target.slug, service)
    return {
        "service": service,
        "branch": target.branch,
        "status": "stale",
        "phase": "stopped",
        "kind": configured.kind,
        "pid": None,
        "port": None,
        "canonical_port": configured.canonical_port,
        "url": None,
        "direct_url": None,
        "worktree": str(target.worktree),
        "log_path": str(log) if log.exists() else None,
        "reason": "not-started",
    }


def sift_for(config: Config | None, service: str, *, grep: str | None, errors: bool) -> Sift:
    """How to read the log of this service."""
    known = config.services.get(service) if config else None
    return Sift(
        grep,
        errors,
        known.errors_match if known else (),
        known.errors_ignore if known else (),
        config.logs.redact if config else (),
    )


def log_files(scope: Scope, service: str | None, branch: str | None) -> list[tuple[str, str, Path]]:
    """(service, branch, path) of every log asked for; a log outside the home is never read."""
    places = scope.places
    known = {target.slug: target.branch for target in scope.targets()} | {SHARED_SLUG: "*"}
    wanted = scope.target(branch).slug if branch or scope.here else None
    folder = places.folder / "logs"
    found: list[tuple[str, str, Path]] = []
    for path in sorted(folder.glob("*/*.log")):
        where_slug, name = path.parent.name, path.stem
        if wanted not in (None, where_slug) and where_slug != SHARED_SLUG:
            continue
        if service is not None and name != slug(service):
            continue
        if not path.is_symlink() and not path.parent.is_symlink():
            found.append(
                (_named(places, where_slug, name), known.get(where_slug, where_slug), path)
            )
    return found


def _named(places: ProjectPlaces, branch_slug: str, name: str) -> str:
    run = RunBook(places).get(branch_slug, name)
    return run.service if run else name


def logs(
    scope: Scope,
    service: str | None = None,
    branch: str | None = None,
    *,
    lines: int = LINES,
    grep: str | None = None,
    errors: bool = False,
    since_s: float | None = None,
) -> dict[str, Any]:
    """The recent end of one service's log, or of every log of a branch."""
    config = config_of(scope)
    if service is not None:
        check_service(config, service)
    try:
        re.compile(grep or "")
    except re.error as wrong:
        told = f"`{grep}` is no regular expression: {wrong}"
        raise Fault("bad-pattern", told, exit_code=USAGE) from None
    made: list[dict[str, Any]] = []
    for name, where_branch, path in log_files(scope, service, branch):
        sift = sift_for(config, name, grep=grep, errors=errors)
        start = since_offset(path, since_s) if since_s is not None else 0
        made.append(
            {
                "service": name,
                "branch": where_branch,
                "path": str(path),
                "lines": tail(path, lines, sift, start=start),
            }
        )
    return {"logs": made}


def worktrees(scope: Scope) -> dict[str, Any]:
    """Registered worktrees of the project, with what runs in each."""
    alive: dict[str, list[str]] = {}
    for one in standings(scope):
        if one.status == "running":
            alive.setdefault(one.run.branch, []).append(one.run.service)
    known = scope.registration
    return {
        "root": str(scope.root),
        "worktrees": [
            {
                "branch": one.branch,
                "slug": one.slug,
                "path": str(one.path),
                "exists": one.path.is_dir(),
                "managed": one.managed,
                "running": alive.get(one.branch, []),
            }
            for one in (known.worktrees if known else ())
        ],
    }
