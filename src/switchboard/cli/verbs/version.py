"""`switchboard version`, and `switchboard --version`."""

from collections.abc import Iterator

from switchboard import __version__
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchkit.cli.style import Style
from switchkit.cli.usage import Usage

USAGE = Usage(verb="version", summary="Print the version.")


class VersionReport(Report, frozen=True, kw_only=True, tag="switchboard.version/1"):
    """Which Switchboard this is."""

    version: str

    def lines(self, style: Style) -> Iterator[str]:
        del style
        yield f"switchboard {self.version}"


def run(request: CommandRequest) -> Report:
    del request
    return VersionReport(version=__version__)
