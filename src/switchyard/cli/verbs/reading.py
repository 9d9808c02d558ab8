"""The verbs that only read, with the configuration: list, logs, doctor."""

from collections.abc import Iterator

from switchkit.cli.columns import columns
from switchyard.cli.arguments import YardArguments, usage_fault
from switchyard.cli.report import YardReport
from switchyard.core.quantities import seconds
from switchyard.project.configuration import config_of
from switchyard.project.home import default_home
from switchyard.project.scope import ProjectScope, locate
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


def _followed(scope: ProjectScope, arguments: YardArguments, shown: list[str]) -> Iterator[str]:
    yield from shown
    service = arguments.words[0] if arguments.words else None
    files = {path: name for name, _, path in log_files(scope, service, arguments.value("branch"))}
    config = config_of(scope)
    sift = sift_for(
        config, service or "", grep=arguments.value("grep"), errors=arguments.has("errors")
    )
    for path, line in follow(files, sift):
        yield f"{files[path]} | {line}" if len(files) > 1 or arguments.has("merge") else line


def _logs(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    found = logs(
        scope,
        arguments.words[0] if arguments.words else None,
        arguments.value("branch"),
        lines=_number(arguments),
        grep=arguments.value("grep"),
        errors=arguments.has("errors"),
        since_s=_duration(arguments),
    )
    several = len(found["logs"]) > 1 or arguments.has("merge")
    lines = [
        f"{one['service']} | {line}" if several else line
        for one in found["logs"]
        for line in one["lines"]
    ]
    if arguments.has("follow"):
        return YardReport("logs", found, _followed(scope, arguments, lines))
    return YardReport("logs", found, lines)


def run(arguments: YardArguments) -> YardReport:
    """Answer a question."""
    scope = locate(arguments.cwd, default_home())
    verbs = {"list": _list, "doctor": _doctor, "logs": _logs}
    return verbs[arguments.verb](scope, arguments)
