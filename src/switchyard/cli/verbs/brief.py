"""`brief`: the project in one answer."""

from typing import Any

from switchyard.cli.arguments import YardArguments
from switchyard.cli.report import YardReport, led_line, service_lines
from switchyard.git.status import StatusQuery
from switchyard.project.home import default_home
from switchyard.project.scope import locate
from switchyard.runtime.branches import known_target


def run(arguments: YardArguments) -> YardReport:
    """What an agent needs to know first."""
    scope = locate(arguments.cwd, default_home())
    branch = arguments.words[0] if arguments.words else arguments.value("branch")
    target = known_target(scope, branch) if branch else scope.here
    query = StatusQuery((target or scope.main()).worktree)
    # Git works while the rest is loaded.
    from switchyard.queries.brief import brief  # noqa: PLC0415

    found = brief(scope, branch, query=query)
    lines = [f"{found['project']} on {found['branch']} ({found['worktree']})", ""]
    lines += service_lines(found["services"])
    if omitted := found.get("services_omitted"):
        where = ", ".join(f"{n} of {name}" for name, n in found.get("omitted_branches", {}).items())
        lines += [f"and {omitted} more" + (f": {where}" if where else "") + " (`sy status`)"]
    if not found.get("names_resolve", True):
        lines += ["", "programs here do not resolve these names; use `sy where` and its direct_url"]
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
        times = f" ({one['count']} times)" if one.get("count") else ""
        at = f"{one['at'][11:19]} " if one.get("at") else ""
        return f"{at}{one['service']}: {one['line']}{times}"
    if "message" in one:
        return str(one["message"])
    told = led_line(one["port"], one["service"], one["branch"])
    if one["active"]:
        return told
    owner = one.get("port_owner")
    if one.get("suspended"):
        return f"{told}: not active, the supervisor is suspended (`sy doctor`)"
    who = (
        f"process {owner['pid']} ({owner['command']}) listens there" if owner else "nobody listens"
    )
    return f"{told}: not active, {who}"
