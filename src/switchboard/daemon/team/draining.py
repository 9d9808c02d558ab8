"""How a gateway of a team stops: nothing that was begun on it is lost, and nobody is turned away.

First it says that it is not ready. What is new it hands on to other gateways, for as long as a
load balancer still sends it some, and it answers what is its own. Then it stops to listen, without
breaking off whoever is just about to connect.
"""

import asyncio
import contextlib
import signal
import socket
from typing import Protocol

from switchboard.core.faults import Fault
from switchboard.daemon.team.asked import Asked
from switchboard.daemon.team.membership import Team
from switchkit.platform.ports import hear_no_more

_LOOK_S = 0.05
# Who has begun to connect is connected, and taken in, within this.
_ARRIVING_S = 0.2


class Drained(Protocol):
    """What is served, as far as its end goes."""

    async def retire(self) -> None:
        """Take nothing new in, and let what is under way go on."""
        ...

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way any more."""
        ...


async def drained(
    surface: Drained,
    listening: socket.socket,
    team: Team,
    asked: Asked,
    *,
    # For load balancers to see that it is not ready; who types Ctrl-C waits for none of them.
    linger_s: float,
    # For calls to end by themselves.
    limit_s: float,
) -> None:
    """Return when nothing is under way, or time is over, or somebody asks again."""
    with contextlib.suppress(Fault):
        # Without the database others find out when they cannot connect.
        await asyncio.to_thread(team.presence.retire)
    await surface.retire()
    loop = asyncio.get_running_loop()
    lingers = asked.to_stop.result() == signal.SIGTERM
    soonest = loop.time() + (linger_s if lingers else 0.0)
    latest = max(soonest, loop.time() + limit_s)
    is_deaf = False
    while not asked.to_hurry.done() and (now := loop.time()) < latest:
        if surface.is_idle and now >= soonest:
            if is_deaf:
                return
            is_deaf = True
            hear_no_more(listening)
            soonest = now + _ARRIVING_S
        await asyncio.wait({asked.to_hurry}, timeout=_LOOK_S)
