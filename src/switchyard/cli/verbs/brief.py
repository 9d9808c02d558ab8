"""`brief`: the project in one answer."""

from typing import Any

from switchyard.cli.arguments import YardArguments
from switchyard.cli.report import YardReport, service_lines
from switchyard.git.status import StatusQuery
from switchyard.project.home import default_home
from switchyard.project.scope import locate


def run(arguments: YardArguments) -> YardReport:
    """What an agent needs to know first."""
    scope = locate(arguments.cwd, default_home())
    branch = arguments.words[0] if arguments.words else arguments.value("branch")
    target = scope.target(branch) if branch else scope.here
    query = StatusQuery((target or scope.main()).worktree)
    # Git works while the rest is loaded.
    from switchyard.queries.brief import brief  # noqa: PLC0415

    found = brief(scope, branch, query=query)
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
    return YardReport("brief", found, lines)


def _short(one: Any) -> str:
    if isinstance(one, str):
        return one
    if "line" in one:
        return f"{one['service']}: {one['line']}"
    if "message" in one:
        return str(one["message"])
    return f"{one['port']} -> {one['service']} of {one['branch']}"
