"""The logs of a project. Every call reads them again."""

import re
from pathlib import Path
from typing import Any, NamedTuple

from switchyard.config.shapes import Config
from switchyard.core.fault import USAGE, YardFault
from switchyard.core.slugs import slug
from switchyard.project.configuration import check_service, config_of
from switchyard.project.home import ProjectPlaces
from switchyard.project.scope import SHARED_SLUG, ProjectScope
from switchyard.runtime.branches import known_target
from switchyard.runtime.log.hidden import hidden_patterns
from switchyard.runtime.log.lines import DEFAULT_LINES, Sift, entries
from switchyard.runtime.log.times import LogTimes, rotated
from switchyard.runtime.runs import RunBook

MOST_SEARCHED = 1_000_000
WIDEST = 1 << 26


class LogRules(NamedTuple):
    """How logs are read: as the configuration says, or as it did while it could be read."""

    config: Config | None
    redact: tuple[str, ...]
    fault: YardFault | None = None
    """Why the configuration cannot be read."""

    def sift(self, service: str, *, grep: str | None, errors: bool) -> Sift:
        """How to read the log of this service."""
        known = self.config.services.get(service) if self.config else None
        return Sift(
            grep,
            errors,
            known.errors_match if known else (),
            known.errors_ignore if known else (),
            self.redact,
        )


def log_rules(scope: ProjectScope) -> LogRules:
    """How logs are read now. Raises `YardFault` when nobody knows what must not be shown."""
    try:
        config = config_of(scope)
    except YardFault as fault:
        hidden = hidden_patterns(scope.places)
        if hidden is None:
            raise
        return LogRules(None, hidden, fault)
    return LogRules(config, config.logs.redact)


def log_files(
    scope: ProjectScope, service: str | None, branch: str | None
) -> list[tuple[str, str, Path]]:
    """(service, branch, path) of every log asked for; a log outside the home is never read."""
    places = scope.places
    known = {target.slug: target.branch for target in scope.targets()} | {SHARED_SLUG: "*"}
    wanted = known_target(scope, branch).slug if branch or scope.here else None
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


def _is_removed(places: ProjectPlaces, config: Config, path: Path, name: str) -> bool:
    """Whether the log is of a service that is neither configured nor on record any more."""
    configured = {slug(one) for one in config.services}
    return slug(name) not in configured and RunBook(places).get(path.parent.name, name) is None


class LogWindow(NamedTuple):
    """The time that is asked about, in seconds of the clock."""

    since: float | None = None
    until: float | None = None


def timed_lines(path: Path, count: int, sift: Sift, window: LogWindow) -> list[tuple[float, str]]:
    """The last wanted lines of a log with their times, older files of it included."""
    made: list[tuple[float, str]] = []
    for one in rotated(path):
        times = LogTimes(one)
        start = times.offset_before(window.since) if window.since is not None else 0
        # Lines after the window are counted only once they are left out.
        wanted = MOST_SEARCHED if window.until is not None else count - len(made)
        read = entries(one, wanted, sift, start=start, widest=WIDEST)
        found = [(times.at(at), line) for at, line in read]
        inside = [
            (when, line)
            for when, line in found
            if when >= (window.since or 0) and (window.until is None or when <= window.until)
        ]
        made = inside[-(count - len(made)) :] + made
        is_before = bool(start) or (found and found[0][0] < (window.since or 0))
        if len(made) >= count or is_before:
            break
    return made


def logs(
    scope: ProjectScope,
    service: str | None = None,
    branch: str | None = None,
    *,
    lines: int = DEFAULT_LINES,
    grep: str | None = None,
    errors: bool = False,
    since: float | None = None,
    until: float | None = None,
    times: bool = False,
) -> dict[str, Any]:
    """The recent end of one service's log, or of every log of a branch; with `times` when asked."""
    rules = log_rules(scope)
    if service is not None and rules.config:
        check_service(rules.config, service)
    try:
        re.compile(grep or "")
    except re.error as wrong:
        told = f"`{grep}` is not a regular expression: {wrong}"
        raise YardFault("bad-pattern", told, exit_code=USAGE) from None
    made: list[dict[str, Any]] = []
    for name, where_branch, path in log_files(scope, service, branch):
        if service is None and rules.config and _is_removed(scope.places, rules.config, path, name):
            continue
        sift = rules.sift(name, grep=grep, errors=errors)
        found = timed_lines(path, lines, sift, LogWindow(since, until)) if lines > 0 else []
        row: dict[str, Any] = {
            "service": name,
            "branch": where_branch,
            "path": str(path),
            "lines": [line for _, line in found],
        }
        made.append(row | ({"times": [when for when, _ in found]} if times else {}))
    return {"logs": made} | ({"config_error": rules.fault.as_json()} if rules.fault else {})
