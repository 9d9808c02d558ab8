"""Whom a child may mean that does not say so: everybody whose words it may still have in mind."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from switchboard.core.channel import Channel
from switchboard.wire.messages import MessageId

# So long after the last request of a session a child may still say something about it. Longer would
# keep from a session what is meant for it whenever another one has just been served.
LINGER_S = 1.0
# So long a child may go on with a request that was called off, and that it does not answer.
ABANDONED_S = 600.0


class Audience:
    """The channels of the requests under way, and the sessions that a child worked for lately.

    A request that ended is not one that the child has forgotten: threads go on, and questions come
    late. What it says then is for the session of that request, which does not wait any more, and
    not for another that happens to be alone.
    """

    __slots__ = ("_abandoned", "_clock", "_left", "_served", "_starters", "channels")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # By the id that the request has with the child.
        self.channels: dict[MessageId, Channel] = {}
        # Whose requests wait for the child to start.
        self._starters: list[Channel] = []
        # When the last request of each session ended.
        self._served: dict[str, float] = {}
        # Requests that nobody waits for and that were not answered: whose, and since when.
        self._abandoned: dict[MessageId, tuple[str, float]] = {}
        # Sessions that have ended, and when.
        self._left: dict[str, float] = {}

    def begin(self, token: MessageId, channel: Channel) -> None:
        """A request goes out."""
        self.channels[token] = channel

    def end(self, token: MessageId) -> None:
        """A request was answered, or can never be."""
        channel = self.channels.pop(token, None)
        if channel is not None:
            self._served[channel.holder] = self._clock()

    def abandon(self, token: MessageId) -> None:
        """Nobody waits for a request any more, but the child may still work on it."""
        self._abandoned[token] = (self.channels.pop(token).holder, self._clock())

    def answered(self, token: MessageId) -> None:
        """An answer came that nobody waits for."""
        found = self._abandoned.pop(token, None)
        if found and found[0] not in self._left:
            self._served[found[0]] = self._clock()

    def begin_anew(self) -> None:
        """What the last process was asked is answered by none; another may know of it."""
        for token in tuple(self._abandoned):
            self.answered(token)

    @contextmanager
    def waiting(self, channel: Channel | None) -> Generator[None]:
        """While this lasts, a request waits for the start. Who has no channel cannot be asked."""
        if channel is None:
            yield
            return
        self._starters.append(channel)
        try:
            yield
        finally:
            self._starters.remove(channel)

    def under_way(self) -> Sequence[Channel]:
        """The channels of all requests that somebody waits for."""
        return (*self._starters, *self.channels.values())

    def only(self) -> Channel | None:
        """The newest channel under way, if the child can mean nobody but its session."""
        under_way = self.under_way()
        if not under_way:
            return None
        channel = under_way[-1]
        self._forget_old()
        holders = {each.holder for each in under_way}
        holders.update(self._served, (holder for holder, _ in self._abandoned.values()))
        return channel if holders == {channel.holder} else None

    def leave(self, session_id: str) -> None:
        """A session has ended. What it was answered was all that it wanted."""
        self._forget_old()
        self._left[session_id] = self._clock()
        self._served.pop(session_id, None)

    def _forget_old(self) -> None:
        now = self._clock()
        self._served = {each: at for each, at in self._served.items() if now - at <= LINGER_S}
        self._abandoned = {
            token: (holder, at)
            for token, (holder, at) in self._abandoned.items()
            # Nobody calls a child to account for the requests of who is gone.
            if now - at <= (LINGER_S if holder in self._left else ABANDONED_S)
        }
        self._left = {each: at for each, at in self._left.items() if now - at <= ABANDONED_S}
