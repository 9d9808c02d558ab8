"""The verbs that only read, with the configuration: list, logs, doctor."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from switchkit.cli.columns import columns
from switchkit.platform.promises import promise_lines, promises_here
from switchyard.cli.arguments import YardArguments, usage_fault
from switchyard.cli.report import YardReport, say_safely
from switchyard.core.clock_times import clock_time, told_time
from switchyard.core.quantities import seconds
from switchyard.project.home import default_home
from switchyard.project.scope import SHARED_BRANCH, ProjectScope, locate
from switchyard.queries.doctor import doctor
from switchyard.queries.logs import log_files, log_rules, logs
from switchyard.queries.worktrees import worktrees
from switchyard.runtime.log.lines import DEFAULT_LINES, follow


def _list(scope: ProjectScope, _: YardArguments) -> YardReport:
    found = worktrees(scope)
    rows = [
        (one["branch"], one["path"], "" if one["exists"] else "gone", ", ".join(one["running"]))
        for one in found["worktrees"]
    ]
    lines = list(columns([("BRANCH", "PATH", "", "RUNNING"), *rows])) if rows else ["no worktrees"]
    return YardReport("list", found, lines)


def _doctor(scope: ProjectScope, _: YardArguments) -> YardReport:
    found = {**doctor(scope), "promises": [each._asdict() for each in promises_here()]}
    lines = [f"{key:12} {found[key]}" for key in ("project", "root", "home", "version", "python")]
    lines += [f"services     {', '.join(one['service'] for one in found['services'])}"]
    first, *less = promise_lines()
    lines += [f"promises     {first}", *(f"             {line}" for line in less)]
    lines += [f"warning: {one['message']}" for one in found["env_warnings"]]
    lines += [f"note: {one}" for one in found["notes"]]
    lines += [f"problem: {one}" for one in found["problems"]] or ["problems     none"]
    return YardReport("doctor", found, lines, 0 if found["healthy"] else 1)


def _number(arguments: YardArguments) -> int:
    text = arguments.value("lines") or str(DEFAULT_LINES)
    if not text.isdigit():
        raise usage_fault(f"`{text}` is not a number of lines", "logs")
    return int(text)


def _moment(arguments: YardArguments, option: str) -> float | None:
    """The time that an option means: so long ago, or by the clock."""
    text = arguments.value(option)
    if text is None:
        return None
    ago = seconds(text)
    if ago is not None:
        return time.time() - ago
    made = clock_time(text, time.time())
    if made is None:
        told = f"`{text}` is not a time; write 10m, 14:05, 14:05:30 or 2026-05-01T14:05"
        raise usage_fault(told, "logs")
    return made


def _service_names(scope: ProjectScope) -> set[str]:
    """The services whose logs may be asked for, also while the configuration cannot be read."""
    config = log_rules(scope).config
    return set(config.services) if config else {one for one, _, _ in log_files(scope, None, None)}


def _asked(scope: ProjectScope, arguments: YardArguments) -> tuple[str | None, str | None]:
    """The service and the branch: of two words in any order, the one that names a branch is one."""
    words, branch = list(arguments.words), arguments.value("branch")
    if branch is None and words:
        services = _service_names(scope)
        branches = {name for one in scope.targets() for name in (one.branch, one.slug)}
        named = [word for word in words if word in branches and word not in services]
        # Of two words the second is a branch, known or not.
        meant = named[0] if named else words[-1] if len(words) > 1 else None
        if meant is not None:
            words.remove(meant)
            branch = meant
    if len(words) > 1:
        raise usage_fault(f"`{words[1]}` is one word too many for `switchyard logs`", "logs")
    return words[0] if words else None, branch


def _labels(found: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What stands before a line, by its service and branch: the branch where there are several."""
    pairs = list(dict.fromkeys(found))
    several = len({branch for _, branch in pairs if branch != SHARED_BRANCH}) > 1
    return {
        (service, branch): f"{service} of {branch}"
        if several and branch != SHARED_BRANCH
        else service
        for service, branch in pairs
    }


def _shown(label: str, when: float | None, line: str) -> str:
    """A line with what goes before it: its time, and whose it is."""
    stamp = f"{told_time(when)} " if when is not None else ""
    return f"{stamp}{label} | {line}" if label else f"{stamp}{line}"


def _followed(
    scope: ProjectScope,
    arguments: YardArguments,
    asked: tuple[str | None, str | None],
    shown: list[str],
) -> Iterator[str]:
    yield from shown
    service, branch = asked
    files: dict[Path, tuple[str, str]] = {}
    labels: dict[tuple[str, str], str] = {}

    def paths() -> list[Path]:
        files.update((path, (name, of)) for name, of, path in log_files(scope, service, branch))
        labels.update(_labels(files.values()))
        return list(files)

    sift = log_rules(scope).sift(
        service or "", grep=arguments.value("grep"), errors=arguments.has("errors")
    )
    for path, line in follow(paths, sift):
        several = len(files) > 1 or arguments.has("merge")
        when = time.time() if arguments.has("times") else None
        yield _shown(labels[files[path]] if several else "", when, line)


def _lines(found: list[dict[str, Any]], arguments: YardArguments, count: int) -> list[str]:
    """The lines of all logs, one log after the other, or merged by time."""
    merged = arguments.has("merge")
    labels = _labels((one["service"], one["branch"]) for one in found)
    several = len(found) > 1 or merged
    rows = [
        (when, labels[one["service"], one["branch"]] if several else "", line)
        for one in found
        for when, line in zip(one["times"], one["lines"], strict=True)
    ]
    if merged:
        # Lines of one log stay in their order: the sort keeps what is equal as it is.
        rows = sorted(rows, key=lambda row: row[0])[-count:] if count else []
    has_times = arguments.has("times")
    return [_shown(label, when if has_times else None, line) for when, label, line in rows]


def _logs(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    service, branch = _asked(scope, arguments)
    count = _number(arguments)
    found = logs(
        scope,
        service,
        branch,
        lines=count,
        grep=arguments.value("grep"),
        errors=arguments.has("errors"),
        since=_moment(arguments, "since"),
        until=_moment(arguments, "until"),
        times=True,
    )
    if "config_error" in found:
        say_safely(f"warning: {found['config_error']['message']}")
    lines = _lines(found["logs"], arguments, count)
    if arguments.has("follow"):
        return YardReport("logs", found, _followed(scope, arguments, (service, branch), lines))
    return YardReport("logs", found, lines)


def run(arguments: YardArguments) -> YardReport:
    """Answer a question."""
    scope = locate(arguments.cwd, default_home())
    verbs = {"list": _list, "doctor": _doctor, "logs": _logs}
    return verbs[arguments.verb](scope, arguments)
