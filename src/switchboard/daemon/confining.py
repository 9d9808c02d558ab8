"""Confines the servers that ask for it. What that takes is loaded with the first of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from switchboard.children.schema import ServerEntry
from switchboard.procs.spawn import Wrap

if TYPE_CHECKING:
    from switchboard.daemon.enclosing import Enclosures


class Confining:
    """The sandboxes of the servers of one workspace and environment."""

    def __init__(self, environ: Mapping[str, str], workspace: str) -> None:
        self._environ = environ
        self._workspace = workspace
        self._enclosures: Enclosures | None = None

    def __call__(self, entry: ServerEntry) -> Wrap | None:
        if entry.sandbox_profile == "none":
            return None
        if self._enclosures is None:
            from switchboard.daemon.enclosing import Enclosures  # noqa: PLC0415 - few are confined
            from switchboard.sandbox.sandbox import platform_sandbox  # noqa: PLC0415 - as above

            self._enclosures = Enclosures(platform_sandbox(), self._environ, self._workspace)
        return self._enclosures(entry)
