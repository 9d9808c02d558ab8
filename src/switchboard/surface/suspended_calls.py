"""Calls of the modern era that wait for their client.

There a server asks by answering: its result says what it needs, and the client sends the request
again with the answers. Meanwhile the call stands here, found by a state that nobody can guess, that
holds for this request alone and that can be used once.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Raw

from switchboard.core.channels.channel import Ask, Input
from switchboard.surface.channel import ClientChannel
from switchboard.surface.results import input_required_parts
from switchboard.wire.messages import INVALID_PARAMS, Parts, RpcError
from switchboard.wire.peer import Answer
from switchboard.wire.pending import PeerLost
from switchboard.wire.pipes import Loss

_STATE_BYTES = 32
_MOST_PARKED = 1_024
# How long the outcome of a call is kept that ended before its client came back: the client shows
# its question until somebody replies, however long ago it was decided elsewhere.
KEPT_S = 600.0


class SuspendedCall:
    """One call, the questions it asked, and the channel that leads to whoever answers."""

    def __init__(self, channel: Callable[[Ask], ClientChannel], given: Mapping[str, Raw]) -> None:
        self._loop = asyncio.get_running_loop()
        self._asked: dict[str, tuple[Input, asyncio.Future[Raw]]] = {}
        self._news = asyncio.Event()
        # Answers that came before their questions: some servers keep no state between the two.
        self.given: Mapping[str, Raw] = given
        self.channel = channel(self.ask)
        self.task: asyncio.Task[Parts] | None = None
        # What the request was about; only the same request goes on with it.
        self.about: Any = None

    async def ask(self, wanted: Mapping[str, Input]) -> Mapping[str, Raw]:
        """Wait until the client has come back with the answers."""
        futures: dict[str, asyncio.Future[Raw]] = {}
        keys: list[str] = []
        for key, each in wanted.items():
            free = key
            while free in self._asked:
                free += "+"
            future = futures[key] = self._loop.create_future()
            if key in self.given:
                future.set_result(self.given[key])
            self._asked[free] = (each, future)
            keys.append(free)
        # An answer holds for one question only.
        self.given = {key: self.given[key] for key in self.given if key not in futures}
        self._news.set()
        try:
            await asyncio.gather(*futures.values())
            return {key: future.result() for key, future in futures.items()}
        finally:
            for key in keys:
                self._asked.pop(key, None)

    def answer(self, responses: Mapping[str, Raw]) -> dict[str, Raw]:
        """Hand over what the client brought, and give back what nobody asks for any more."""
        late: dict[str, Raw] = {}
        for key, response in responses.items():
            _, future = self._asked.get(key, (None, None))
            if future is not None and not future.done():
                future.set_result(response)
            else:
                late[key] = response
        return late

    def open_questions(self) -> dict[str, Input]:
        """What still needs an answer."""
        return {key: each for key, (each, future) in self._asked.items() if not future.done()}

    async def next_word(self) -> dict[str, Input]:
        """Wait for the end, or for a question; nothing open means that the call has ended."""
        assert self.task is not None
        while not self.task.done():
            if questions := self.open_questions():
                return questions
            self._news.clear()
            await self._news.wait()
        return {}

    @property
    def whose(self) -> str:
        """Who waits, by whatever name their client goes."""
        return self.channel.session.entrance or self.channel.holder

    @property
    def is_over(self) -> bool:
        """Whether the call has ended, with whatever outcome."""
        return self.task is not None and self.task.done()

    def end(self, _: object) -> None:
        """The call has ended: whoever waits for its word gets it, and nobody for an answer."""
        self._news.set()
        for _, future in self._asked.values():
            if not future.done():
                future.set_exception(PeerLost(Loss(message="the request has ended")))


class SuspendedCalls:
    """Every call that waits for its client, by its state."""

    def __init__(self, prefix: str = "") -> None:
        """Every state begins with `prefix`, by which others know whom to ask."""
        self._prefix = prefix
        self._suspended: dict[str, SuspendedCall] = {}

    def begin(self, suspended: SuspendedCall, work: Answer, about: Any) -> None:
        """Set a call going."""
        suspended.about = about
        suspended.task = asyncio.get_running_loop().create_task(work)
        suspended.task.add_done_callback(suspended.end)

    def take(self, state: str, about: Any, channel: ClientChannel) -> SuspendedCall:
        """The call that waits under this state goes on over this channel. Raises RpcError."""
        suspended = self._suspended.get(state)
        # Whoever has read the state of another is not who was asked.
        is_same = suspended is not None and suspended.channel.holder == channel.holder
        if suspended is None or not is_same or suspended.about != about:
            raise RpcError(INVALID_PARAMS, "`requestState` is unknown, spent or of another request")
        del self._suspended[state]
        suspended.channel.move(channel)
        return suspended

    async def word(self, suspended: SuspendedCall) -> Parts:
        """The result of the call, or what it asks. Who cancels the request cancels the call."""
        assert suspended.task is not None
        try:
            questions = await suspended.next_word()
        except asyncio.CancelledError:
            suspended.task.cancel()
            raise
        if not questions:
            return suspended.task.result()
        if not self._has_room(suspended.whose):
            suspended.task.cancel()
            raise RpcError(INVALID_PARAMS, "too many requests wait for their clients")
        suspended.channel.rest()
        # As `secrets` does, which loads four modules while a client waits for the start.
        state = self._prefix + os.urandom(_STATE_BYTES).hex()
        self._suspended[state] = suspended
        suspended.task.add_done_callback(lambda _: self._keep(state, suspended))
        return input_required_parts(questions, state)

    def _keep(self, state: str, suspended: SuspendedCall) -> None:
        """A question may be taken back, or its time may run out; the client is still to hear it."""
        assert suspended.task is not None
        if self._suspended.get(state) is suspended and not suspended.task.cancelled():
            suspended.task.exception()
            asyncio.get_running_loop().call_later(KEPT_S, self._suspended.pop, state, None)
        else:
            self._suspended.pop(state, None)

    @property
    def is_empty(self) -> bool:
        """Whether no call waits for its client."""
        return all(suspended.is_over for suspended in self._suspended.values())

    def _has_room(self, asker: str) -> bool:
        """Whether one more may wait. Whoever has most gives way to others, and nobody to them."""
        if len(self._suspended) < _MOST_PARKED:
            return True
        ended = (each for each, suspended in self._suspended.items() if suspended.is_over)
        if self._suspended.pop(next(ended, ""), None) is not None:
            return True
        counts = Counter(suspended.whose for suspended in self._suspended.values())
        [(greediest, most)] = counts.most_common(1)
        if counts[asker] + 1 >= most:
            return False
        oldest = next(key for key, each in self._suspended.items() if each.whose == greediest)
        if (task := self._suspended.pop(oldest).task) is not None:
            task.cancel()
        return True

    def close(self) -> None:
        """Nobody will come back: end every call that waits."""
        for suspended in tuple(self._suspended.values()):
            if suspended.task is not None:
                suspended.task.cancel()
        self._suspended.clear()

    async def aclose(self) -> None:
        """End every call that waits."""
        tasks = [
            suspended.task for suspended in self._suspended.values() if suspended.task is not None
        ]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
