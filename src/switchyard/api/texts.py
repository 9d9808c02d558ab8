"""The guide and the prompts: plain templates that read nothing and change nothing."""

from typing import Any

from switchkit.suggest import suggestion

INSTRUCTIONS = (
    "Switchyard runs the services of this project, each branch side by side. Read "
    "switchyard://project/brief (or call switchyard_brief) first; take service names from "
    "configured_services. Never guess ports or read terminals: call switchyard_where and "
    "switchyard_logs. Call up, checkout, uncheckout, down or create only when the user wants "
    "the runtime changed."
)

GUIDE = """# Switchyard for agents

1. Read `switchyard://project/brief`, or call `switchyard_brief` when resources are unavailable.
2. Take names from `configured_services` and `configured_profiles` before choosing services, and
   look at `env_warnings` before creating worktrees.
3. Use the prompt `switchyard_runtime_handoff` when the client has prompts and a ready-made start
   is wanted.
4. Call `switchyard_where` for one service: its URL, port, PID, worktree and log path.
5. Call `switchyard_logs` for focused debugging; `errors` and `grep` narrow it.
6. Call `switchyard_create` when the user wants a new branch runtime.
7. Call `switchyard_up`, `switchyard_checkout`, `switchyard_uncheckout` or `switchyard_down` only
   when the user wants runtime changes. Keep client approval on for these.

`status` is `running` or `stale`; `phase` and `reason` say more. Answers are checked against the
kernel at the time of the call. A stale service shows its last log path and, when known, its exit
code. Processes that Switchyard did not start are reported and never stopped.
"""

_HANDOFF = """You are taking over work in a project whose local services run under Switchyard.

1. Read `switchyard://project/brief` (or call `switchyard_brief`): configured services and
   profiles, what is running, checkouts, changed files, env_warnings, recent errors.
2. Read `switchyard://project/doctor` (or call `switchyard_doctor`) if the brief shows warnings.
3. For each service that matters to the task call `switchyard_where`; use its URL and log path.
   Do not guess ports and do not read terminals.
4. Call `switchyard_logs` with `errors: true` for a service that is stale or unhealthy.
5. Boundaries: ask the user before `switchyard_create`, `switchyard_up`, `switchyard_checkout`,
   `switchyard_uncheckout` or `switchyard_down`. Reading needs no approval.

Then tell the user in a few lines what is running, what is broken, and what you would do next.
"""

_BRANCH = """Prepare a running environment for the branch `{branch}`.

1. Read `switchyard://project/brief`. Check `env_warnings`, `configured_services` and
   `configured_profiles`.
2. If no worktree of `{branch}` is registered (`switchyard_list`), ask the user and call
   `switchyard_create` with `branch: "{branch}"`.
3. After approval call `switchyard_up` with `branch: "{branch}"`{services}.
4. If a service is not ready, call `switchyard_logs` for it and report the cause.
5. Report the URL of each service from `switchyard_where`. Offer `switchyard_checkout` when the
   user needs the canonical ports; do not call it unasked.
"""

PROMPTS: list[dict[str, Any]] = [
    {
        "name": "switchyard_runtime_handoff",
        "title": "Runtime handoff",
        "description": "Start a session with the brief, the doctor and focused lookups.",
    },
    {
        "name": "switchyard_branch_runtime",
        "title": "Branch runtime",
        "description": "Create a worktree for a branch and start its services.",
        "arguments": [
            {"name": "branch", "description": "The branch to run.", "required": True},
            {
                "name": "services",
                "description": "Services to start, separated by commas.",
                "required": False,
            },
        ],
    },
]


def prompt(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The messages of a prompt.

    Raises `ValueError` when the prompt is unknown or its arguments do not fit.
    """
    known = {one["name"]: one for one in PROMPTS}
    if name not in known:
        raise ValueError(f"unknown prompt `{name}`; {suggestion(name, known)}")
    takes = [one["name"] for one in known[name].get("arguments", ())]
    for key, value in given.items():
        if key not in takes:
            raise ValueError(f"unknown argument `{key}`")
        if not isinstance(value, str):
            raise ValueError(f"the argument `{key}` must be a string")  # noqa: TRY004 - callers catch one kind
    if name == "switchyard_runtime_handoff":
        text = _HANDOFF
    else:
        branch = str(given.get("branch", "")).strip()
        if not branch:
            raise ValueError("the argument `branch` is missing")
        names = [one.strip() for one in str(given.get("services", "")).split(",") if one.strip()]
        services = f" and `services: {names}`".replace("'", '"') if names else ""
        text = _BRANCH.format(branch=branch, services=services)
    return {
        "description": known[name]["description"],
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }
