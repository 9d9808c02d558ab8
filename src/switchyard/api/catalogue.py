"""What the server offers: its tools and resources. Plain data, so that a listing is cheap."""

from typing import Any, NamedTuple

from switchyard.api import schemas
from switchyard.api.search_hints import HINTS, SEARCH_HINT

MOST_LINES = 300
LONGEST_WAIT_S = 50
BRANCH: schemas.Schema = {
    "type": "string",
    "description": "Branch name. Omitted: the branch of the worktree the call is made from.",
}
SERVICES: schemas.Schema = {
    "type": "array",
    "items": {"type": "string"},
    "description": "Names from `configured_services`. Omitted: the default profile, or all.",
}
_NAMES: schemas.Schema = {"type": "array", "items": {"type": "string"}}


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
    waits: bool = False
    """Whether it takes long though it only reads, so that others should not wait for it."""

    @property
    def is_slow(self) -> bool:
        """Whether other calls should not wait for it."""
        return self.waits or not self.read_only

    @property
    def search_hint(self) -> str:
        """Words by which a host finds it, beside those of its name and description."""
        return HINTS[self.name]

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
            "_meta": {SEARCH_HINT: self.search_hint},
        }


def _tool(
    name: str,
    title: str,
    description: str,
    output: schemas.Schema,
    *,
    takes: dict[str, schemas.Schema] | None = None,
    required: tuple[str, ...] = (),
    hints: tuple[bool, bool, bool, bool] = (True, False, True, False),
    waits: bool = False,
) -> Tool:
    given = schemas.arguments(takes or {}, *required)
    return Tool(f"switchyard_{name}", title, description, given, output, *hints, waits)


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
            schemas.DOCTOR,
        ),
        _tool(
            "create",
            "Create worktree",
            "Create a managed git worktree for a branch and sync the configured env files.",
            schemas.CREATE,
            takes={
                "branch": {"type": "string", "description": "Branch to check out or create."},
                "base": {"type": "string", "description": "Where a new branch starts."},
                "force_env": {"type": "boolean", "description": "Replace existing env files."},
            },
            required=("branch",),
            hints=CHANGES,
        ),
        _tool(
            "list",
            "List worktrees",
            "Registered Switchyard worktrees of the project.",
            schemas.WORKTREES,
        ),
        _tool(
            "status",
            "Service status",
            "Registered services with running or stale state, checked against the kernel now.",
            schemas.SERVICES,
            takes={"branch": BRANCH},
        ),
        _tool(
            "brief",
            "Project brief",
            "Compact summary: configured services and profiles, what is running, checkouts, "
            "changed files, env_warnings and recent errors. Start here.",
            schemas.BRIEF,
            takes={"branch": BRANCH},
        ),
        _tool(
            "where",
            "Where is a service",
            "URL, port, PID, worktree and log path of one service.",
            schemas.WHERE,
            takes={"service": {"type": "string", "description": "Service name."}, "branch": BRANCH},
            required=("service",),
        ),
        _tool(
            "logs",
            "Recent logs",
            "Recent log tail of one service, or of every service of a branch.",
            schemas.LOGS,
            takes={
                "service": {"type": "string", "description": "Service name. Omitted: all."},
                "branch": BRANCH,
                "lines": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_LINES,
                    "description": "How many lines of each log; 80 when omitted.",
                },
                "grep": {"type": "string", "description": "Only lines that match this regex."},
                "errors": {"type": "boolean", "description": "Only lines that report errors."},
                "since": {"type": "string", "description": "Only newer lines, such as 10m."},
            },
        ),
        _tool(
            "up",
            "Start services",
            "Start local services of a branch and wait until they are ready. Runs commands "
            "from switchyard.toml.",
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
            schemas.CHECKOUTS,
            takes={"branch": BRANCH, "services": SERVICES},
            hints=FORWARDS,
        ),
        _tool(
            "uncheckout",
            "Release canonical ports",
            "Stop canonical port mappings: of this worktree's branch, or all from the root.",
            schemas.CLOSED,
            takes={"branch": BRANCH, "services": SERVICES},
            hints=CHANGES,
        ),
        _tool(
            "down",
            "Stop services",
            "Stop Switchyard-managed services: of this worktree's branch, or all from the root.",
            schemas.STOPPED,
            takes={"branch": BRANCH, "services": SERVICES},
            hints=CHANGES,
        ),
        _tool(
            "restart",
            "Restart services",
            "Stop services of a branch and start them again.",
            schemas.RESTARTED,
            takes={"branch": {"type": "string"}, "services": _NAMES},
            hints=STARTS,
        ),
        _tool(
            "wait",
            "Wait for a service",
            "Wait until a service is ready or has ended.",
            schemas.WAITED,
            takes={
                "service": {"type": "string"},
                "branch": {"type": "string"},
                "seconds": {"type": "integer", "minimum": 1, "maximum": LONGEST_WAIT_S},
            },
            required=("service",),
            waits=True,
        ),
    )
}

RESOURCES: list[dict[str, Any]] = [
    {
        "uri": "switchyard://project/brief",
        "name": "project_brief",
        "title": "Project brief",
        "description": "Configured and running services, URLs, checkouts, changes, recent errors.",
        "mimeType": "application/json",
    },
    {
        "uri": "switchyard://project/doctor",
        "name": "project_doctor",
        "title": "Project doctor",
        "description": "Project setup, proxy config, services and env_warnings.",
        "mimeType": "application/json",
    },
    {
        "uri": "switchyard://agent/guide",
        "name": "agent_guide",
        "title": "Agent guide",
        "description": "A short workflow for agents.",
        "mimeType": "text/markdown",
    },
]
