"""A child does not care how it is reached."""

import json

import pytest

from fakes.events import MemoryEvents
from fakes.links import MemoryLinks
from fakes.nursery import QUICK, text_from
from support.requirements import requirement
from switchboard.children.child import Child
from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault, FaultCode

ENTRY = ServerEntry(name="near", transport="stdio", protocol="handshake")


@requirement("S2.104")
async def test_a_way_to_a_child_that_nobody_knew_before_serves_calls_and_listings() -> None:
    links, events = MemoryLinks(), MemoryEvents()
    child = Child(ENTRY, limits=QUICK, open_link=links, events=events)
    assert list((await child.tools()).tools) == ["echo"]
    said = json.loads(await text_from(child, "echo", text="hi"))
    assert said.pop("_meta")["progressToken"]
    assert said == {"name": "echo", "arguments": {"text": "hi"}}
    await child.aclose()
    assert [link.closed for link in links.opened] == [True]


async def test_a_child_that_ends_behind_its_handshake_is_not_taken_for_alive() -> None:
    links = MemoryLinks(short_lived=1)
    child = Child(ENTRY, limits=QUICK, open_link=links, events=MemoryEvents())
    with pytest.raises(Fault) as caught:
        await child.tools()
    assert (caught.value.code, caught.value.reason) == (FaultCode.UNAVAILABLE, "child-exited")
    assert list((await child.tools()).tools) == ["echo"]
    await child.aclose()
    assert [link.closed for link in links.opened] == [True, True]
