"""`switchboard setup`: from servers scattered over hosts to one gate, and back with `revert`."""

from collections.abc import Iterable

from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.home_check import check_home
from switchboard.cli.verbs.parts.hosts.carrying_out import ENTERING, carry_out
from switchboard.cli.verbs.parts.hosts.naming import all_host_ids, host_ids
from switchboard.cli.verbs.parts.hosts.plan import make_plan
from switchkit.cli.usage import Usage, Word

USAGE = Usage(
    verb="setup",
    summary="Move the MCP servers of your hosts behind Switchboard.",
    words=(
        Word(
            name="HOST",
            about="only these hosts; otherwise all that are found here",
            optional=True,
            many=True,
            is_name=True,
        ),
    ),
    options=ENTERING,
    details=(
        "Finds the hosts of this machine and every server in their files, takes the servers over "
        "into your home, puts their secrets into the vault, and writes one entry for Switchboard "
        "into each host in their place. Each file is shown as a difference first, and changed "
        "only after a yes. What is taken from where is written down: `switchboard revert` puts "
        "everything back, byte for byte where a file is as it was left. "
        "Files of a project, such as a shared .mcp.json, are never changed."
    ),
    examples=(
        "switchboard setup --dry-run",
        "switchboard setup",
        "switchboard setup codex claude-code --yes",
    ),
)


def run(request: CommandRequest) -> Report:
    check_home(request)
    only = host_ids(request.arguments.words)
    return carry_out(request, make_plan(request, only=only, imports=True, enters=True))


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    del request
    return all_host_ids()
