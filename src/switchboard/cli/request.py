"""What a verb is given."""

import os
from collections.abc import Callable, Mapping

from msgspec import Struct

from switchboard.cli.printer import Talk
from switchboard.cli.report import Report
from switchboard.ipc.lines import Line
from switchboard.shim.flags import wants_in_process
from switchkit.cli.usage import Arguments, UsageError


class CommandRequest(Struct, frozen=True, kw_only=True, eq=False):
    """The command line that was read, and the world that it was typed in."""

    arguments: Arguments
    environ: Mapping[str, str]
    talk: Talk
    # Prints a report before the verb is done, as a server that stays does.
    show: Callable[[Report], int]
    # Whether there was a home before: whoever makes one now comes from no earlier version.
    had_home: bool = True
    # Where the request of this command was made already: see `shim.quick_call`.
    asked: Line | None = None

    @property
    def workspace(self) -> str | None:
        return self.arguments.one("workspace")

    @property
    def is_pinned(self) -> bool:
        """Whether the workspace was named, which agents may not leave then."""
        return bool(self.workspace)

    @property
    def config(self) -> str | None:
        return self.arguments.one("config")

    @property
    def is_in_process(self) -> bool:
        """Whether the daemon is not wanted."""
        return self.arguments.has("in-process") or wants_in_process(dict(self.environ))

    def check_directory(self) -> None:
        """Raise `UsageError` when the directory that we are in, and mean, does not exist."""
        if self.workspace or self.environ.get("WORKSPACE_DIR"):
            return
        try:
            os.getcwd()
        except FileNotFoundError:
            raise UsageError(
                "the current directory does not exist any more", "name one with `--workspace DIR`"
            ) from None
