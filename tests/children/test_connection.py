"""A connection by itself: no tools, no clients, only its beginning, its use and its end."""

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from fakes.events import MemoryEvents
from fakes.links import MemoryLinks
from fakes.nursery import QUICK
from support.processes import until_true
from switchboard.children.connection import Connection
from switchboard.children.link import Link
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.children.schema import ServerEntry
from switchboard.core.events import ChildExited, ChildStarted
from switchboard.core.faults import Fault, FaultCode
from switchboard.wire.messages import MessageId, Parts, RpcError
from switchboard.wire.pipes import Loss

ENTRY = ServerEntry(name="near", transport="stdio", protocol="handshake")


class Heard:
    """Keeps what a child says of its own accord."""

    def __init__(self) -> None:
        self.methods: list[str] = []

    def request(self, method: str, params: Raw, message_id: MessageId, /) -> Parts:
        del params, message_id
        self.methods.append(method)
        return (b"{}",)

    def notification(self, method: str, params: Raw, /) -> None:
        del params
        self.methods.append(method)


class Ground:
    """A connection to a child in memory."""

    def __init__(self, limits: ChildLimits = QUICK, **more: Any) -> None:
        self.links, self.events, self.heard = MemoryLinks(**more), MemoryEvents(), Heard()
        self.connection = Connection(
            ENTRY, self.heard, limits=limits, open_link=self.links, events=self.events
        )


async def test_whoever_asks_first_starts_it_and_all_get_the_same_link() -> None:
    ground, started = Ground(), list[Link]()
    connection = ground.connection

    def on_started(link: Link) -> None:
        assert connection.greeting.offers("tools")
        started.append(link)

    connection.on_started = on_started
    first, second = await asyncio.gather(connection.ready(), connection.ready())
    assert first is second is connection.link
    assert started == [first] == ground.links.opened
    await connection.aclose()


async def test_nothing_holds_a_connection_that_was_closed() -> None:
    """Its timer would, until the child had been idle for long; sessions come and go in between."""
    ground = Ground(replace(QUICK, idle_s=600))
    closed = weakref.ref(ground.connection)
    await ground.connection.ready()
    await ground.connection.aclose()
    del ground
    await until_true(lambda: gc.collect() >= 0 and closed() is None)


async def test_what_the_child_says_reaches_the_receiver() -> None:
    ground = Ground()
    link = await ground.connection.ready()
    link.peer.receive(b'{"jsonrpc":"2.0","id":"its","method":"ping"}')
    link.peer.receive(b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}')
    assert ground.heard.methods == ["ping", "notifications/message"]
    await ground.connection.aclose()


@pytest.mark.parametrize("is_needed", [True, False])
async def test_after_a_crash_it_comes_back_by_itself_if_it_is_needed(is_needed: bool) -> None:
    ground = Ground()
    ground.connection.is_needed = lambda: is_needed
    link = await ground.connection.ready()
    link.peer.lose(Loss())
    assert ground.connection.link is None
    [exited] = await ground.events.wait_for(ChildExited)
    assert not exited.expected
    if is_needed:
        await ground.events.wait_for(ChildStarted, 2)
    await ground.connection.aclose()
    assert len(ground.links.opened) == 1 + is_needed


async def test_the_end_of_a_link_that_was_replaced_is_no_end_of_the_next() -> None:
    ground = Ground()
    first = await ground.connection.ready()
    first.peer.lose(Loss())
    second = await ground.connection.ready()
    await first.aclose()
    assert ground.connection.link is second
    await ground.connection.aclose()


async def refuse() -> None:
    raise RpcError(-32603, "no")


async def forever() -> None:
    await asyncio.Event().wait()


async def failed(connection: Connection, work: Callable[[], Awaitable[None]]) -> Fault:
    async def use() -> None:
        async with asyncio.timeout(5), connection.link_for("do it"):
            await work()

    with pytest.raises(Fault) as caught:
        await use()
    assert connection.in_flight == 0
    return caught.value


async def test_what_goes_wrong_with_a_link_is_a_fault() -> None:
    connection = Ground(ChildLimits(rpc_s=0.02, idle_s=0)).connection
    fault = await failed(connection, refuse)
    assert (fault.code, fault.reason) == (FaultCode.INTERNAL, "child-error")
    late = await failed(connection, forever)
    assert (late.code, late.reason) == (FaultCode.DEADLINE_EXCEEDED, "child-timeout")
    assert "`near` did not do it within 0.02 s" in late.message
    await connection.aclose()


async def test_it_counts_as_used_until_the_last_one_has_left() -> None:
    connection = Ground().connection
    connection.take()
    connection.take()
    unused = asyncio.ensure_future(connection.wait_until_unused())
    connection.release()
    await asyncio.sleep(0)
    assert not unused.done()
    connection.release()
    await asyncio.wait_for(unused, 5)
    await connection.aclose()


async def test_one_that_was_given_up_is_not_started_again() -> None:
    ground = Ground()
    await ground.connection.aclose()
    with pytest.raises(Fault) as caught:
        await ground.connection.ready()
    assert caught.value.reason == "child-ended"
    assert ground.links.opened == []
