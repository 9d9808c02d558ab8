"""The agents that speak the Agent Client Protocol and are known by name, and what is known of them.

Any other is a name with a command; of its own settings nothing is known.
"""

import os
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from switchboard.engines.profile import RunFields


class AcpAgent(Struct, frozen=True, kw_only=True):
    """One agent: how it is started, and what it would follow in a workspace."""

    name: str
    command: tuple[str, ...]
    # Files and folders of a workspace that make it run programs. They cannot be switched off.
    follows: tuple[str, ...] = ()
    # Added to the environment where the workspace is not trusted.
    when_untrusted: dict[str, str] = {}
    # Added to the environment always. The user's own words win.
    habits: dict[str, str] = {}
    # Settings of its own that it needs, in the variable that takes them.
    settings: dict[str, object] = {}
    settings_variable: str = ""
    # What makes it say on stderr what goes wrong, and what it says there each time when the service
    # of its model cannot be reached: over the protocol it tells nothing until it gives up.
    says_errors: tuple[str, ...] = ()
    unreachable: str = ""
    # Whether `permissions_for` means something to it.
    has_permissions: bool = False
    install: str = ""
    # The file of its login, below the user's folder for data.
    login: str = ""


_KNOWN = (
    AcpAgent(
        name="opencode",
        command=("opencode", "acp"),
        # Plugins in there are loaded even where it is told to leave the workspace's settings.
        follows=(".opencode", "opencode.json", "opencode.jsonc"),
        when_untrusted={"OPENCODE_DISABLE_PROJECT_CONFIG": "1"},
        habits={"OPENCODE_DISABLE_AUTOUPDATE": "1"},
        # A thing that was not allowed is no reason to end the whole turn.
        settings={"experimental": {"continue_loop_on_deny": True}},
        settings_variable="OPENCODE_CONFIG_CONTENT",
        # It tries six times, in more than a minute.
        says_errors=("--print-logs", "--log-level", "ERROR"),
        unreachable=r"timestamp=\S+ .*\bsmall=false\b.*Cannot connect to API",
        has_permissions=True,
        install="install it with `npm install -g opencode-ai`",
        login="opencode/auth.json",
    ),
    AcpAgent(
        name="gemini",
        command=("gemini", "--acp"),
        follows=(".gemini",),
        install="install it with `npm install -g @google/gemini-cli`",
    ),
    AcpAgent(name="goose", command=("goose", "acp"), install="install Goose from its website"),
)
KNOWN = {agent.name: agent for agent in _KNOWN}


def agent_named(
    name: str, command: str = "", args: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> AcpAgent | None:
    """The agent of this name, started by a command of the user's own if there is one."""
    known = KNOWN.get(name)
    if known is None and not command:
        return None
    agent = known or AcpAgent(name=name, command=(command,))
    if command:
        agent = msgspec.structs.replace(agent, command=(command, *args))
    return msgspec.structs.replace(agent, habits={**agent.habits, **(env or {})})


def followed_settings(agent: AcpAgent, cwd: str, home: str) -> str:
    """The first thing in the workspace that would make the agent run programs. Blocks.

    Folders above count, too, up to the user's own, whose settings are the user's own.
    """
    folder = cwd
    while folder != home:
        for name in agent.follows:
            if os.path.lexists(os.path.join(folder, name)):
                return os.path.join(folder, name)
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return ""


def permissions_for(fields: RunFields) -> dict[str, str]:
    """What opencode does with each kind of tool; nothing where nobody wrote anything of it."""
    if fields.sandbox_mode is None and fields.approval_policy is None:
        return {}
    if fields.sandbox_mode == "read-only":
        return {"edit": "deny", "bash": "deny", "external_directory": "ask", "webfetch": "ask"}
    if fields.approval_policy == "never":
        rest = "allow" if fields.sandbox_mode == "danger-full-access" else "deny"
        edits = "deny" if fields.sandbox_mode is None else "allow"
        return {"edit": edits, "bash": rest, "external_directory": rest, "webfetch": rest}
    is_trusting = fields.sandbox_mode == "workspace-write" and fields.approval_policy != "untrusted"
    edits = "allow" if is_trusting else "ask"
    return {"edit": edits, "bash": "ask", "external_directory": "ask", "webfetch": "ask"}
