"""What is known of a command tool before anybody calls it."""

import shlex

from switchboard.core.launches import Launch
from switchboard.core.tools import ToolSpec
from switchboard.providers.commands.schema import CommandEntry


def standing_launch(entry: CommandEntry, tool: ToolSpec) -> Launch:
    """What is known of every call of a tool, for whoever judges it before there is one."""
    return Launch(
        tool=tool,
        server=entry.name,
        fingerprint=entry.fingerprint,
        runs=runs_of(entry),
        cwd=entry.cwd,
        is_foreign=False,
        sandbox=entry.sandbox_profile,
        network=has_network(entry),
        opened_roots=entry.writable_roots,
        side_effects=entry.side_effects,
        requires_approval=entry.requires_approval,
        required_by=entry.required_by,
    )


def runs_of(entry: CommandEntry) -> str:
    """The command line as it is written: places for arguments and secrets are not filled."""
    return shlex.join((entry.command, *entry.args))


def has_network(entry: CommandEntry) -> bool:
    """Whether nothing keeps it from the network."""
    return entry.allow_network or entry.sandbox_profile == "none"
