"""Whether a child that let a call run out of time is only slow, or hangs."""

import asyncio
from collections.abc import Callable

from switchboard.children.connection import Connection
from switchboard.children.greeting import knock
from switchboard.children.link import Link
from switchboard.core.faults import Fault, FaultCode
from switchboard.wire.messages import RpcError
from switchboard.wire.pending import PeerLost

# Slow machines are slow for everybody; who works answers within this.
PATIENCE_S = 5.0
# So many calls in a row that had all their time, with no word in between, and it is no use to wait
# for another, whatever else the child answers.
MOST_UNANSWERED = 3


class SignOfLife:
    """Asks one child for a sign of life. Without one it is ended: the next call starts another.

    A server that works off one request after the other, and hangs in one, would let every later
    call of every session wait for its whole time. So would one that answers this question and
    nothing else; `answers` tells how many calls the process has answered.
    """

    def __init__(self, connection: Connection, answers: Callable[[], int]) -> None:
        self._connection = connection
        self._answers = answers
        self._is_waiting = False
        # What was heard of the process up to the last call that ran out of time, but for answers
        # to our own question; and how many such calls there were since it last said a word.
        self._known: tuple[Link, int, int] | None = None
        self._unanswered = 0
        self._knocks = 0

    async def want(self, *, had_its_time: bool) -> None:
        """Wait for the answer to a question that every server can answer."""
        connection = self._connection
        link = connection.link
        # A remote server is asked by each request anew, and is not ours to end.
        if link is None or connection.entry.transport != "stdio":
            return
        if had_its_time and self._is_mute(link):
            connection.give_up(link, _mute(connection.entry.name))
            return
        if self._is_waiting:
            return
        self._is_waiting = True
        heard = link.peer.heard
        try:
            async with asyncio.timeout(PATIENCE_S):
                await knock(link.peer, connection.greeting)
                self._knocks += 1
        except (RpcError, Fault):
            # It answered, if only that it does not know, or nonsense.
            self._knocks += 1
        except PeerLost:
            return
        except TimeoutError:
            # Whoever speaks works, if for somebody else.
            if connection.link is link and link.peer.heard == heard:
                connection.give_up(link, _hung(connection.entry.name))
        finally:
            self._is_waiting = False

    def _is_mute(self, link: Link) -> bool:
        """Whether so many calls ran out of time that another would too."""
        heard = (link, link.peer.heard - self._knocks, self._answers())
        self._unanswered = self._unanswered + 1 if heard == self._known else 1
        self._known = heard
        return self._unanswered >= MOST_UNANSWERED


def _mute(name: str) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        "child-hung",
        f"`{name}` let {MOST_UNANSWERED} calls in a row run out of time and answered none",
        hint="it was ended, and is started again on the next call",
    )


def _hung(name: str) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        "child-hung",
        f"`{name}` gave no sign of life for {PATIENCE_S:g} s after a call ran out of time",
        hint="it was ended, and is started again on the next call",
    )
