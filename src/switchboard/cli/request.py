"""What a verb is given."""

from collections.abc import Mapping

from msgspec import Struct

from switchboard.cli.options import Arguments
from switchboard.cli.printer import Talk


class Request(Struct, frozen=True, kw_only=True, eq=False):
    """The command line that was read, and the world that it was typed in."""

    arguments: Arguments
    environ: Mapping[str, str]
    talk: Talk

    @property
    def workspace(self) -> str | None:
        return self.arguments.one("workspace")

    @property
    def config(self) -> str | None:
        return self.arguments.one("config")
