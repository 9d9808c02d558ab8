"""Servers of which a team has one process, however many gateways it has."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from switchboard.children.link import Link, MakePeer, OpenLink
from switchboard.children.schema import ServerEntry
from switchboard.core.privacy.secrets import SecretBook
from switchboard.wire.messages import MessageId
from switchkit.reaper_client import Reaper


class Forward(Struct, frozen=True):
    """Where requests for a server go that another gateway runs."""

    url: str
    # What shows that they come from a gateway of the team.
    headers: dict[str, str]


class Singletons(Protocol):
    """Who runs which of them."""

    @property
    def reaper(self) -> Reaper:
        """What ends those that we run, also where we stand still for too long."""
        ...

    async def place(self, server: str, /) -> Forward | None:
        """Where it runs; nothing where it is ours to run, from now on. Raises a fault."""
        ...


async def open_single(
    singletons: Singletons,
    entry: ServerEntry,
    make_peer: MakePeer,
    open_here: OpenLink,
    *,
    book: SecretBook,
    # For whom a request is that waits for its answer.
    holder_of: Callable[[MessageId], str],
    timeout_s: float,
) -> Link:
    """Start it, or reach whoever has. Raises a fault."""
    forward = await singletons.place(entry.label)
    if forward is None:
        link = await open_here(entry, make_peer, timeout_s=timeout_s)
        try:
            # We may have stood still in between, for so long that another has begun.
            forward = await singletons.place(entry.label)
        except BaseException:
            await link.aclose()
            raise
        if forward is None:
            return link
        await link.aclose()
    # Few have such servers, and fewer are not the ones who run them.
    from switchboard.children.http.forwarded import open_forwarded  # noqa: PLC0415

    return await open_forwarded(
        entry, make_peer, forward, book=book, holder_of=holder_of, timeout_s=timeout_s
    )
