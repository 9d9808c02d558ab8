"""Calls that wait for their clients: nobody fills the place of all others."""

import asyncio
from typing import Any, cast

import msgspec
import pytest
from msgspec import Raw

from support.requirements import attack
from switchboard.core.channels.channel import Input
from switchboard.core.sessions import Era, Session
from switchboard.surface import suspended_calls
from switchboard.surface.channel import ClientChannel
from switchboard.surface.suspended_calls import SuspendedCall, SuspendedCalls
from switchboard.wire.messages import Parts, RpcError

MOST = 8


class Waiting:
    """One call that asks its client, in the room of all of them."""

    def __init__(self, room: SuspendedCalls, entrance: str, client: str) -> None:
        session = Session(
            id=client,
            via="http",
            workspace="/w",
            entrance=entrance,
            client=client,
            era=Era.MODERN,
        )
        self._room = room
        self.call = SuspendedCall(
            lambda ask: ClientChannel(session, cast("Any", None), ask=ask), {}
        )
        room.begin(self.call, self._work(), client)

    async def _work(self) -> Parts:
        given = await self.call.ask({"q": Input("elicitation/create", Raw(b"{}"))})
        return (bytes(given["q"]),)

    async def asked(self) -> str:
        """The state under which it waits. Raises RpcError."""
        told = msgspec.json.decode(b"".join(await self._room.word(self.call)))
        return told["requestState"]

    async def answered(self, state: str) -> bytes:
        taken = self._room.take(state, self.call.about, self.call.channel)
        taken.answer({"q": Raw(b'"yes"')})
        return b"".join(await self._room.word(taken))


@attack("T77")
async def test_whoever_lets_many_calls_wait_gives_way_to_others_by_whatever_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(suspended_calls, "_MOST_PARKED", MOST)
    room = SuspendedCalls()
    # The same person, as clients of many names.
    flood = [Waiting(room, "eve@", f"client {number}") for number in range(MOST)]
    states = [await each.asked() for each in flood]
    late = Waiting(room, "eve@", "one more")
    with pytest.raises(RpcError, match="too many"):
        await late.asked()
    ada = Waiting(room, "ada@", "client")
    async with asyncio.timeout(10):
        state = await ada.asked()
        # It was the oldest of the other, which has ended, and nobody else's.
        with pytest.raises(RpcError, match="unknown"):
            await flood[0].answered(states[0])
        assert await flood[1].answered(states[1]) == b'"yes"'
        assert await ada.answered(state) == b'"yes"'
    await room.aclose()
