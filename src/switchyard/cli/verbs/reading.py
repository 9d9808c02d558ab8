"""The verbs that only read, with the configuration: list, logs, doctor."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from switchkit.cli.columns import columns
from switchyard.cli.arguments import YardArguments, usage_fault
from switchyard.cli.report import YardReport
from switchyard.core.quantities import seconds
from switchyard.project.configuration import config_of
from switchyard.project.home import default_home
from switchyard.project.scope import SHARED_BRANCH, ProjectScope, locate
from switchyard.queries.doctor import doctor
from switchyard.queries.logs import log_files, logs, sift_for
from switchyard.queries.worktrees import worktrees
from switchyard.runtime.logs import DEFAULT_LINES, follow


def _list(scope: ProjectScope, _: YardArguments) -> YardReport:
    found = worktrees(scope)
    rows = [
        (one["branch"], one["path"], "" if one["exists"] else "gone", ", ".join(one["running"]))
        for one in found["worktrees"]
    ]
    lines = list(columns([("BRANCH", "PATH", "", "RUNNING"), *rows])) if rows else ["no worktrees"]
    return YardReport("list", found, lines)


def _doctor(scope: ProjectScope, _: YardArguments) -> YardReport:
    found = doctor(scope)
    lines = [f"{key:12} {found[key]}" for key in ("project", "root", "home", "version", "python")]
    lines += [f"services     {', '.join(one['service'] for one in found['services'])}"]
    lines += [f"warning: {one['message']}" for one in found["env_warnings"]]
    lines += [f"note: {one}" for one in found["notes"]]
    lines += [f"problem: {one}" for one in found["problems"]]
    return YardReport("doctor", found, lines, 0 if found["healthy"] else 1)


def _number(arguments: YardArguments) -> int:
    text = arguments.value("lines") or str(DEFAULT_LINES)
    if not text.isdigit():
        raise usage_fault(f"`{text}` is not a number of lines", "logs")
    return int(text)


def _duration(arguments: YardArguments) -> float | None:
    text = arguments.value("since")
    if text is None:
        return None
    made = seconds(text)
    if made is None:
        raise usage_fault(f"`{text}` is not a duration; write 10m or 30s", "logs")
    return made


def _asked(scope: ProjectScope, arguments: YardArguments) -> tuple[str | None, str | None]:
    """The service and the branch: of two words in any order, the one that names a branch is one."""
    words, branch = list(arguments.words), arguments.value("branch")
    if branch is None and words:
        services = config_of(scope).services
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

    config = config_of(scope)
    sift = sift_for(
        config, service or "", grep=arguments.value("grep"), errors=arguments.has("errors")
    )
    for path, line in follow(paths, sift):
        several = len(files) > 1 or arguments.has("merge")
        yield f"{labels[files[path]]} | {line}" if several else line


def _logs(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    service, branch = _asked(scope, arguments)
    found = logs(
        scope,
        service,
        branch,
        lines=_number(arguments),
        grep=arguments.value("grep"),
        errors=arguments.has("errors"),
        since_s=_duration(arguments),
    )
    several = len(found["logs"]) > 1 or arguments.has("merge")
    labels = _labels((one["service"], one["branch"]) for one in found["logs"])
    lines = [
        f"{labels[one['service'], one['branch']]} | {line}" if several else line
        for one in found["logs"]
        for line in one["lines"]
    ]
    if arguments.has("follow"):
        return YardReport("logs", found, _followed(scope, arguments, (service, branch), lines))
    return YardReport("logs", found, lines)


def run(arguments: YardArguments) -> YardReport:
    """Answer a question."""
    scope = locate(arguments.cwd, default_home())
    verbs = {"list": _list, "doctor": _doctor, "logs": _logs}
    return verbs[arguments.verb](scope, arguments)
