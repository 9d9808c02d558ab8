"""The verbs over every project of the home: `ps`, and `status` and `down` with `--all`."""

from typing import Any

from switchkit.cli.columns import columns
from switchyard.cli.arguments import YardArguments, usage_fault
from switchyard.cli.report import YardReport, stopped_lines, terminal_width
from switchyard.control.actions import down
from switchyard.core.fault import YardFault
from switchyard.project.home import default_home
from switchyard.queries.machine import everything, scopes


def _shown(one: dict[str, Any]) -> tuple[str, ...]:
    told = "its folder is gone" if one["root_gone"] else str(one.get("reason") or "")
    pids = one.get("pids") or [one.get("pid") or "-"]
    return (
        one["project"],
        one["root"],
        one["branch"],
        one["service"],
        one["phase"],
        ",".join(map(str, pids)),
        str(one.get("direct_url") or "-"),
        told,
    )


def _status(verb: str) -> YardReport:
    found = everything(default_home())
    head = ("PROJECT", "ROOT", "BRANCH", "SERVICE", "PHASE", "PID", "ADDRESS", "")
    rows = [_shown(one) for one in found["services"]]
    # Of a folder the end says which one it is.
    shown = columns([head, *rows], width=terminal_width(), elastic=(1, 7), ends=(1,))
    lines = list(shown) if rows else ["nothing runs"]
    lines += [
        f"port {one['port']} of {one['service']} ({one['root']}) is held by process {one['pid']}: "
        f"{one['command']}"
        for one in found["strangers"]
    ]
    return YardReport(verb, found, lines)


def _down() -> YardReport:
    """Stop everything; one project that cannot be stopped keeps no other from it."""
    stopped: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    for scope in scopes(default_home()):
        try:
            found = down(scope)["stopped"]
        except YardFault as fault:
            failed.append({"root": str(scope.root), "error": fault.as_json()})
        else:
            stopped += [{"root": str(scope.root), **one} for one in found]
    lines = stopped_lines(stopped) or ["nothing ran"]
    lines += [f"error: {one['root']}: {one['error']['message']}" for one in failed]
    return YardReport("down", {"stopped": stopped, "failed": failed}, lines, 1 if failed else 0)


def run(arguments: YardArguments) -> YardReport:
    """Look at everything, or stop it."""
    if arguments.words or arguments.has("branch"):
        raise usage_fault("`--all` is for every project; name no branch or service", arguments.verb)
    return _down() if arguments.verb == "down" else _status(arguments.verb)
