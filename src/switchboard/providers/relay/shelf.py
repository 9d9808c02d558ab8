"""What several children offer, put side by side: who has what, and under which name it is shown."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.json import encode

from switchboard.children.listings.listing import Kind, Listing
from switchboard.core.names import tool_name
from switchboard.providers.relay.addresses import is_ours, prefixed
from switchboard.providers.relay.offering import Offering

_KEYS: dict[Kind, str] = {"prompts": "name", "resources": "uri", "templates": "uriTemplate"}

_read_members = msgspec.json.Decoder(dict[str, Any]).decode

Found = tuple[Offering, Listing]


class Place(Struct, frozen=True, eq=False):
    """Where something that a client names is found."""

    offering: Offering
    # What the child itself calls it.
    own: str


class Shelf(Struct, frozen=True, eq=False):
    """One kind of thing: how it is listed, and where each is found by the name that is shown."""

    entries: tuple[Raw, ...]
    places: dict[str, Place]


def put_together(kind: Kind, found: Sequence[Found]) -> Shelf:
    """Names and URIs are kept when one child alone has them, and prefixed when not."""
    holders: dict[str, int] = {}
    for _, listing in found:
        for key in listing.entries:
            holders[key] = holders.get(key, 0) + 1
    rename = _rename_prompt if kind == "prompts" else prefixed
    # Nobody gets a name by listing it that another's is shown under.
    given = {rename(offering.name, own) for offering, own, _ in _each(found) if holders[own] > 1}
    entries: list[Raw] = []
    places: dict[str, Place] = {}
    for offering, own, raw in _each(found):
        # A URI of our own scheme would lead to the child that it names, whoever lists it.
        is_kept = holders[own] == 1 and own not in given and (kind == "prompts" or not is_ours(own))
        shown = own if is_kept else rename(offering.name, own)
        if shown in places:
            # Two prefixed names can still meet; the first stays what it was.
            continue
        places[shown] = Place(offering, own)
        entries.append(raw if shown == own else renamed(raw, _KEYS[kind], shown))
    return Shelf(tuple(entries), places)


def _each(found: Iterable[Found]) -> Iterable[tuple[Offering, str, Raw]]:
    for offering, listing in found:
        for own, raw in listing.entries.items():
            yield offering, own, raw


def renamed(raw: Raw, key: str, shown: str) -> Raw:
    """The entry with another name and nothing else changed."""
    return Raw(encode({**_read_members(raw), key: shown}))


def _rename_prompt(child: str, name: str) -> str:
    return tool_name(f"{child}_{name}")


class Shelves:
    """The last few shelves, so that a listing from memory costs no more than its answer."""

    _MOST = 64

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], tuple[tuple[Listing, ...], Any]] = {}

    def get(self, mark: int, found: Sequence[Found], make: Callable[[], Any]) -> Any:
        """What was made of exactly these listings, or what is made of them now."""
        listings = tuple(listing for _, listing in found)
        key = (mark, *map(id, listings))
        kept = self._kept.get(key)
        if kept is not None:
            return kept[1]
        made = make()
        if len(self._kept) >= self._MOST:
            self._kept.pop(next(iter(self._kept)))
        # The listings are kept too, so that no other can get their identity.
        self._kept[key] = (listings, made)
        return made
