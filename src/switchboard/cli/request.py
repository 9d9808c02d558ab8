"""What a verb is given."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from switchboard.cli.printer import Talk
from switchboard.cli.report import Report
from switchkit.cli.usage import Arguments


class Request(Struct, frozen=True, kw_only=True, eq=False):
    """The command line that was read, and the world that it was typed in."""

    arguments: Arguments
    environ: Mapping[str, str]
    talk: Talk
    # Prints a report before the verb is done, as a server that stays does.
    show: Callable[[Report], int]

    @property
    def workspace(self) -> str | None:
        return self.arguments.one("workspace")

    @property
    def config(self) -> str | None:
        return self.arguments.one("config")
