"""`switchboard install`: make Switchboard known to a host, beside what it has."""

from collections.abc import Iterable

from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.home_check import check_home
from switchboard.cli.verbs.parts.hosts.carrying_out import ENTERING, carry_out
from switchboard.cli.verbs.parts.hosts.naming import all_host_ids, host_ids
from switchboard.cli.verbs.parts.hosts.plan import make_plan, project_plan
from switchboard.cli.verbs.parts.hosts.reports import InstallReport
from switchkit.cli.usage import Option, Usage, Word

USAGE = Usage(
    verb="install",
    summary="Make Switchboard known to a host, beside the servers that it has.",
    words=(Word(name="HOST", about="the host, such as `codex`", many=True, is_name=True),),
    options=(
        *ENTERING,
        Option(name="project", about="in the file of this project, which its team shares"),
    ),
    details=(
        "Writes one entry into the file of the host, with the timeouts and permissions that let "
        "it work at its best, and shows the difference first. `switchboard uninstall HOST` takes "
        "it out again."
    ),
    examples=(
        "switchboard install codex --dry-run",
        "switchboard install claude-code",
        "switchboard install vscode cursor --project",
    ),
)


def run(request: CommandRequest) -> Report:
    check_home(request)
    only = host_ids(request.arguments.words)
    if request.arguments.has("project"):
        plan = project_plan(request, only)
    else:
        plan = make_plan(request, only=only, imports=False, enters=True)
    return carry_out(request, plan, InstallReport)


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    del request
    return all_host_ids()
