"""When an answer over HTTP counts as delivered: once it was written to a client that is there."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from switchboard.core.loop.tasks import TaskSet
from switchboard.surface.http.delivery import Delivery
from switchboard.surface.http.exchange import Exchange, HttpReply
from switchboard.surface.http.streams import Stream


class Connection:
    """One connection whose client may leave; a send to nobody succeeds, as with any server."""

    def __init__(self) -> None:
        self.written = b""
        self._left = asyncio.Event()

    async def receive(self) -> MutableMapping[str, Any]:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if not self._left.is_set():
            self.written += bytes(message.get("body", b""))

    def leave(self) -> None:
        self._left.set()

    def exchange(self) -> Exchange:
        scope: dict[str, Any] = {"method": "POST", "path": "/mcp", "headers": []}
        return Exchange(scope, self.receive, self.send)


@pytest.mark.parametrize("with_events", [True, False])
@pytest.mark.parametrize("leaves", [True, False])
async def test_an_answer_is_delivered_to_a_client_that_is_there(
    with_events: bool, leaves: bool
) -> None:
    connection, stream, told = Connection(), Stream(accepts_events=True), list[str]()
    async with TaskSet() as tasks:
        carrying = tasks.start(Delivery(connection.exchange(), stream, tasks).run())
        await asyncio.sleep(0)
        if with_events:
            stream.notify("notifications/progress", (b"{}",))
            stream.when_told(lambda: told.append("progress"))
            await asyncio.sleep(0.01)
            assert told == ["progress"]
        stream.when_answered(1, lambda: told.append("answer"))
        if leaves:
            connection.leave()
        stream.end(HttpReply(200, (b'{"an":"answer"}',)))
        await asyncio.wait_for(carrying, 60)
    assert ("answer" in told) is not leaves
    assert (b"answer" in connection.written) is not leaves
