"""What several providers and servers offer, put side by side under names that tell them apart."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.json import encode
from msgspec.structs import replace

from switchboard.core.catalog.names import fold, tool_name
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.visibility import Visibility
from switchboard.directory.addresses import is_ours, prefixed

_KEYS: dict[Kind, str] = {"prompts": "name", "resources": "uri", "templates": "uriTemplate"}

# Whether a tool may not have a name, given that name and the key of its provider.
IsReserved = Callable[[str, str], bool]

_read_members = msgspec.json.Decoder(dict[str, Any]).decode


class MergedOffers(Struct, frozen=True, eq=False):
    """The things of one kind by the name that is shown, and the names that nobody could be given.

    `Offer.own` is what the provider is to be asked for.
    """

    offers: dict[str, Offer]
    clashes: tuple[str, ...] = ()


def merge_contents(kind: Kind, offers: Iterable[Offer]) -> MergedOffers:
    """Names and URIs are kept when one server alone has them, and prefixed when not.

    What a provider offers itself keeps its name, and a server's thing of that name is reached by
    the address that names the server.
    """
    own = {offer.name: offer for offer in offers if not offer.owner}
    theirs = [offer for offer in offers if offer.owner]
    holders: dict[str, int] = {}
    for offer in theirs:
        holders[offer.name] = holders.get(offer.name, 0) + 1
    rename = _rename_prompt if kind == "prompts" else prefixed
    # Nobody gets a name by listing it that another's is shown under.
    given = {rename(each.owner, each.name) for each in theirs if holders[each.name] > 1}
    merged = {name: replace(offer, own=name) for name, offer in own.items()}
    for offer in theirs:
        name = offer.name
        # A URI of our own scheme would lead to the server that it names, whoever lists it.
        is_kept = holders[name] == 1 and name not in given
        is_kept = is_kept and (kind == "prompts" or not is_ours(name))
        shown = name if is_kept else rename(offer.owner, name)
        # Two prefixed names can still meet; the first stays what it was.
        if shown not in merged:
            entry = offer.entry
            if shown != name and entry is not None:
                entry = renamed(entry, _KEYS[kind], shown)
            merged[shown] = replace(offer, name=shown, own=name, entry=entry)
    return MergedOffers(merged)


def merge_tools(
    offers: Sequence[Offer],
    visibility: Visibility,
    listed: Callable[[str], bool],
    is_reserved: IsReserved,
) -> MergedOffers:
    """One tool for each name. Two of one name are refused, and neither is shown.

    `listed` tells whether a folded name is already that of a tool of the catalog.
    """
    groups: dict[str, list[Offer]] = {}
    for offer in offers:
        if visibility.shows(offer.name):
            groups.setdefault(fold(offer.name), []).append(offer)
    merged: dict[str, Offer] = {}
    clashes: list[str] = []
    for folded, group in groups.items():
        first = group[0]
        if len(group) > 1 or listed(folded) or is_reserved(first.name, first.provider):
            sources = " and ".join(map(_source, group))
            clashes.append(f"the tool name `{first.name}` is taken more than once: {sources}")
            continue
        merged[first.name] = first
    return MergedOffers(merged, tuple(clashes))


def renamed(raw: Raw, key: str, shown: str) -> Raw:
    """The entry with another name and nothing else changed."""
    return Raw(encode({**_read_members(raw), key: shown}))


def _source(offer: Offer) -> str:
    origin = f" ({offer.spec.origin})" if offer.spec is not None else ""
    return f"`{offer.own or offer.name}` of `{offer.owner or offer.provider}`{origin}"


def _rename_prompt(owner: str, name: str) -> str:
    return tool_name(f"{owner}_{name}")
