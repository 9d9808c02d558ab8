"""`switchboard import`: take the servers of hosts over, and leave the hosts as they are."""

from collections.abc import Iterable

from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.home_check import check_home
from switchboard.cli.verbs.parts.hosts.carrying_out import OPTIONS, carry_out
from switchboard.cli.verbs.parts.hosts.naming import all_host_ids, host_ids
from switchboard.cli.verbs.parts.hosts.plan import make_plan
from switchboard.cli.verbs.parts.hosts.reports import ImportReport
from switchkit.cli.usage import Usage, Word

USAGE = Usage(
    verb="import",
    summary="Take the MCP servers of your hosts over, and leave the hosts as they are.",
    words=(Word(name="HOST", about="only of these hosts", optional=True, many=True, is_name=True),),
    options=OPTIONS,
    details=(
        "Writes the servers into your home, and their secrets into the vault. The hosts go on to "
        "start their own until `switchboard install HOST` or `switchboard setup`."
    ),
    examples=("switchboard import --dry-run", "switchboard import codex"),
)


def run(request: CommandRequest) -> Report:
    check_home(request)
    only = host_ids(request.arguments.words)
    plan = make_plan(request, only=only, imports=True, enters=False)
    return carry_out(request, plan, ImportReport)


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    del request
    return all_host_ids()
