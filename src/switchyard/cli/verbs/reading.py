"""The verbs that only read: status, brief, list, logs, doctor."""

from collections.abc import Iterator
from typing import Any

from switchyard.answers import log_files, logs, sift_for, status, worktrees
from switchyard.brief import brief, doctor
from switchyard.cli.arguments import Arguments, usage_fault
from switchyard.cli.report import Report, columns, service_lines
from switchyard.configured import config_of
from switchyard.excerpts import LINES
from switchyard.home import default_home
from switchyard.logs import follow
from switchyard.quantities import seconds
from switchyard.scope import Scope, locate


def _status(scope: Scope, arguments: Arguments) -> Report:
    branch = arguments.words[0] if arguments.words else arguments.value("branch")
    target = scope.target(branch) if branch else scope.here
    found = status(scope, target.branch if target else None)
    return Report("status", found, service_lines(found["services"]))


def _brief(scope: Scope, arguments: Arguments) -> Report:
    branch = arguments.words[0] if arguments.words else arguments.value("branch")
    found = brief(scope, branch)
    lines = [f"{found['project']} on {found['branch']} ({found['worktree']})", ""]
    lines += service_lines(found["services"])
    for title, key in (
        ("checked out", "checkouts"),
        ("changed", "changed_files"),
        ("env warnings", "env_warnings"),
        ("recent errors", "recent_errors"),
    ):
        if found[key]:
            lines += ["", f"{title}:"]
            lines += [f"  {_short(one)}" for one in found[key]]
    return Report("brief", found, lines)


def _short(one: Any) -> str:
    if isinstance(one, str):
        return one
    if "line" in one:
        return f"{one['service']}: {one['line']}"
    if "message" in one:
        return str(one["message"])
    return f"{one['port']} -> {one['service']} of {one['branch']}"


def _list(scope: Scope, _: Arguments) -> Report:
    found = worktrees(scope)
    rows = [
        (one["branch"], one["path"], "" if one["exists"] else "gone", ", ".join(one["running"]))
        for one in found["worktrees"]
    ]
    lines = columns([("BRANCH", "PATH", "", "RUNNING"), *rows]) if rows else ["no worktrees"]
    return Report("list", found, lines)


def _doctor(scope: Scope, _: Arguments) -> Report:
    found = doctor(scope)
    lines = [f"{key:12} {found[key]}" for key in ("project", "root", "home", "version", "python")]
    lines += [f"services     {', '.join(one['service'] for one in found['services'])}"]
    lines += [f"warning: {one['message']}" for one in found["env_warnings"]]
    lines += [f"problem: {one}" for one in found["problems"]]
    return Report("doctor", found, lines, 0 if found["healthy"] else 1)


def _number(arguments: Arguments) -> int:
    text = arguments.value("lines") or str(LINES)
    if not text.isdigit():
        raise usage_fault(f"`{text}` is no number of lines", "logs")
    return int(text)


def _duration(arguments: Arguments) -> float | None:
    text = arguments.value("since")
    if text is None:
        return None
    made = seconds(text)
    if made is None:
        raise usage_fault(f"`{text}` is no duration; write 10m or 30s", "logs")
    return made


def _followed(scope: Scope, arguments: Arguments, shown: list[str]) -> Iterator[str]:
    yield from shown
    service = arguments.words[0] if arguments.words else None
    files = {path: name for name, _, path in log_files(scope, service, arguments.value("branch"))}
    config = config_of(scope)
    sift = sift_for(
        config, service or "", grep=arguments.value("grep"), errors=arguments.has("errors")
    )
    for path, line in follow(files, sift):
        yield f"{files[path]} | {line}" if len(files) > 1 or arguments.has("merge") else line


def _logs(scope: Scope, arguments: Arguments) -> Report:
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
        return Report("logs", found, _followed(scope, arguments, lines))
    return Report("logs", found, lines)


def run(arguments: Arguments) -> Report:
    """Answer a question."""
    scope = locate(arguments.cwd, default_home())
    verbs = {"status": _status, "brief": _brief, "list": _list, "doctor": _doctor, "logs": _logs}
    return verbs[arguments.verb](scope, arguments)
