"""What the tools do."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from switchyard.api.log_search import search_logs
from switchyard.control import actions
from switchyard.core.environ import caller
from switchyard.core.fault import NOT_READY, USAGE, YardFault
from switchyard.core.quantities import seconds
from switchyard.project.scope import ProjectScope
from switchyard.queries.brief import brief
from switchyard.queries.doctor import doctor
from switchyard.queries.services import status, where
from switchyard.queries.waiting import USUAL_WAIT_S, wait_for
from switchyard.queries.worktrees import worktrees
from switchyard.runtime.branches import known_target
from switchyard.runtime.log.lines import DEFAULT_LINES
from switchyard.worktrees.create import create

Arguments = dict[str, Any]
UP_WAIT_S = 50.0


def _here(scope: ProjectScope, given: Arguments) -> str | None:
    branch = given.get("branch")
    if branch is not None:
        return known_target(scope, branch).branch
    return scope.here.branch if scope.here else None


def _logs(scope: ProjectScope, given: Arguments) -> dict[str, Any]:
    wanted: Arguments = {
        "service": given.get("service"),
        "branch": given.get("branch"),
        "lines": given.get("lines", DEFAULT_LINES),
        "grep": given.get("grep"),
        "errors": given.get("errors", False),
        "since": _moment(given.get("since")),
        "times": "since" in given,
    }
    return search_logs(scope, wanted)


def _moment(ago: str | None) -> float | None:
    if ago is None:
        return None
    made = seconds(ago)
    if made is None:
        raise YardFault("bad-time", f"`{ago}` is not a duration; write 10m or 30s", exit_code=USAGE)
    return time.time() - made


def _create(scope: ProjectScope, given: Arguments) -> dict[str, Any]:
    force_env = given.get("force_env", False)
    return create(scope, given["branch"], base=given.get("base"), force_env=force_env)


def _up(scope: ProjectScope, given: Arguments) -> Mapping[str, Any]:
    target = scope.target(given.get("branch"))
    try:
        return actions.up(
            scope,
            branch=target.branch,
            services=given.get("services", ()),
            profile=given.get("profile"),
            wait=given.get("wait", True),
            timeout_s=UP_WAIT_S,
            env=caller(),
        )
    except YardFault as fault:
        # Clients give a tool about a minute. A service that still starts then is no failure.
        rows: list[dict[str, Any]] = fault.details.get("services") or []
        waiting = rows and all(one["phase"] in ("starting", "waiting") for one in rows)
        late = any(one.get("reason") == "not-ready-in-time" for one in rows)
        if fault.exit_code != NOT_READY or not waiting or late:
            raise
        found = status(scope, target.branch)
        return {
            "branch": target.branch,
            "services": found["services"],
            "started": [one["service"] for one in rows],
            "already_running": [],
            "warnings": [f"some services are not ready yet: {fault.message}"],
        }


def _restart(scope: ProjectScope, given: Arguments) -> Mapping[str, Any]:
    """Whoever ran starts again; where nothing ran, what `up` starts."""
    target = scope.target(given.get("branch"))
    asked = given.get("services", ())
    stopped = actions.down(scope, branch=target.branch, services=asked, keeps_ports=True)["stopped"]
    again = asked or [one["service"] for one in stopped]
    return _up(scope, {"branch": target.branch, "services": again})


def _wait(scope: ProjectScope, given: Arguments) -> Mapping[str, Any]:
    timeout_s = given.get("seconds", USUAL_WAIT_S)
    return wait_for(scope, given["service"], given.get("branch"), timeout_s)


CALLS: dict[str, Callable[[ProjectScope, Arguments], Mapping[str, Any]]] = {
    "switchyard_doctor": lambda scope, _: doctor(scope),
    "switchyard_create": _create,
    "switchyard_list": lambda scope, _: worktrees(scope),
    "switchyard_status": lambda scope, given: status(scope, _here(scope, given)),
    "switchyard_brief": lambda scope, given: brief(scope, given.get("branch")),
    "switchyard_where": lambda scope, given: where(scope, given["service"], given.get("branch")),
    "switchyard_logs": _logs,
    "switchyard_up": _up,
    "switchyard_restart": _restart,
    "switchyard_wait": _wait,
    "switchyard_checkout": lambda scope, given: actions.checkout(
        scope, branch=given.get("branch"), services=given.get("services", ())
    ),
    "switchyard_uncheckout": lambda scope, given: actions.uncheckout(
        scope, branch=given.get("branch"), services=given.get("services", ())
    ),
    "switchyard_down": lambda scope, given: actions.down(
        scope, branch=given.get("branch"), services=given.get("services", ())
    ),
}
