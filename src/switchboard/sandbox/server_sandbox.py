"""Puts the processes of servers into their sandboxes."""

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Protocol

from msgspec.structs import replace

from switchboard.config.locate import find_places
from switchboard.procs.containers import container_notes
from switchboard.procs.spawn import SpawnSpec, Wrap
from switchboard.procs.wrapped import Wrapped
from switchboard.sandbox.package_caches import with_caches
from switchboard.sandbox.policy import ConfinedEntry, Feature, Surroundings
from switchkit.commands import resolved_command
from switchkit.files import make_private_folder
from switchkit.platform.paths import true_path

# Tells a server in a sandbox where it may keep what outlives it.
STATE_VARIABLE = "SWITCHBOARD_STATE_DIR"


class ConfinedServer(ConfinedEntry, Protocol):
    """A server that says how it is confined."""

    @property
    def name(self) -> str: ...
    @property
    def scope(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def args(self) -> tuple[str, ...]: ...
    @property
    def env(self) -> Mapping[str, str]: ...
    @property
    def cwd(self) -> str: ...
    @property
    def neutral(self) -> bool: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def sandbox_features(self) -> tuple[Feature, ...]: ...


class ServerSandbox:
    """The sandboxes of the servers of one workspace and environment."""

    def __init__(
        self,
        environ: Mapping[str, str],
        workspace: str,
        private: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        """`private` tells which further files no sandbox shows, as far as that is known by then."""
        self._environ = environ
        self._workspace = workspace
        self._private = private

    def __call__(self, entry: ConfinedServer) -> Wrap | None:
        """What puts the process of a server into its sandbox; nothing if it is to have none."""
        if entry.sandbox_profile == "none":
            return None
        from switchboard.sandbox.sandbox import platform_sandbox  # noqa: PLC0415 - few are confined

        sandbox = platform_sandbox()

        def wrap(spec: SpawnSpec) -> Wrapped:
            known = self._surroundings
            surroundings = replace(known, private=(*known.private, *self._private()))
            state_dir = _state_dir(entry, surroundings)
            cache_dir = _cache_dir(entry, surroundings)
            for folder in (state_dir, cache_dir):
                make_private_folder(folder)
            env = {**with_caches(spec.env, cache_dir, entry.env), STATE_VARIABLE: state_dir}
            # By the server's own search path, whose folders are not opened: an entry says what it
            # opens where everybody looks for it.
            path = spec.env.get("PATH") or os.defpath
            command = resolved_command(spec.argv[0], cwd=spec.cwd, path=path)
            policy = surroundings.policy(
                entry,
                cwd=self.run_folder(entry),
                state_dir=state_dir,
                cache_dir=cache_dir,
                features=entry.sandbox_features,
            )
            return sandbox.wrap((command, *spec.argv[1:]), policy, env, spec.outlet)

        return wrap

    def run_folder(self, entry: ConfinedServer) -> str:
        """Where the process of a server runs, and so what a person is shown who has to agree."""
        if entry.sandbox_features and entry.sandbox_profile != "none":
            # Programs of a workspace listen on sockets in it, now or later.
            return _state_dir(entry, self._surroundings)
        if entry.neutral:
            return _neutral_folder(entry, self._surroundings)
        if entry.sandbox_profile == "none" or entry.scope != "user":
            return entry.cwd
        # A server of all workspaces runs in the home, which no sandbox opens.
        surroundings = self._surroundings
        at_home = true_path(entry.cwd) == true_path(surroundings.user_home)
        return _state_dir(entry, surroundings) if at_home else entry.cwd

    @property
    def notes(self) -> str:
        """Where containers are noted for whoever comes after us."""
        return container_notes(self._surroundings.home)

    @cached_property
    def _surroundings(self) -> Surroundings:
        places = find_places(self._environ, self._workspace, [])
        return Surroundings(
            workspace=places.workspace,
            user_home=places.user_home,
            home=places.home,
            path=self._environ.get("PATH") or os.defpath,
            private=places.private,
        )


def _neutral_folder(entry: ConfinedServer, surroundings: Surroundings) -> str:
    """Where a server starts that has nothing of a workspace: nobody else has written there.

    What a confined one leaves in its folder is never found by one that nothing confines.
    """
    if entry.sandbox_profile != "none":
        return _state_dir(entry, surroundings)
    return os.path.join(surroundings.home, "start", _folder_name(entry, surroundings))


def _state_dir(entry: ConfinedServer, surroundings: Surroundings) -> str:
    return os.path.join(surroundings.home, "state", _folder_name(entry, surroundings))


def _cache_dir(entry: ConfinedServer, surroundings: Surroundings) -> str:
    """One for each command line: what one program wrote is never run in the place of another.

    Not in the state folder, where the server could leave it ready for what its entry says later.
    """
    line = "\0".join((entry.command, *entry.args)).encode()
    digest = hashlib.sha256(line).hexdigest()[:16]
    return os.path.join(surroundings.home, "caches", _folder_name(entry, surroundings), digest)


def _folder_name(entry: ConfinedServer, surroundings: Surroundings) -> str:
    """One for each server of each workspace: a name alone proves nothing.

    What a server of a repository has left is not found by one of the user's own in its place.
    """
    theirs = "\0workspace" if entry.fingerprint else ""
    whose = f"{surroundings.workspace}\0{entry.name}{theirs}".encode()
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", entry.name)[:40]
    digest = hashlib.sha256(whose).hexdigest()[:16]
    return f"{name}-{digest}"
