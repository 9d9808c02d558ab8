"""How an agent that speaks ACP is started: its environment, its shell and its servers."""

import os
import shlex
from typing import Any

import msgspec

from switchboard.engines.acp.agents import AcpAgent, permissions_for
from switchboard.engines.profile import EngineSpec
from switchboard.engines.quiet_git import with_quiet_git
from switchboard.engines.surroundings import kept_from_shells, shielded_command
from switchkit.files import make_private_folder, replace_file

_SHELLS = ("/bin/bash", "/bin/sh")
_PROGRAM = 0o700


def environment_for(agent: AcpAgent, spec: EngineSpec) -> dict[str, str]:
    """Its environment. Writes the shell that its commands run in. Blocks. Raises OSError."""
    make_private_folder(spec.folder)
    env = {**agent.habits, **spec.env}
    permissions = permissions_for(spec.profile.fields) if agent.has_permissions else {}
    if permissions:
        env["OPENCODE_PERMISSION"] = msgspec.json.encode(permissions).decode()
    if agent.settings:
        env[agent.settings_variable] = _with_settings(agent, env)
    if not spec.is_trusted:
        env |= agent.when_untrusted
    # Also where the workspace is trusted: nobody was shown what its repository would start.
    env = with_quiet_git(env, spec.cwd)
    env["SHELL"] = _shell(spec, env)
    return env


def servers_for(spec: EngineSpec, env: dict[str, str]) -> list[dict[str, Any]]:
    """The servers of a session, in the words of the protocol."""
    commands = ((server, shielded_command(server, env)) for server in spec.profile.servers)
    return [
        {
            "name": server.name,
            "command": command[0],
            "args": command[1:],
            "env": [{"name": name, "value": value} for name, value in server.env.items()],
        }
        for server, command in commands
    ]


def _with_settings(agent: AcpAgent, env: dict[str, str]) -> str:
    """What the agent needs, and what the user set in the same way, whose words win."""
    given = env.get(agent.settings_variable, "")
    try:
        user = msgspec.json.decode(given, type=dict[str, object]) if given else {}
    except msgspec.DecodeError:
        # With comments in it, for instance: only the agent itself can read it.
        return given
    return msgspec.json.encode({**agent.settings, **user}).decode()


def _shell(spec: EngineSpec, env: dict[str, str]) -> str:
    """A shell that takes the secrets out of its environment, for agents that use the user's."""
    real = next((path for path in _SHELLS if os.access(path, os.X_OK)), "/bin/sh")
    path = os.path.join(spec.folder, os.path.basename(real))
    # What keeps git quiet stays: all of it, or git fails.
    kept = (name for name in kept_from_shells(env) if not name.startswith("GIT_CONFIG_"))
    lines = ["#!/bin/sh", *(f"unset {name}" for name in kept if name.isidentifier())]
    lines.append(f'SHELL={shlex.quote(real)} exec {shlex.quote(real)} "$@"')
    replace_file(path, ("\n".join(lines) + "\n").encode(), mode=_PROGRAM, durable=False)
    return path
