"""`switchboard revert`: put the files of all hosts back as they were."""

from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.home_check import check_home
from switchboard.cli.verbs.parts.hosts.carrying_out import OPTIONS
from switchboard.cli.verbs.parts.hosts.taking_back import take_back
from switchkit.cli.usage import Usage

USAGE = Usage(
    verb="revert",
    summary="Put the files of your hosts back as they were before `setup`.",
    options=OPTIONS,
    details=(
        "A file that is as we left it is put back byte for byte. Where its host, or you, have "
        "written into it since, only our entry is taken out, and the servers that moved are put "
        "back beside what is there now. Servers that were taken over leave your home again, "
        "unless you have changed them. Secrets stay in the vault."
    ),
    examples=("switchboard revert --dry-run", "switchboard revert"),
)


def run(request: CommandRequest) -> Report:
    check_home(request)
    return take_back(request)
