"""Where the files of hosts are on this machine."""

import os
import re
from collections.abc import Mapping

from msgspec import Struct

from switchboard.hosts.host import ServersFile

_VARIABLE = re.compile(r"\{([A-Z_]{1,40})(?:\|([^{}]{0,80}))?\}")


def variables_of(file: ServersFile) -> set[str]:
    """The variables that lead a host to a file."""
    return {found[1] for each in (file.path, *file.instead) if (found := _VARIABLE.match(each))}


class HostRoots(Struct, frozen=True, kw_only=True):
    """What the paths of hosts begin with."""

    user_home: str
    project: str
    environ: Mapping[str, str]
    is_darwin: bool = False

    def path_of(self, file: ServersFile) -> str:
        """Where a file of a host would be."""
        written = file.darwin if self.is_darwin and file.darwin else file.path
        # A host that is told where its file is does not look elsewhere.
        told = (each for each in map(self._filled, file.instead) if each)
        return self._absolute(
            next(told, "") or self._filled(written), in_project=file.scope == "project"
        )

    def is_dead(self, file: ServersFile) -> bool:
        """Whether the host has left this file behind."""
        return bool(file.left_by) and os.path.lexists(self._absolute(file.left_by))

    def is_common(self, folder: str) -> bool:
        """Whether a folder is everybody's, so that it says nothing of a host."""
        config = self.environ.get("XDG_CONFIG_HOME", "")
        common = {self.user_home, self.project, f"{self.user_home}/.config", config}
        return os.path.normpath(folder) in {os.path.normpath(each) for each in common if each}

    def _filled(self, written: str) -> str:
        """The path with its variable; nothing if that is not set and nothing counts instead."""
        found = _VARIABLE.match(written)
        if found is None:
            return written
        named = self.environ.get(found[1], "")
        # A relative one means another folder for each process that reads it.
        start = named if os.path.isabs(named) else found[2]
        return start + written[found.end() :] if start is not None else ""

    def _absolute(self, written: str, *, in_project: bool = False) -> str:
        if written == "~" or written.startswith("~/"):
            return os.path.normpath(self.user_home + written[1:])
        base = self.project if in_project else self.user_home
        return os.path.normpath(os.path.join(base, written))
