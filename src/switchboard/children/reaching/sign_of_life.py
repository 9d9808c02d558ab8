"""Whether a child that let a call run out of time is only slow, or hangs."""

import asyncio

from switchboard.children.connection import Connection
from switchboard.children.greeting import knock
from switchboard.core.faults import Fault, FaultCode
from switchboard.wire.messages import RpcError
from switchboard.wire.pending import PeerLost

# Slow machines are slow for everybody; who works answers within this.
PATIENCE_S = 5.0


class SignOfLife:
    """Asks one child for a sign of life. Without one it is ended: the next call starts another.

    A server that works off one request after the other, and hangs in one, would let every later
    call of every session wait for its whole time.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._is_waiting = False

    async def want(self) -> None:
        """Wait for the answer to a question that every server can answer."""
        connection = self._connection
        link = connection.link
        # A remote server is asked by each request anew, and is not ours to end.
        if link is None or self._is_waiting or connection.entry.transport != "stdio":
            return
        self._is_waiting = True
        heard = link.peer.heard
        try:
            async with asyncio.timeout(PATIENCE_S):
                await knock(link.peer, connection.greeting)
        except (RpcError, PeerLost):
            # It answered, if only that it does not know; or it has ended by itself.
            return
        except TimeoutError:
            # Whoever speaks works, if for somebody else.
            if connection.link is link and link.peer.heard == heard:
                connection.give_up(link, _hung(connection.entry.name))
        finally:
            self._is_waiting = False


def _hung(name: str) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        "child-hung",
        f"`{name}` gave no sign of life for {PATIENCE_S:g} s after a call ran out of time",
        hint="it was ended, and is started again on the next call",
    )
