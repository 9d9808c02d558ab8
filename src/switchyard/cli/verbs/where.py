"""`where`: the shortest way to one service. What it does not need is not imported."""

import importlib
from typing import Any

from switchyard.cli.arguments import Arguments, usage_fault
from switchyard.cli.report import Report
from switchyard.home import default_home
from switchyard.scope import Scope, locate
from switchyard.whereabouts import whereabouts


def _found(scope: Scope, service: str, branch: str | None) -> dict[str, Any]:
    here = scope.target(branch)
    shown = whereabouts(scope, service, here, anywhere=branch is None and scope.here is None)
    if shown is None:
        # Only now is the configuration worth reading.
        return importlib.import_module("switchyard.answers").where(scope, service, branch)
    return {"service": shown}


def run(arguments: Arguments) -> Report:
    """Where one service is."""
    if not arguments.words:
        raise usage_fault("`where` needs a SERVICE", "where")
    scope = locate(arguments.cwd, default_home())
    found = _found(scope, arguments.words[0], arguments.value("branch"))
    shown = found["service"]
    keys = ("status", "phase", "url", "direct_url", "port", "pid", "branch", "worktree", "log_path")
    lines = [f"{key:11} {shown[key]}" for key in keys if shown.get(key) is not None]
    return Report("where", found, lines)
