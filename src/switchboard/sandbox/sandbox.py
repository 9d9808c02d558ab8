"""The one way into a sandbox, whichever the platform has."""

import os
import stat
from collections.abc import Callable, Mapping
from functools import cache
from typing import Protocol

from msgspec.structs import replace

from switchboard.core.faults import Fault
from switchboard.core.network.egress import EgressHost
from switchboard.procs.outlet import Outlet
from switchboard.procs.spawn import SpawnSpec, Wrap
from switchboard.procs.wrapped import Wrapped
from switchboard.sandbox.bubblewrap import wrapped_in_bubblewrap
from switchboard.sandbox.denial import beyond_limits, denial
from switchboard.sandbox.groups.control_groups import ChildGroup, ControlGroups
from switchboard.sandbox.landlock.probe import Landlock, LandlockProbe
from switchboard.sandbox.landlock.wrapped import NO_PROCESSES, wrapped_in_landlock
from switchboard.sandbox.limits import Limits, most_processes
from switchboard.sandbox.policy import Fallback, Profile, SandboxPolicy
from switchboard.sandbox.probe import Bubblewrap, Probe, Unusable
from switchboard.sandbox.seatbelt import look_at_seatbelt, wrapped_in_seatbelt
from switchboard.sandbox.walls.guarded_names import PROTECTED
from switchkit.commands import resolved_command
from switchkit.platform import light
from switchkit.platform.paths import true_path

_MAC = "Darwin"
_CHOICE = (
    'or choose a weaker sandbox with `sandbox_fallback = "landlock"` in the `config.toml` of your '
    "home"
)


class Confined(Protocol):
    """What a server, or a command tool, says of its sandbox."""

    @property
    def sandbox_profile(self) -> Profile: ...
    @property
    def sandbox_fallback(self) -> Fallback: ...
    @property
    def egress(self) -> tuple[EgressHost, ...]: ...
    @property
    def limits(self) -> Limits | None: ...


class Sandbox:
    """Puts programs into sandboxes. Where none works it refuses; it never runs one without."""

    def __init__(
        self,
        probe: Probe | None = None,
        *,
        system: str = "",
        landlock: LandlockProbe | None = None,
        groups: ControlGroups | None = None,
        seatbelt: str | Unusable | None = None,
    ) -> None:
        self._probe = probe or Probe()
        self._landlock = landlock or LandlockProbe()
        self._groups = groups or ControlGroups()
        self._system = system or light.system_name()
        self._seatbelt = seatbelt

    def look(self, fallback: Fallback = "none") -> str | Unusable:
        """The name of the sandbox that works here. Tries it once, which blocks for a moment."""
        if self._system == _MAC:
            if self._seatbelt is None:
                # Inside another sandbox it is there, and refuses to set up a second one.
                self._seatbelt = look_at_seatbelt() or "seatbelt"
            return self._seatbelt
        match self._found(fallback):
            case Bubblewrap(version=version):
                return f"bubblewrap {version}"
            case Landlock() as landlock:
                return landlock.words
            case unusable:
                return unusable

    def describe(self, fallback: Fallback = "none") -> str:
        """The sandbox that works here in words, or why there is none."""
        found = self.look(fallback)
        return f"none: {found.why}" if isinstance(found, Unusable) else found

    def weaker(self, profile: Profile, fallback: Fallback) -> str:
        """The name of the weaker sandbox that serves here for a profile; empty if none does."""
        if profile != "default" or fallback == "none" or self._system == _MAC:
            return ""
        found = self._found(fallback)
        return found.words if isinstance(found, Landlock) else ""

    def _found(self, fallback: Fallback) -> Bubblewrap | Landlock | Unusable:
        found = self._probe.look()
        if isinstance(found, Bubblewrap) or fallback == "none":
            return found
        landlock = self._landlock.look()
        if isinstance(landlock, Unusable):
            why = f"{found.why}; nor does the fallback work: {landlock.why}"
            landlock = Unusable(why=why, fix=f"{found.fix}; for the fallback: {landlock.fix}")
        return landlock

    def refusal(self, profile: Profile, fallback: Fallback = "none") -> Unusable | None:
        """Why nothing can run under a profile here, or None. What cannot run is not shown."""
        if profile == "none":
            return None
        if profile == "seatbelt" and self._system != _MAC:
            return _ONLY_ON_MAC
        found = self.look(fallback)
        return found if isinstance(found, Unusable) else None

    def refusal_of(self, entry: Confined) -> Unusable | None:
        """Why this one cannot run here, or None. Names what the user may choose instead."""
        refusal = self.refusal(entry.sandbox_profile, entry.sandbox_fallback)
        if refusal is not None:
            return refusal if refusal is _ONLY_ON_MAC else self._with_choice(refusal, entry)
        if not self.weaker(entry.sandbox_profile, entry.sandbox_fallback):
            return None
        if entry.egress:
            return NO_OUTLET
        return NO_PROCESSES if most_processes(entry.limits or {}) is not None else None

    def _with_choice(self, refusal: Unusable, entry: Confined) -> Unusable:
        is_choice = entry.sandbox_fallback == "none" and self._system != _MAC
        if not is_choice or not isinstance(self._landlock.look(), Landlock):
            return refusal
        return Unusable(why=refusal.why, fix=f"{refusal.fix}; {_CHOICE}")

    def wrap(
        self,
        argv: tuple[str, ...],
        policy: SandboxPolicy,
        env: Mapping[str, str],
        outlet: Outlet | None = None,
    ) -> Wrapped:
        """How to start a program inside. Looks at files, so it belongs into a thread.

        Raises a fault when there is no sandbox that works, or when the policy asks for what
        is never opened; OSError when there is no such command.
        """
        is_mac = self._system == _MAC
        if outlet is not None and (policy.profile == "none" or is_mac != (outlet.handover is None)):
            raise NO_OUTLET.fault()
        if policy.features and self._system == _MAC:
            raise NO_FEATURES.fault()
        if policy.profile == "none":
            return Wrapped(argv=argv, env=env, cwd=policy.cwd)
        if (refusal := self.refusal(policy.profile, policy.fallback)) is not None:
            raise refusal.fault()
        if self._system == _MAC:
            wrapped = wrapped_in_seatbelt(argv, policy, env, outlet)
            return _explained(wrapped, policy, outlet, by_seatbelt=True)
        found = self._found(policy.fallback)
        # It may have gone since.
        if isinstance(found, Unusable):
            raise found.fault()
        if isinstance(found, Landlock):
            if outlet is not None:
                raise NO_OUTLET.fault()
            if policy.features:
                raise NO_FEATURES.fault()
            group = self._groups.group(policy.limits)
            return _explained(wrapped_in_landlock(argv, policy, env, found), policy, group=group)
        group = self._groups.group(policy.limits)
        wrapped = wrapped_in_bubblewrap(argv, policy, env, found, outlet)
        return _explained(wrapped, policy, outlet, group)

    def around(self, policy: SandboxPolicy, *, cwd: str = "", path: str = "") -> Wrap:
        """What a spec takes: `SpawnSpec(…, wrap=sandbox.around(policy))`.

        With a search path the command is looked for by it, from `cwd`.
        """

        def wrap(spec: SpawnSpec) -> Wrapped:
            command, *items = spec.argv
            if path:
                command = resolved_command(command, cwd=cwd, path=path)
            return self.wrap((command, *items), policy, spec.env, spec.outlet)

        return wrap


def _explained(
    wrapped: Wrapped,
    policy: SandboxPolicy,
    outlet: Outlet | None = None,
    group: ChildGroup | None = None,
    *,
    by_seatbelt: bool = False,
) -> Wrapped:
    def explain(status: int, said: str) -> Fault | None:
        if group is not None and status and group.is_short_of_memory:
            return beyond_limits(status, said)
        if outlet is not None and status and (refused := outlet.refused()) is not None:
            return refused
        return denial(status, said, policy, by_seatbelt=by_seatbelt)

    appeared = None if policy.only_reads else _appearing_in(policy.cwd)
    return replace(wrapped, explain=explain, appeared=appeared, group=group)


@cache
def platform_sandbox() -> Sandbox:
    """The one of this process: what was tried once need not be tried by everybody."""
    return Sandbox()


_ONLY_ON_MAC = Unusable(
    why="`seatbelt` is the sandbox of macOS",
    fix='write `sandbox_profile = "default"`, which is the sandbox of each platform',
)
NO_OUTLET = Unusable(
    why="`egress` needs the sandbox of Linux, bubblewrap, or that of macOS: no other one holds a "
    "program to one way out",
    fix="remove `egress`, or run it where bubblewrap works",
)
NO_FEATURES = Unusable(
    why="`sandbox_features` needs the sandbox of Linux, bubblewrap: only that keeps Unix sockets "
    "of its own apart from those of the machine",
    fix="remove `sandbox_features`, or run it where bubblewrap works",
)


def _appearing_in(folder: str) -> Callable[[], tuple[str, ...]]:
    """Notes which protected files are missing now. What is returned names those that have come.

    What does not exist cannot be made read-only without leaving a trace on the host, so such a
    file can be made inside. That it was is told once the program has ended.
    """
    real = true_path(folder)

    def is_there(name: str) -> bool:
        # A link cannot be mounted over, so that it can become a file.
        try:
            return not stat.S_ISLNK(os.lstat(f"{real}/{name}").st_mode)
        except OSError:
            return False

    missing = [name for name in PROTECTED if not is_there(name)]
    return lambda: tuple(filter(is_there, missing))
