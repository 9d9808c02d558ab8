"""What a child is asked, by itself: no listing is kept, and no client is there."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from fakes.events import MemoryEvents
from fakes.links import MemoryLinks
from fakes.nursery import QUICK
from switchboard.children.connection import Connection
from switchboard.children.conversation import Conversation
from switchboard.children.inbound.server_requests import ServerRequests
from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.wire.pipes import Loss

ENTRY = ServerEntry(name="near", transport="stdio", protocol="handshake")


class Talk(NamedTuple):
    connection: Connection
    conversation: Conversation


@asynccontextmanager
async def talking() -> AsyncGenerator[Talk]:
    requests, events = ServerRequests(ENTRY.name), MemoryEvents()
    connection = Connection(ENTRY, requests, limits=QUICK, open_link=MemoryLinks(), events=events)
    async with TaskSet() as tasks:
        conversation = Conversation(connection, requests, events, tasks)
        connection.on_started = conversation.begin
        yield Talk(connection, conversation)
        await connection.aclose()


async def test_each_request_has_its_id_as_its_progress_token() -> None:
    async with talking() as talk:
        tokens: list[int] = []
        for _ in range(2):
            raw = await talk.conversation.ask("tools/call", (b'{"name":"echo"',))
            params = json.loads(json.loads(bytes(raw))["content"][0]["text"])
            tokens.append(params["_meta"]["progressToken"])
        link = talk.connection.link
        assert link is not None
        assert tokens == [link.peer.pending.next_id - 2, link.peer.pending.next_id - 1]


async def test_a_kind_that_the_child_does_not_have_is_not_asked_for() -> None:
    async with talking() as talk:
        tools, current = await talk.conversation.fetch("tools")
        assert (list(tools.entries), current) == (["echo"], True)
        link = talk.connection.link
        assert link is not None
        before = link.peer.pending.next_id
        prompts, current = await talk.conversation.fetch("prompts")
        assert (prompts.entries, current) == ({}, True)
        assert link.peer.pending.next_id == before


async def test_who_waits_for_a_child_that_goes_away_is_told_so_and_counts_no_longer() -> None:
    async with talking() as talk:
        asking = asyncio.ensure_future(talk.conversation.ask("never/answered", (b'{"a":1',)))
        link = await talk.connection.ready()
        # It waits for the same start, and asks as soon as that is over.
        await asyncio.sleep(0)
        assert len(link.peer.pending) == 1
        assert talk.connection.in_flight == 1
        link.peer.lose(Loss())
        with pytest.raises(Fault) as caught:
            await asking
        assert caught.value.reason == "child-exited"
        assert talk.connection.in_flight == 0
