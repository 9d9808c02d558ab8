"""What children offered last time, so that a client can be told without starting them.

One small file for each server, by everything that makes it that server, and by the account that it
acts for: what it lists for one is not for another to see. It is a hint and no more: once the child
runs its own word counts, and clients hear of what is different.
"""

import asyncio
import contextlib
import hashlib
import hmac
import os

import msgspec
from msgspec import Raw

from switchboard.children.listings.listing import METHODS, Kind, Listing, listing_of
from switchboard.wire.messages import encode
from switchkit.files import make_folder, open_private, replace_file

# More than this is quicker asked for than read.
_MAX_BYTES = 4 * 1024 * 1024
_SALT_BYTES = 32
# Of so many servers it is held what they list, though none of their processes may run.
_MOST_USED = 64

_read = msgspec.json.Decoder(dict[str, list[Raw]]).decode


class ListingCaches:
    """The folder of the caches of every server."""

    def __init__(self, home: str) -> None:
        self._folder = os.path.join(home, "cache", "listings")
        self._used: dict[tuple[bytes, bytes], ListingCache] = {}

    def of(self, key: bytes, account: bytes = b"") -> "ListingCache":
        """The cache of one server, for one account. Touches no file.

        The same for all of its processes: what they list alike is held once, and so is whatever is
        made of it. A session may have a process of its own, and sessions come and go.
        """
        used = self._used.pop((key, account), None) or ListingCache(self._folder, key, account)
        self._used[key, account] = used
        if len(self._used) > _MOST_USED:
            del self._used[next(iter(self._used))]
        return used


class ListingCache:
    """What one server offered. A cache that cannot be read or written counts as empty."""

    def __init__(self, folder: str, key: bytes, account: bytes) -> None:
        self._folder = folder
        self._key = key
        self._account = account
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

    async def keep(self, kind: Kind, listing: Listing) -> Listing:
        """Keep what it offers now. Gives the listing, or that of before which says the same."""
        listings = await self._known()
        before = listings.get(kind)
        if before is not None and _are_alike(before, listing):
            return before
        listings[kind] = listing
        if before is not None and before.entries == listing.entries:
            return listing
        text = encode({each: list(found.entries.values()) for each, found in listings.items()})
        if len(text) <= _MAX_BYTES:
            # In turn: what was listed later is written later.
            async with self._writing:
                await asyncio.to_thread(self._write, text)
        return listing

    def _write(self, text: bytes) -> None:
        with contextlib.suppress(OSError):
            make_folder(self._folder)
            replace_file(self._path(), text, durable=False)

    def _path(self) -> str:
        """Where it lies. The name of a file must not be a way to guess a secret."""
        mark = hashlib.sha256(self._key)
        if self._account:
            mark.update(hmac.digest(self._salt(), self._account, "sha256"))
        return os.path.join(self._folder, f"{mark.hexdigest()}.json")

    def _salt(self) -> bytes:
        """Random bytes of this home. Raises OSError."""
        path = f"{self._folder}-salt"
        if not os.path.lexists(path):
            make_folder(os.path.dirname(path))
            fresh = os.urandom(_SALT_BYTES)
            replace_file(path, fresh, durable=False)
        # What is there counts: another process may have been quicker.
        with os.fdopen(open_private(path, os.O_RDONLY, mend=False), "rb") as file:
            salt = file.read(_SALT_BYTES)
        if len(salt) < _SALT_BYTES:
            os.unlink(path)
            raise OSError("a salt that was cut is none")
        return salt

    def _load(self) -> dict[Kind, Listing]:
        try:
            with open(self._path(), "rb") as file:
                found = _read(file.read(_MAX_BYTES + 1))
        except (OSError, msgspec.MsgspecError):
            return {}
        return {kind: listing_of(kind, found[kind]) for kind in METHODS if kind in found}


def _are_alike(one: Listing, other: Listing) -> bool:
    return one == other and list(one.entries) == list(other.entries)
