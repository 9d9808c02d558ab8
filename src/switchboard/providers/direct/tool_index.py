"""What servers list, as offers, and the way from a tool back to its server."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct
from msgspec.json import encode

from switchboard.children.listings.host_rules import HostJudgement, judged
from switchboard.children.listings.listing import Listing, ToolEntry, ToolListing
from switchboard.core.catalog.names import fold, marked_name, tool_name
from switchboard.core.catalog.offers import Offer
from switchboard.core.catalog.tools import Effects, Policy, ToolSpec
from switchboard.core.catalog.visibility import Visibility
from switchboard.providers.direct.exposure import DirectExposure
from switchboard.results.inlining import MOST_LETTERS_KEY, letters_left

PROVIDER = "direct"
EVERYTHING = Visibility()

Found = tuple[DirectExposure, Listing]

_read_members = msgspec.json.Decoder(dict[str, Any]).decode


class ToolPlace(Struct, frozen=True, eq=False):
    """Where a tool runs."""

    exposure: DirectExposure
    # What the server itself calls it.
    own: str


class ToolIndex(Struct, frozen=True, eq=False):
    """The offers of some listings, and where each tool of them runs."""

    offers: tuple[Offer, ...]
    places: dict[ToolSpec, ToolPlace] = {}
    # Tools by a name that only one of them has.
    tools: dict[str, ToolSpec] = {}


def index_tools(
    found: Sequence[Found], visibility: Visibility = EVERYTHING, *, for_host: bool = False
) -> ToolIndex:
    """Every tool that its server shows; for a host, as its model may be shown it.

    A name that several servers have is nobody's: each has its tool with the server's name before
    it. What is denied by its plain name stays away, and stands in no other's way.
    """
    listed = [
        (exposure, entry, listing.entries[entry.name], plain)
        for exposure, listing in found
        for entry, plain in _plain_names(exposure, _shown(exposure, listing))
    ]
    listed = [each for each in listed if not _is_denied(visibility, each[3])]
    names = _names_apart([(exposure.name, plain) for exposure, _, _, plain in listed])
    offers: list[Offer] = []
    places: dict[ToolSpec, ToolPlace] = {}
    for (exposure, entry, raw, _), shown in zip(listed, names, strict=True):
        spec = _spec(shown, exposure, entry, raw)
        offers.append(
            Offer(
                name=shown,
                provider=PROVIDER,
                owner=exposure.name,
                own=entry.name,
                entry=_as_shown(exposure, entry, raw, shown, for_host=for_host),
                spec=spec,
            )
        )
        places[spec] = ToolPlace(exposure, entry.name)
    holders = Counter(fold(offer.name) for offer in offers)
    tools = {spec.name: spec for spec in places if holders[fold(spec.name)] == 1}
    return ToolIndex(tuple(offers), places, tools)


def _plain_names(
    exposure: DirectExposure, entries: Iterable[ToolEntry]
) -> list[tuple[ToolEntry, str]]:
    """The tools of one server by names that no two of them have, in any case of their letters."""
    named = [(entry, tool_name(exposure.prefix + entry.name)) for entry in entries]
    times = Counter(fold(name) for _, name in named)
    return [
        (entry, name if times[fold(name)] == 1 else marked_name(name, entry.name))
        for entry, name in named
    ]


def _names_apart(listed: Sequence[tuple[str, str]]) -> list[str]:
    """The name that each tool is shown under, given its server and its plain name."""
    owners: dict[str, set[str]] = {}
    for server, plain in listed:
        owners.setdefault(fold(plain), set()).add(server)
    prefixed = [tool_name(f"{server}_{plain}") for server, plain in listed]
    shared = [len(owners[fold(plain)]) > 1 for _, plain in listed]
    # Nobody gets a name by listing it that another's tool is shown under.
    given = {fold(name) for name, is_shared in zip(prefixed, shared, strict=True) if is_shared}
    return [
        name if is_shared or fold(plain) in given else plain
        for (_, plain), name, is_shared in zip(listed, prefixed, shared, strict=True)
    ]


def _is_denied(visibility: Visibility, name: str) -> bool:
    return bool(visibility.deny) and not Visibility(None, visibility.deny).shows(name)


def index_contents(found: Sequence[Found]) -> ToolIndex:
    """Every prompt, resource or template."""
    return ToolIndex(
        tuple(
            Offer(name=own, provider=PROVIDER, owner=exposure.name, entry=raw)
            for exposure, listing in found
            for own, raw in listing.entries.items()
        )
    )


def unchecked(raw: Raw) -> None:
    """Nothing: the child checks the arguments of its own tools."""
    del raw


def _shown(exposure: DirectExposure, listing: Listing) -> Iterator[ToolEntry]:
    for name, entry in cast("ToolListing", listing).tools.items():
        if exposure.subtools.shows(name):
            yield entry


def _as_shown(
    exposure: DirectExposure, entry: ToolEntry, raw: Raw, shown: str, *, for_host: bool
) -> Raw | None:
    """The entry as clients are told it; nothing for one that a host would refuse.

    It would refuse every request with it. The tool is called by its name all the same.
    """
    schema = msgspec.json.decode(entry.input_schema)
    found = judged(schema) if for_host else HostJudgement(schema)
    if found.rule:
        return None
    if shown == entry.name and not exposure.inline_tokens and not found.is_mended:
        return raw
    members: dict[str, Any] = {**_read_members(raw), "name": shown}
    if found.is_mended:
        members["inputSchema"] = found.schema
    if exposure.inline_tokens:
        # A result of which a part is given has no structure, and a client that was told of one
        # would refuse it.
        members.pop("outputSchema", None)
        own = members.get("_meta")
        hint = {MOST_LETTERS_KEY: letters_left(exposure.inline_tokens)}
        members["_meta"] = {**hint, **own} if isinstance(own, dict) else hint
    return Raw(encode(members))


def _spec(shown: str, exposure: DirectExposure, entry: ToolEntry, raw: Raw) -> ToolSpec:
    limits = exposure.children.limits
    return ToolSpec(
        name=shown,
        provider=PROVIDER,
        title=entry.title or "",
        description=entry.description or "",
        input_schema=entry.input_schema,
        output_schema=entry.output_schema or None,
        effects=entry.annotations.effects if entry.annotations is not None else Effects(),
        policy=Policy(timeout_s=limits.rpc_s, longest_s=limits.longest_s),
        origin=exposure.origin,
        check=unchecked,
        listed=raw,
    )
