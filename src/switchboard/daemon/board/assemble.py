"""The composition root, first half: settings become a catalog, which is all that a listing needs.

The second half, `daemon.board.engine`, is loaded when the first call comes, or when the first
listing has been answered: a client that waits for its tools does not wait for what runs them.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from switchboard.children.schema import ServerEntry
from switchboard.core.catalog.catalog import Catalog
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.catalog.visibility import Visibility
from switchboard.providers.source import Listed, ListingContext
from switchboard.providers.table import configured, is_reserved
from switchboard.settings.sections import Omission, Settings


class Assembly(Struct, frozen=True):
    """What clients see of these settings, and what was left out of it."""

    catalog: Catalog
    omissions: tuple[str, ...]
    # What each provider listed; those that listed nothing are not among them.
    listed: Mapping[str, Listed]
    # The servers that can run here, as they were judged for this listing.
    servers: tuple[ServerEntry, ...]
    # Those that cannot, with the reason.
    left_out: dict[str, str]


def assemble(settings: Settings, environ: Mapping[str, str]) -> Assembly:
    """The catalog of these settings. Starts nothing."""
    visibility = Visibility(settings.tools.allow, settings.tools.deny)
    refusals = sandbox_refusals(settings)
    servers = tuple(
        with_weaker_sandbox(entry) for entry in settings.servers if entry.name not in refusals
    )
    listing = ListingContext(settings, environ, servers)
    sources = list(configured(settings))
    listed = {source.key: source.specs(listing) for source in sources}
    specs: Sequence[ToolSpec] = [spec for each in listed.values() for spec in each.specs]
    reserved = [spec for spec in specs if is_reserved(spec.name, spec.provider)]
    usable = Catalog(spec for spec in specs if visibility.shows(spec.name) and spec not in reserved)
    # Who arranges tells of others, and must not know what nobody may see.
    specs = tuple(usable.tools.values())
    for source in sources:
        specs = source.arrange(specs, settings)
    catalog = Catalog(specs)
    omissions = [str(clash) for clash in usable.clashes]
    omissions += [f"the name `{spec.name}` is reserved ({spec.origin})" for spec in reserved]
    for refused in (refusals, *(each.refusals for each in listed.values())):
        omissions += [f"`{name}` is left out: {why}" for name, (why, _) in refused.items()]
    listed = {key: each for key, each in listed.items() if each.specs or each.offers}
    left_out = {name: why for name, (why, _) in refusals.items()}
    left_out |= {each.entry.name: each.reason for each in settings.omitted}
    return Assembly(catalog, tuple(omissions), listed, servers, left_out)


def with_weaker_sandbox(entry: ServerEntry) -> ServerEntry:
    """A server that says of itself by what it is confined here, where that is not the usual."""
    if entry.sandbox_profile == "none" or entry.sandbox_fallback == "none":
        return entry
    from switchboard.sandbox.sandbox import platform_sandbox  # noqa: PLC0415 - few are confined

    weaker = platform_sandbox().weaker(entry.sandbox_profile, entry.sandbox_fallback)
    return replace(entry, weaker_sandbox=weaker)


def sandbox_refusals(settings: Settings) -> dict[str, tuple[str, str]]:
    """The servers that want a sandbox which does not work here: why, and what to do about it."""
    wanted = [entry for entry in settings.servers if entry.sandbox_profile != "none"]
    if not wanted:
        return {}
    from switchboard.sandbox.sandbox import platform_sandbox  # noqa: PLC0415 - few are confined

    sandbox = platform_sandbox()
    refusals = ((entry, sandbox.refusal_of(entry)) for entry in wanted)
    return {
        entry.name: (f"sandbox unavailable: {refusal.why}", refusal.fix)
        for entry, refusal in refusals
        if refusal is not None
    }


def usable_here(settings: Settings) -> Settings:
    """The settings with those servers left out that cannot run on this machine.

    Whoever says of a server that it cannot be used says it by these: `list`, `doctor`, `status`,
    and calls that name it.
    """
    refusals = sandbox_refusals(settings)
    if not refusals:
        return settings
    left_out = (
        Omission(entry=entry, reason=refusals[entry.name][0], hint=refusals[entry.name][1])
        for entry in settings.servers
        if entry.name in refusals
    )
    return replace(
        settings,
        servers=tuple(entry for entry in settings.servers if entry.name not in refusals),
        omitted=(*settings.omitted, *left_out),
    )
