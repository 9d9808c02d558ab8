"""Whom a child may mean that does not say so: everybody whose words it may still have in mind."""

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager

from switchboard.core.channels.channel import Channel
from switchboard.wire.messages import MessageId

# So long after the last request of a session a log message may still be about it. Longer would keep
# from a session what is meant for it whenever another one has just been served. What asks for an
# answer waits for no time: see `alone`.
LINGER_S = 1.0
# So long a child may go on with a request that was called off, and that it does not answer.
ABANDONED_S = 600.0
# So many of them are told apart for each session: most servers never answer what was called off.
_MOST_ABANDONED = 256


class Audience:
    """The channels of the requests under way, and the sessions that a child worked for lately.

    A request that ended is not one that the child has forgotten: threads go on, and questions come
    late. What it says then is for the session of that request, which does not wait any more, and
    not for another that happens to be alone.
    """

    __slots__ = (
        *("_abandoned", "_clock", "_is_shared", "_left", "_served", "_starters", "_user"),
        *("answers", "channels"),
    )

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # By the id that the request has with the child.
        self.channels: dict[MessageId, Channel] = {}
        # Whose requests wait for the child to start.
        self._starters: list[Channel] = []
        # When the last request of each session ended.
        self._served: dict[str, float] = {}
        # Requests of each session that nobody waits for and that were not answered: since when.
        self._abandoned: dict[str, dict[MessageId, float]] = {}
        # Sessions that have ended, as long as the child may have a request of theirs in mind.
        self._left: set[str] = set()
        # The first session that this process worked for, and whether there was another since.
        self._user: str | None = None
        self._is_shared = False
        # How often this process has answered.
        self.answers = 0

    def begin(self, token: MessageId, channel: Channel | None) -> None:
        """A request goes out. Who has no channel cannot be asked, but can be meant."""
        if channel is not None:
            self.channels[token] = channel
        if not self._is_shared:
            user = channel.holder if channel is not None else ""
            self._is_shared = self._user is not None and self._user != user
            self._user = user

    def end(self, token: MessageId) -> None:
        """A request was answered, or can never be."""
        channel = self.channels.pop(token, None)
        if channel is not None:
            self._served[channel.holder] = self._clock()

    def abandon(self, token: MessageId) -> None:
        """Nobody waits for a request any more, but the child may still work on it."""
        tokens = self._abandoned.setdefault(self.channels.pop(token).holder, {})
        tokens[token] = self._clock()
        if len(tokens) > _MOST_ABANDONED:
            del tokens[next(iter(tokens))]

    def answered(self, token: MessageId) -> None:
        """An answer came that nobody waits for."""
        for holder, tokens in self._abandoned.items():
            if tokens.pop(token, None) is not None:
                self._settled(holder)
                if not tokens:
                    del self._abandoned[holder]
                return

    def _settled(self, holder: str) -> None:
        if holder not in self._left:
            self._served[holder] = self._clock()

    def begin_anew(self) -> None:
        """Another process starts, which has worked for nobody.

        What the last one was asked is answered by none, but the next may have read of it.
        """
        self._user, self._is_shared, self.answers = None, False, 0
        for holder in self._abandoned:
            self._settled(holder)
        self._abandoned.clear()

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
        holders.update(self._served, self._abandoned)
        return channel if holders == {channel.holder} else None

    def alone(self) -> Channel | None:
        """The same, if this process has never worked for another session.

        A thread or a timer that one request left behind may ask at any later time, also when its
        session has ended. Only a process that knows nobody else cannot mean anybody else.
        """
        return None if self._is_shared else self.only()

    def callers(self) -> Collection[str]:
        """The sessions that the child works for, also those that do not wait any more."""
        self._forget_old()
        return {*self._abandoned, *(each.holder for each in self.channels.values())}

    def leave(self, session_id: str) -> None:
        """A session has ended. What it was answered was all that it wanted."""
        self._left.add(session_id)
        self._served.pop(session_id, None)
        self._forget_old()

    def _forget_old(self) -> None:
        now = self._clock()
        self._served = {each: at for each, at in self._served.items() if now - at <= LINGER_S}
        for holder, tokens in tuple(self._abandoned.items()):
            # Nobody calls a child to account for the requests of who is gone.
            longest = LINGER_S if holder in self._left else ABANDONED_S
            self._abandoned[holder] = {
                token: at for token, at in tokens.items() if now - at <= longest
            }
            if not self._abandoned[holder]:
                del self._abandoned[holder]
        if self._left:
            self._left &= {*self._abandoned, *(each.holder for each in self.under_way())}
