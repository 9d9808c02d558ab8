"""The hosts of this machine, and their entries for Switchboard."""

import json
import os
import shlex
from collections.abc import Iterator

from msgspec import Struct

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.hosts.plan import every_host, host_roots, hosts_here, own_servers
from switchboard.config.itself import is_switchboard
from switchboard.config.locate import Places
from switchboard.config.problems import shown_path
from switchboard.hosts.change import OUR_NAME
from switchboard.hosts.rules import HostRule, rules_of
from switchboard.providers.source import Finding
from switchkit.cli.columns import visible

# What hosts write where a tool is not to be called.
_REFUSING = frozenset({"deny", "reject"})


class HostHere(Struct, frozen=True, kw_only=True):
    """A host of this machine, and whether it has an entry for Switchboard."""

    id: str
    title: str
    has_us: bool


def known_hosts(request: CommandRequest, places: Places) -> Iterator[HostHere]:
    """The hosts of this machine."""
    for each in hosts_here(every_host(host_roots(request, places)), request):
        servers = (server for file in each.files for server in file.servers)
        yield HostHere(
            id=each.host.id,
            title=each.host.title,
            has_us=any(server.name == OUR_NAME for server in servers),
        )


def idle_rules(request: CommandRequest, places: Places) -> Iterator[Finding]:
    """Rules of hosts about servers that they reach through us, where none of them applies."""
    roots = host_roots(request, places)
    ours = own_servers(places)
    for host in every_host(roots):
        there = {server.name for file in host.files for server in file.servers}
        if OUR_NAME not in there:
            continue
        for rule in rules_of(host.host, roots, host.own_file.path):
            for server in sorted(ours.keys() - there):
                if (tool := rule.tool_of(server, host.host.grants)) is not None:
                    yield _idle(host.host.title, server, tool, rule, places)


def _idle(title: str, server: str, tool: str, rule: HostRule, places: Places) -> Finding:
    path = shown_path(rule.path, workspace=places.workspace, user_home=places.user_home)
    is_denied = rule.effect in _REFUSING
    return Finding(
        # What was refused is not refused any more.
        severity="warning" if is_denied else "note",
        subject=title if is_denied else "rule",
        message=f"`{visible(rule.text)}` of {path} ({visible(rule.effect)}) has no effect: "
        f"{title} reaches `{server}` through Switchboard",
        hint=_hiding(server, tool)
        if is_denied
        else "see which tools ask: switchboard approvals rules --tools",
    )


def _hiding(server: str, tool: str) -> str:
    """What keeps a tool from everybody, as the rule of the host did."""
    if tool == "*":
        return shlex.join(("switchboard", "disable", server))
    exposed = json.dumps({server: {"expose": {"deny": [tool]}}})
    return f'in switchboard.config.json of your home: {{"suites": {exposed}}}'


def dead_entries(request: CommandRequest, places: Places) -> Iterator[Finding]:
    """Entries of ours that start a Switchboard which is not there any more."""
    for host in every_host(host_roots(request, places)):
        for file in host.files:
            for server in file.servers:
                command = str(server.fields.get("command") or "")
                if not is_switchboard(server.name, command) or not os.path.isabs(command):
                    continue
                if not os.path.exists(command):
                    yield Finding(
                        severity="error",
                        subject=host.host.title,
                        message=f"it starts `{visible(command)}`, which is not there",
                        hint=f"switchboard install {host.host.id}",
                    )
