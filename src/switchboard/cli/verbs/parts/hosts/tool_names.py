"""Names of tools that a host of this machine cannot take as they are."""

import json
from collections.abc import Iterator

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.hosts.plan import every_host, host_roots
from switchboard.config.locate import Places
from switchboard.core.catalog.names import tool_name
from switchboard.daemon.desk.listed_names import ListedName, listed_names
from switchboard.hosts.change import OUR_NAME
from switchboard.hosts.host import Host
from switchboard.providers.source import Finding
from switchboard.settings.sections import Settings
from switchkit.cli.columns import visible

# What is left for a name of somebody's choice beside the words around it.
_SHORT = 20


def unfit_names(request: CommandRequest, places: Places, settings: Settings) -> Iterator[Finding]:
    """One for each name and each host that has us: names of servers and tools are never changed."""
    names = [*listed_names(settings, request.environ)]
    for each in every_host(host_roots(request, places)):
        if any(server.name == OUR_NAME for file in each.files for server in file.servers):
            unfit = (name for name in names if not each.host.takes_tool(name.name))
            yield from (_finding(each.host, name) for name in unfit)


def _finding(host: Host, listed: ListedName) -> Finding:
    short = tool_name(listed.server)[:_SHORT].replace("-", "_").strip("_")
    change = {"suiteName": f"{short}_suite"} if listed.is_suite else {"expose": "suite"}
    said = json.dumps({listed.server: change})
    return Finding(
        severity="note",
        subject=host.title,
        message=f"it leaves out or renames `{visible(listed.name)}`: {host.tool_rule}",
        hint=f'in switchboard.config.json of your home: {{"suites": {said}}}',
    )
