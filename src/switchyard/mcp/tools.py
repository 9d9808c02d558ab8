"""The eleven tools: their names, what they say of themselves, and what they do."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from switchyard import actions, answers
from switchyard.brief import brief, doctor
from switchyard.fault import NOT_READY, Fault
from switchyard.mcp import schemas
from switchyard.scope import Scope
from switchyard.worktrees.create import create

Arguments = dict[str, Any]
UP_WAIT_S = 50.0

BRANCH: schemas.Schema = {
    "type": "string",
    "description": "Branch name. Omitted: the branch of the worktree the call is made from.",
}
SERVICES: schemas.Schema = {
    "type": "array",
    "items": {"type": "string"},
    "description": "Names from `configured_services`. Omitted: the default profile, or all.",
}


class Tool(NamedTuple):
    """One tool with its annotations. A tool that only reads is answered at once."""

    name: str
    title: str
    description: str
    input: schemas.Schema
    output: schemas.Schema
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    call: Callable[[Scope, Arguments], dict[str, Any]]

    def as_json(self) -> dict[str, Any]:
        """As it is listed."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input,
            "outputSchema": self.output,
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.read_only,
                "destructiveHint": self.destructive,
                "idempotentHint": self.idempotent,
                "openWorldHint": self.open_world,
            },
        }


def _here(scope: Scope, given: Arguments) -> str | None:
    branch = given.get("branch")
    if branch is not None:
        return scope.target(branch).branch
    return scope.here.branch if scope.here else None


def _logs(scope: Scope, given: Arguments) -> dict[str, Any]:
    return answers.logs(
        scope,
        given.get("service"),
        given.get("branch"),
        lines=given.get("lines", answers.LINES),
        grep=given.get("grep"),
        errors=given.get("errors", False),
    )


def _create(scope: Scope, given: Arguments) -> dict[str, Any]:
    force_env = given.get("force_env", False)
    return create(scope, given["branch"], base=given.get("base"), force_env=force_env)


def _up(scope: Scope, given: Arguments) -> dict[str, Any]:
    target = scope.target(given.get("branch"))
    try:
        return actions.up(
            scope,
            branch=target.branch,
            services=given.get("services", ()),
            profile=given.get("profile"),
            wait=given.get("wait", True),
            timeout_s=UP_WAIT_S,
            env=os.environ,
        )
    except Fault as fault:
        # Clients give a tool about a minute. What still starts then is told, not failed.
        rows: list[dict[str, Any]] = fault.details.get("services") or []
        waiting = rows and all(one["phase"] in ("starting", "waiting") for one in rows)
        late = any(one.get("reason") == "not-ready-in-time" for one in rows)
        if fault.exit_code != NOT_READY or not waiting or late:
            raise
        found = answers.status(scope, target.branch)
        return {
            "branch": target.branch,
            "services": found["services"],
            "started": [one["service"] for one in rows],
            "already_running": [],
            "warnings": [f"not all are ready yet: {fault.message}"],
        }


def _tool(
    name: str,
    title: str,
    description: str,
    call: Callable[[Scope, Arguments], dict[str, Any]],
    output: schemas.Schema,
    *,
    takes: dict[str, schemas.Schema] | None = None,
    required: tuple[str, ...] = (),
    hints: tuple[bool, bool, bool, bool] = (True, False, True, False),
) -> Tool:
    given = schemas.arguments(takes or {}, *required)
    return Tool(f"switchyard_{name}", title, description, given, output, *hints, call)


# readOnly, destructive, idempotent, openWorld
STARTS = (False, True, True, True)
FORWARDS = (False, False, True, False)
CHANGES = (False, True, False, False)

TOOLS: dict[str, Tool] = {
    one.name: one
    for one in (
        _tool(
            "doctor",
            "Switchyard doctor",
            "Project config, proxy, services, version, and env_warnings for missing env files.",
            lambda scope, _: doctor(scope),
            schemas.DOCTOR,
        ),
        _tool(
            "create",
            "Create worktree",
            "Create a managed git worktree for a branch and sync the configured env files.",
            _create,
            schemas.CREATE,
            takes={
                "branch": {"type": "string", "description": "Branch to check out or create."},
                "base": {"type": "string", "description": "Where a new branch begins."},
                "force_env": {"type": "boolean", "description": "Replace env files that exist."},
            },
            required=("branch",),
            hints=CHANGES,
        ),
        _tool(
            "list",
            "List worktrees",
            "Registered Switchyard worktrees of the project.",
            lambda scope, _: answers.worktrees(scope),
            schemas.WORKTREES,
        ),
        _tool(
            "status",
            "Service status",
            "Registered services with running or stale state, checked against the kernel now.",
            lambda scope, given: answers.status(scope, _here(scope, given)),
            schemas.SERVICES,
            takes={"branch": BRANCH},
        ),
        _tool(
            "brief",
            "Project brief",
            "Compact summary: configured services and profiles, what runs, checkouts, changed "
            "files, env_warnings and recent errors. Start here.",
            lambda scope, given: brief(scope, given.get("branch")),
            schemas.BRIEF,
            takes={"branch": BRANCH},
        ),
        _tool(
            "where",
            "Where is a service",
            "URL, port, PID, worktree and log path of one service.",
            lambda scope, given: answers.where(scope, given["service"], given.get("branch")),
            schemas.WHERE,
            takes={"service": {"type": "string", "description": "Service name."}, "branch": BRANCH},
            required=("service",),
        ),
        _tool(
            "logs",
            "Recent logs",
            "Recent log tail of one service, or of every service of a branch.",
            _logs,
            schemas.LOGS,
            takes={
                "service": {"type": "string", "description": "Service name. Omitted: all."},
                "branch": BRANCH,
                "lines": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": answers.MOST_LINES,
                    "description": "How many lines of each log; 80 when omitted.",
                },
                "grep": {"type": "string", "description": "Only lines that match this regex."},
                "errors": {"type": "boolean", "description": "Only lines that tell of errors."},
            },
        ),
        _tool(
            "up",
            "Start services",
            "Start local services of a branch and wait until they are ready. Runs commands "
            "from switchyard.toml.",
            _up,
            schemas.UP,
            takes={
                "branch": BRANCH,
                "services": SERVICES,
                "profile": {"type": "string", "description": "A name of `configured_profiles`."},
                "wait": {"type": "boolean", "description": "Wait until ready; true if omitted."},
            },
            hints=STARTS,
        ),
        _tool(
            "checkout",
            "Check out to canonical ports",
            "Map the runtime of a branch to the configured canonical ports.",
            lambda scope, given: actions.checkout(
                scope, branch=given.get("branch"), services=given.get("services", ())
            ),
            schemas.CHECKOUTS,
            takes={"branch": BRANCH, "services": SERVICES},
            hints=FORWARDS,
        ),
        _tool(
            "uncheckout",
            "Release canonical ports",
            "Stop canonical port mappings: of this worktree's branch, or all from the root.",
            lambda scope, given: actions.uncheckout(
                scope, branch=given.get("branch"), services=given.get("services", ())
            ),
            schemas.CLOSED,
            takes={"branch": BRANCH, "services": SERVICES},
            hints=CHANGES,
        ),
        _tool(
            "down",
            "Stop services",
            "Stop Switchyard-managed services: of this worktree's branch, or all from the root.",
            lambda scope, given: actions.down(
                scope, branch=given.get("branch"), services=given.get("services", ())
            ),
            schemas.STOPPED,
            takes={"branch": BRANCH, "services": SERVICES},
            hints=CHANGES,
        ),
    )
}
