"""The configuration as one person sees it: never more than that of everybody."""

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec.structs import replace

from switchboard.approvals.lasting.allowed_names import AllowedName
from switchboard.children.exposure import SuiteSettings
from switchboard.children.schema import ServerEntry
from switchboard.core.catalog.visibility import fits
from switchboard.core.people import EVERYBODY, Person
from switchboard.people.options import GroupRule
from switchboard.settings.sections import Settings

# From the loosest on.
_CHANNELS: tuple[Literal["any", "console", "none"], ...] = ("any", "console", "none")
_EVERYTHING = SuiteSettings()


def settings_for(settings: Settings, person: Person | None) -> Settings:
    """The settings with what the groups of a person leave of them.

    What one group allows is allowed, what one denies is denied. As soon as any group says what it
    allows, whoever is in none that does is allowed nothing.
    """
    people = settings.people
    rules = [*people.rules_of(person or EVERYBODY)]
    every = people.groups.values()
    allow = _allowed([rule.allow for rule in every], [rule.allow for rule in rules])
    tools = replace(
        settings.tools,
        allow=_both(settings.tools.allow, allow),
        deny=(*settings.tools.deny, *(name for rule in rules for name in rule.deny)),
    )
    settings = _with_servers(replace(settings, tools=tools), rules)
    if person is not None and person.key:
        settings = replace(
            settings, servers=tuple(_own(entry, person) for entry in settings.servers)
        )
    return replace(settings, approval_channel=_channel(settings, rules))


def _own(entry: ServerEntry, person: Person) -> ServerEntry:
    """A server as it is started for one person, where each has their own."""
    if not entry.per_person:
        return entry
    return replace(entry, person=person.key, person_subject=person.subject)


def _with_servers(settings: Settings, rules: Sequence[GroupRule]) -> Settings:
    shown = _allowed(
        [rule.server_tools for rule in settings.people.groups.values()],
        [rule.server_tools for rule in rules],
    )
    allow = None if shown is None else tuple(map(AllowedName.of, shown))
    deny = tuple(AllowedName.of(each) for rule in rules for each in rule.hidden_server_tools)
    if allow is None and not deny:
        return settings
    suites = dict(settings.suites)
    servers: list[ServerEntry] = []
    for entry in settings.servers:
        suite = suites.get(entry.name, _EVERYTHING)
        of_entry = None if allow is None else _tools_of(entry.name, allow)
        hidden = _tools_of(entry.name, deny)
        if of_entry == () or "*" in hidden:
            # Not even its name is told.
            continue
        is_whole = of_entry is None or "*" in of_entry
        # Whoever may use some of its tools alone is not given what it has beside them.
        servers.append(entry if is_whole else replace(entry, relay=False))
        suites[entry.name] = replace(
            suite, allow=_both(suite.allow, of_entry), deny=(*suite.deny, *hidden)
        )
    return replace(settings, servers=tuple(servers), suites=suites)


def _tools_of(server: str, names: Iterable[AllowedName]) -> tuple[str, ...]:
    return tuple(name.tool for name in names if name.is_server(server))


def _allowed(
    every: Sequence[tuple[str, ...] | None], own: Sequence[tuple[str, ...] | None]
) -> tuple[str, ...] | None:
    """What the lists of a person allow together; everything where no list is there at all."""
    if all(each is None for each in every):
        return None
    return tuple(dict.fromkeys(name for each in own if each is not None for name in each))


def _both(below: tuple[str, ...] | None, above: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """What two lists of patterns allow. Of two that cross each other neither is taken."""
    if below is None or above is None:
        return below if above is None else above
    narrow = [name for name in above if any(fits(name, wide) for wide in below)]
    narrow += [name for name in below if any(fits(name, wide) for wide in above)]
    return tuple(dict.fromkeys(narrow))


def _channel(settings: Settings, rules: Sequence[GroupRule]) -> Literal["any", "console", "none"]:
    said = [rule.approval_channel for rule in rules if rule.approval_channel is not None]
    loosest = min(map(_CHANNELS.index, said), default=0)
    return _CHANNELS[max(loosest, _CHANNELS.index(settings.approval_channel))]
