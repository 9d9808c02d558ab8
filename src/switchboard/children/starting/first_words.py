"""The first exchange with a child that has just been opened, and whether it is what was meant."""

import asyncio
from collections.abc import Mapping
from typing import Any

from switchboard.children.greeting import Greeting, greet
from switchboard.children.link import Link
from switchboard.children.schema import Protocol
from switchboard.wire.pending import PeerLost


async def greet_opened(
    link: Link, mode: Protocol, capabilities: Mapping[str, Any], *, within_s: float
) -> Greeting:
    """What the child says of itself. Raises a fault, `TimeoutError`, and what `greet` raises."""
    try:
        async with asyncio.timeout(within_s):
            greeting = await greet(link.peer, mode, capabilities)
        # It may have ended behind its last word, before anybody could be told.
        if link.peer.pending.lost is not None:
            raise PeerLost(link.peer.pending.lost)
    finally:
        # Also of one that ended without a word: it may have done its work already.
        if (doubt := await link.doubt()) is not None:
            raise doubt
    return greeting
