"""The one way into a sandbox, whichever the platform has."""

import os
from collections.abc import Mapping
from functools import cache

from msgspec.structs import replace

from switchboard.core.faults import Fault
from switchboard.procs.spawn import SpawnSpec, Wrap
from switchboard.procs.wrapped import Wrapped
from switchboard.sandbox.appearing import appearing_in
from switchboard.sandbox.bubblewrap import wrapped_in_bubblewrap
from switchboard.sandbox.confinement import Confinement, Profile
from switchboard.sandbox.denial import denial
from switchboard.sandbox.probe import Bubblewrap, Probe, Unusable
from switchboard.sandbox.seatbelt import PROGRAM, wrapped_in_seatbelt

_MAC = "Darwin"


class Sandbox:
    """Puts programs into sandboxes. Where none works it refuses; it never runs one without."""

    def __init__(self, probe: Probe | None = None, *, system: str = "") -> None:
        self._probe = probe or Probe()
        self._system = system or os.uname().sysname

    def look(self) -> str | Unusable:
        """The name of the sandbox that works here. Tries it once, which blocks for a moment."""
        if self._system == _MAC:
            return "seatbelt" if os.access(PROGRAM, os.X_OK) else _NO_SEATBELT
        found = self._probe.look()
        return found if isinstance(found, Unusable) else f"bubblewrap {found.version}"

    def refusal(self, profile: Profile) -> Unusable | None:
        """Why nothing can run under a profile here, or None. What cannot run is not shown."""
        if profile == "none":
            return None
        if profile == "seatbelt" and self._system != _MAC:
            return _ONLY_ON_MAC
        found = self.look()
        return found if isinstance(found, Unusable) else None

    def wrap(
        self, argv: tuple[str, ...], confinement: Confinement, env: Mapping[str, str]
    ) -> Wrapped:
        """How to start a program inside. Looks at files, so it belongs into a thread.

        Raises a fault when there is no sandbox that works, or when the confinement asks for what
        is never opened; OSError when there is no such command.
        """
        if confinement.profile == "none":
            return Wrapped(argv=argv, env=env, cwd=confinement.cwd)
        if (refusal := self.refusal(confinement.profile)) is not None:
            raise refusal.fault()
        if self._system == _MAC:
            return _explained(wrapped_in_seatbelt(argv, confinement, env), confinement)
        found = self._probe.look()
        # It may have gone since.
        if not isinstance(found, Bubblewrap):
            raise found.fault()
        return _explained(wrapped_in_bubblewrap(argv, confinement, env, found), confinement)

    def around(self, confinement: Confinement) -> Wrap:
        """What a spec takes: `SpawnSpec(…, wrap=sandbox.around(confinement))`."""

        def wrap(spec: SpawnSpec) -> Wrapped:
            return self.wrap(spec.argv, confinement, spec.env)

        return wrap


def _explained(wrapped: Wrapped, confinement: Confinement) -> Wrapped:
    def explain(status: int, said: str) -> Fault | None:
        return denial(status, said, confinement)

    appeared = None if confinement.only_reads else appearing_in(confinement.cwd)
    return replace(wrapped, explain=explain, appeared=appeared)


@cache
def platform_sandbox() -> Sandbox:
    """The one of this process: what was tried once need not be tried by everybody."""
    return Sandbox()


_ONLY_ON_MAC = Unusable(
    why="`seatbelt` is the sandbox of macOS",
    fix='write `sandbox_profile = "default"`, which is the sandbox of each platform',
)
_NO_SEATBELT = Unusable(
    why=f"`{PROGRAM}` is missing", fix="it is a part of macOS: update the system"
)
