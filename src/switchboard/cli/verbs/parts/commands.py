"""Command tools as people read them."""

import shlex
from collections.abc import Mapping

from msgspec import Struct

from switchboard.cli.render import shown_origin
from switchboard.cli.verbs.parts.servers import Trust
from switchboard.core.origins import Origin
from switchboard.providers.commands.schema import CommandEntry
from switchboard.settings.sections import Settings
from switchkit.cli.columns import visible


class ListedCommand(Struct, frozen=True, kw_only=True):
    """One configured command tool."""

    name: str
    trust: Trust
    origin: str
    runs: str = ""
    description: str = ""
    sandbox: str = ""
    # Why it cannot be used although it is configured, and what to do about it.
    left_out: str = ""
    hint: str = ""


def listed_commands(
    settings: Settings, refusals: Mapping[str, tuple[str, str]] = {}
) -> tuple[ListedCommand, ...]:
    """Every command tool of the settings, with those that wait for trust and those left out."""
    shown = [
        _listed(entry, settings, waits=name in settings.untrusted_commands, refusals=refusals)
        for name, entry in {**settings.commands, **settings.untrusted_commands}.items()
    ]
    shown += [
        ListedCommand(
            name=each.name,
            trust="own",
            origin=_place(each.origin, settings),
            left_out=each.reason,
            hint=each.hint,
        )
        for each in settings.omitted_commands
    ]
    return tuple(sorted(shown, key=lambda command: command.name))


def sandbox_of(entry: CommandEntry) -> str:
    """The sandbox of a command tool and what it opens."""
    keeps_folder = entry.is_to_only_read and entry.sandbox_profile != "none"
    opened = [
        "NONE" if entry.sandbox_profile == "none" else entry.sandbox_profile,
        *(("its folder read-only",) if keeps_folder else ()),
        *(("network",) if entry.allow_network else ()),
        *(f"reads {each}" for each in entry.read_roots),
        *(f"writes {each}" for each in entry.writable_roots),
        *(("reads .env files",) if entry.read_env_files else ()),
    ]
    return visible(", ".join(opened))


def _listed(
    entry: CommandEntry,
    settings: Settings,
    *,
    waits: bool,
    refusals: Mapping[str, tuple[str, str]],
) -> ListedCommand:
    why, fix = refusals.get(entry.name, ("", ""))
    return ListedCommand(
        name=entry.name,
        trust="waiting" if waits else "trusted" if entry.fingerprint else "own",
        origin=_place(entry.origin, settings),
        runs=shlex.join((entry.command, *entry.args)),
        description=entry.description,
        sandbox=sandbox_of(entry),
        left_out=why,
        hint=fix,
    )


def _place(origin: Origin, settings: Settings) -> str:
    return shown_origin(str(origin.scope), origin.path, origin.line, settings.workspace)
