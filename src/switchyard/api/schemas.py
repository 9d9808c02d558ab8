"""The JSON schemas of tool inputs and outputs, and a check for the inputs."""

from typing import Any, cast

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
INTEGER_OR_NULL: Schema = {"type": ["integer", "null"]}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
FLAG: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "array", "items": TEXT}


def array(items: Schema) -> Schema:
    """A list of these."""
    return {"type": "array", "items": items}


def record(properties: dict[str, Schema], *required: str) -> Schema:
    """An object with at least these properties; later versions may add more."""
    return {"type": "object", "properties": properties, "required": list(required)}


def arguments(properties: dict[str, Schema], *required: str) -> Schema:
    """The arguments of a tool: these properties and no others."""
    both = {
        **properties,
        "cwd": {
            "type": "string",
            "description": "Folder to act from, in the project or a worktree.",
        },
    }
    made: Schema = {"type": "object", "properties": both, "additionalProperties": False}
    if required:
        made["required"] = list(required)
    return made


SERVICE = record(
    {
        "service": TEXT,
        "branch": TEXT,
        "status": {"type": "string", "enum": ["running", "stale"]},
        "phase": TEXT,
        "kind": TEXT,
        "pid": INTEGER_OR_NULL,
        "port": INTEGER_OR_NULL,
        "canonical_port": INTEGER_OR_NULL,
        "url": TEXT_OR_NULL,
        "direct_url": TEXT_OR_NULL,
        "worktree": TEXT,
        "log_path": TEXT_OR_NULL,
        "run_id": TEXT,
        "started_at": NUMBER_OR_NULL,
        "ready_at": NUMBER_OR_NULL,
        "exit_code": INTEGER_OR_NULL,
        "head": TEXT,
        "changed": FLAG,
        "reason": TEXT_OR_NULL,
        "restarts": {"type": "integer"},
        "supervised": FLAG,
        "pids": array({"type": "integer"}),
        "port_owner": record({"pid": {"type": "integer"}, "command": TEXT}, "pid"),
    },
    "service",
    "status",
    "phase",
)
WARNINGS = array(record({"path": TEXT, "mode": TEXT, "message": TEXT}, "path", "message"))
CHECKOUT = record(
    {
        "port": {"type": "integer"},
        "service": TEXT,
        "branch": TEXT,
        "active": FLAG,
        "port_owner": record({"pid": {"type": "integer"}, "command": TEXT}, "pid"),
    },
    "port",
    "service",
    "branch",
)
BRIEF = record(
    {
        "project": TEXT,
        "root": TEXT,
        "branch": TEXT,
        "worktree": TEXT,
        "scope": {"type": "string", "enum": ["branch", "project"]},
        "supervised": FLAG,
        "names_resolve": FLAG,
        "configured_services": TEXTS,
        "configured_profiles": TEXTS,
        "services": array(record({"service": TEXT, "status": TEXT, "phase": TEXT}, "service")),
        "checkouts": array(CHECKOUT),
        "changed_files": TEXTS,
        "env_warnings": WARNINGS,
        "recent_errors": array(
            record(
                {"service": TEXT, "line": TEXT, "count": {"type": "integer"}, "at": TEXT},
                "service",
                "line",
            )
        ),
    },
    "project",
    "branch",
    "configured_services",
    "configured_profiles",
    "services",
    "checkouts",
    "changed_files",
    "env_warnings",
    "recent_errors",
)
DOCTOR = record(
    {
        "healthy": FLAG,
        "version": TEXT,
        "project": TEXT,
        "root": TEXT,
        "proxy": record({"host": TEXT, "port": {"type": "integer"}, "tld": TEXT}, "host", "port"),
        "services": array(record({"service": TEXT}, "service")),
        "env_warnings": WARNINGS,
        "notes": TEXTS,
        "problems": TEXTS,
    },
    "version",
    "project",
    "proxy",
    "services",
    "env_warnings",
)
CREATE = record(
    {
        "created": FLAG,
        "branch": TEXT,
        "path": TEXT,
        "env": array(record({"path": TEXT, "mode": TEXT, "result": TEXT}, "path", "result")),
    },
    "created",
    "branch",
    "path",
    "env",
)
WORKTREES = record(
    {
        "root": TEXT,
        "worktrees": array(
            record({"branch": TEXT, "path": TEXT, "exists": FLAG}, "branch", "path", "exists")
        ),
    },
    "worktrees",
)
SERVICES = record({"services": array(SERVICE)}, "services")
WHERE = record({"service": SERVICE}, "service")
LOGS = record(
    {
        "logs": array(
            record(
                {
                    "service": TEXT,
                    "branch": TEXT,
                    "path": TEXT,
                    "lines": TEXTS,
                    "times": array({"type": "number"}),
                },
                "service",
                "lines",
            )
        )
    },
    "logs",
)
UP = record(
    {
        "branch": TEXT,
        "services": array(SERVICE),
        "started": TEXTS,
        "already_running": TEXTS,
        "warnings": TEXTS,
    },
    "branch",
    "services",
    "started",
)
# Short, because the list of tools is read by every model: the rows are those of `up` and `where`.
_STATE = record({"service": TEXT, "status": TEXT, "phase": TEXT}, "service", "status", "phase")
RESTARTED = record({"services": array(_STATE), "started": TEXTS}, "services", "started")
WAITED = record({"service": _STATE}, "service")
_PORT: dict[str, Schema] = {"port": {"type": "integer"}, "service": TEXT, "branch": TEXT}
CHECKOUTS = record(
    {"branch": TEXT, "checkouts": array(record({**_PORT, "result": TEXT}, *_PORT))}, "checkouts"
)
CLOSED = record({"closed": array(record(_PORT, *_PORT))}, "closed")
STOPPED = record(
    {
        "stopped": array(
            record(
                {"service": TEXT, "branch": TEXT, "forced": FLAG, "port_free": FLAG},
                "service",
                "branch",
            )
        )
    },
    "stopped",
)


def _fits(value: Any, schema: Schema) -> bool:
    kind = schema["type"]
    if kind == "array":
        items = cast("list[Any]", value) if isinstance(value, list) else None
        return items is not None and all(_fits(one, schema["items"]) for one in items)
    if kind == "integer":
        whole = isinstance(value, int) and not isinstance(value, bool)
        # JSON has one kind of number, and some clients write 20 as 20.0.
        whole = whole or (isinstance(value, float) and value.is_integer())
        return whole and schema.get("minimum", value) <= value <= schema.get("maximum", value)
    return isinstance(value, str if kind == "string" else bool)


def mistake(given: dict[str, Any], schema: Schema) -> str | None:
    """What is wrong with the arguments, or nothing. Checked before anything is done.

    Null for an optional argument means that it is not given: many clients write it so.
    """
    properties: dict[str, Schema] = schema["properties"]
    for name in given:
        if name not in properties:
            return f"unknown argument `{name}`; known: {', '.join(sorted(properties))}"
    for name in schema.get("required", ()):
        if given.get(name) is None:
            return f"the argument `{name}` is missing"
    for name, value in given.items():
        if value is not None and not _fits(value, properties[name]):
            kind = properties[name]["type"]
            limits = properties[name]
            bound = (
                f" from {limits['minimum']} to {limits['maximum']}" if "minimum" in limits else ""
            )
            return f"the argument `{name}` must be of type {kind}{bound}"
    return None
