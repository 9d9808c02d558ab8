"""The sandbox of each server: what its entry opens, and what no entry does."""

import hashlib
import os
import re
from collections.abc import Mapping

from msgspec import Struct

from switchboard.children.schema import ServerEntry
from switchboard.config.locate import expand_user, find_places
from switchboard.procs.spawn import SpawnSpec, Wrap
from switchboard.procs.wrapped import Wrapped
from switchboard.sandbox.confinement import Confinement
from switchboard.sandbox.probe import Unusable
from switchboard.sandbox.programs import resolved_command
from switchboard.sandbox.sandbox import Sandbox, platform_sandbox

# Tells a server in a sandbox where it may keep what outlives it.
STATE_VARIABLE = "SWITCHBOARD_STATE_DIR"
_PRIVATE = 0o700


class Enclosures:
    """Makes the confinement of a server for the sessions of one workspace and environment."""

    def __init__(self, sandbox: Sandbox, environ: Mapping[str, str], workspace: str) -> None:
        self._sandbox = sandbox
        self._places = find_places(environ, workspace, [])
        self._path = environ.get("PATH") or os.defpath

    def __call__(self, entry: ServerEntry) -> Wrap:
        def wrap(spec: SpawnSpec) -> Wrapped:
            state_dir = self._state_dir(entry)
            os.makedirs(state_dir, mode=_PRIVATE, exist_ok=True)
            env = {**spec.env, STATE_VARIABLE: state_dir}
            # By the server's own search path, whose folders are not opened: an entry says what it
            # opens where everybody looks for it.
            path = spec.env.get("PATH") or os.defpath
            command = resolved_command(spec.argv[0], cwd=spec.cwd, path=path)
            argv = (command, *spec.argv[1:])
            return self._sandbox.wrap(argv, self._confinement(entry, spec, state_dir), env)

        return wrap

    def _confinement(self, entry: ServerEntry, spec: SpawnSpec, state_dir: str) -> Confinement:
        home = self._places.user_home
        # A server of all workspaces runs in the home, which no sandbox opens.
        at_home = entry.scope == "user" and os.path.realpath(spec.cwd) == os.path.realpath(home)
        return Confinement(
            profile=entry.sandbox_profile,
            cwd=state_dir if at_home else spec.cwd,
            home=home,
            allow_network=entry.allow_network,
            read_roots=self._folders(entry.read_roots),
            writable_roots=self._folders(entry.writable_roots),
            state_dir=state_dir,
            hidden=(self._places.home,),
            read_env_files=entry.read_env_files,
            path=self._path,
        )

    def _folders(self, written: tuple[str, ...]) -> tuple[str, ...]:
        workspace, user_home = self._places.workspace, self._places.user_home
        return tuple(os.path.join(workspace, expand_user(each, user_home)) for each in written)

    def _state_dir(self, entry: ServerEntry) -> str:
        """One for each server of each workspace: a name alone proves nothing."""
        whose = f"{self._places.workspace}\0{entry.name}".encode()
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", entry.name)[:40]
        digest = hashlib.sha256(whose).hexdigest()[:16]
        return os.path.join(self._places.home, "state", f"{name}-{digest}")


class SandboxHere(Struct, frozen=True, kw_only=True):
    """What this machine has, and what to do where it has nothing that works."""

    name: str
    fix: str = ""


def sandbox_here() -> SandboxHere:
    """Look at what there is, which tries it once."""
    found = platform_sandbox().look()
    if isinstance(found, Unusable):
        return SandboxHere(name=f"none: {found.why}", fix=found.fix)
    return SandboxHere(name=found)
