"""Puts the processes of servers into their sandboxes."""

import hashlib
import os
import re
from collections.abc import Mapping
from typing import Protocol

from switchboard.config.locate import find_places
from switchboard.procs.spawn import SpawnSpec, Wrap
from switchboard.procs.wrapped import Wrapped
from switchboard.sandbox.policy import ConfinedEntry, SandboxPolicy, Surroundings
from switchboard.sandbox.programs import resolved_command

# Tells a server in a sandbox where it may keep what outlives it.
STATE_VARIABLE = "SWITCHBOARD_STATE_DIR"
_PRIVATE = 0o700


class ConfinedServer(ConfinedEntry, Protocol):
    """A server that says how it is confined."""

    @property
    def name(self) -> str: ...
    @property
    def scope(self) -> str: ...


class ServerSandbox:
    """The sandboxes of the servers of one workspace and environment."""

    def __init__(self, environ: Mapping[str, str], workspace: str) -> None:
        self._environ = environ
        self._workspace = workspace

    def __call__(self, entry: ConfinedServer) -> Wrap | None:
        """What puts the process of a server into its sandbox; nothing if it is to have none."""
        if entry.sandbox_profile == "none":
            return None
        from switchboard.sandbox.sandbox import platform_sandbox  # noqa: PLC0415 - few are confined

        sandbox = platform_sandbox()
        places = find_places(self._environ, self._workspace, [])
        surroundings = Surroundings(
            workspace=places.workspace,
            user_home=places.user_home,
            home=places.home,
            path=self._environ.get("PATH") or os.defpath,
        )

        def wrap(spec: SpawnSpec) -> Wrapped:
            state_dir = _state_dir(entry, surroundings)
            os.makedirs(state_dir, mode=_PRIVATE, exist_ok=True)
            env = {**spec.env, STATE_VARIABLE: state_dir}
            # By the server's own search path, whose folders are not opened: an entry says what it
            # opens where everybody looks for it.
            path = spec.env.get("PATH") or os.defpath
            command = resolved_command(spec.argv[0], cwd=spec.cwd, path=path)
            argv = (command, *spec.argv[1:])
            return sandbox.wrap(argv, _policy(entry, spec, state_dir, surroundings), env)

        return wrap


def _policy(
    entry: ConfinedServer, spec: SpawnSpec, state_dir: str, surroundings: Surroundings
) -> SandboxPolicy:
    home = surroundings.user_home
    # A server of all workspaces runs in the home, which no sandbox opens.
    at_home = entry.scope == "user" and os.path.realpath(spec.cwd) == os.path.realpath(home)
    return surroundings.policy(entry, cwd=state_dir if at_home else spec.cwd, state_dir=state_dir)


def _state_dir(entry: ConfinedServer, surroundings: Surroundings) -> str:
    """One for each server of each workspace: a name alone proves nothing."""
    whose = f"{surroundings.workspace}\0{entry.name}".encode()
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", entry.name)[:40]
    digest = hashlib.sha256(whose).hexdigest()[:16]
    return os.path.join(surroundings.home, "state", f"{name}-{digest}")
