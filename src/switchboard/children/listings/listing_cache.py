"""What children offered last time, so that a client can be told without starting them.

One small file for each server, by everything that makes it that server. It is a hint and no more:
once the child runs its own word counts, and clients hear of what is different.
"""

import asyncio
import contextlib
import hashlib
import os

import msgspec
from msgspec import Raw

from switchboard.children.listings.listing import METHODS, Kind, Listing, listing_of
from switchboard.wire.messages import encode
from switchkit.files import make_folder, replace_file

# More than this is quicker asked for than read.
_MAX_BYTES = 4 * 1024 * 1024

_read = msgspec.json.Decoder(dict[str, list[Raw]]).decode


class ListingCaches:
    """The folder of the caches of every server."""

    def __init__(self, home: str) -> None:
        self._folder = os.path.join(home, "cache", "listings")

    def of(self, key: bytes) -> "ListingCache":
        """The cache of one server."""
        return ListingCache(self._folder, hashlib.sha256(key).hexdigest())


class ListingCache:
    """What one server offered. A cache that cannot be read or written counts as empty."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, f"{name}.json")
        self._listings: dict[Kind, Listing] | None = None
        self._writing = asyncio.Lock()

    async def recall(self, kind: Kind) -> Listing | None:
        """What it offered of a kind when somebody last asked."""
        return (await self._known()).get(kind)

    async def _known(self) -> dict[Kind, Listing]:
        if self._listings is None:
            found = await asyncio.to_thread(self._load)
            # Two may have asked for it, and the first has kept something since.
            if self._listings is None:
                self._listings = found
        return self._listings

    async def keep(self, kind: Kind, listing: Listing) -> None:
        """Keep what it offers now."""
        listings = await self._known()
        before = listings.get(kind)
        listings[kind] = listing
        if before is not None and before.entries == listing.entries:
            return
        text = encode({each: list(found.entries.values()) for each, found in listings.items()})
        if len(text) > _MAX_BYTES:
            return
        # In turn: what was listed later is written later.
        async with self._writing:
            await asyncio.to_thread(self._write, text)

    def _write(self, text: bytes) -> None:
        with contextlib.suppress(OSError):
            make_folder(self._folder)
            replace_file(self._path, text, durable=False)

    def _load(self) -> dict[Kind, Listing]:
        try:
            with open(self._path, "rb") as file:
                found = _read(file.read(_MAX_BYTES + 1))
        except (OSError, msgspec.MsgspecError):
            return {}
        return {kind: listing_of(kind, found[kind]) for kind in METHODS if kind in found}
