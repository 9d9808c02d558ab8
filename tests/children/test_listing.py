"""The tools of a child: all pages, kept until they change, and as the child wrote them."""

import asyncio
import json
from pathlib import Path

import pytest
from msgspec import Raw

from fakes.nursery import HANDSHAKE, arguments, json_from, nursery
from support.requirements import requirement
from switchboard.children.listings.listing import Kind, Listing, ToolListing, fetch_tools
from switchboard.children.listings.listings import Listings
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.core.events import ChildExited
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.tasks import TaskSet

CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'


def page(*tools: object, cursor: str | None = None) -> Raw:
    body: dict[str, object] = {"tools": tools}
    if cursor is not None:
        body["nextCursor"] = cursor
    return Raw(json.dumps(body).encode())


def tool(name: str) -> dict[str, object]:
    return {"name": name, "inputSchema": {"type": "object"}}


@requirement("S2.46")
async def test_every_page_is_followed_and_a_schema_stays_as_it_is(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving("paged", **HANDSHAKE)
        listing = await child.tools()
        assert list(listing.tools) == [
            *("echo", "add", "fail", "refuse", "picture", "report", "stall", "history"),
        ]
        received = (await json_from(child, "history"))["received"]
        assert received.count("tools/list") == 4
        assert bytes(listing.tools["echo"].input_schema) == (
            b'{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}'
        )


async def test_a_cursor_that_comes_back_ends_the_listing() -> None:
    asked: list[bytes] = []

    async def ask(members: bytes) -> Raw:
        asked.append(members)
        return page(tool(f"t{len(asked)}"), cursor="again" if len(asked) != 2 else "other")

    listing = await fetch_tools(ask)
    assert asked == [b"", b'"cursor":"again"', b'"cursor":"other"']
    assert list(listing.tools) == ["t1", "t2", "t3"]


async def test_pages_without_end_are_bounded() -> None:
    count = 0

    async def ask(_members: bytes) -> Raw:
        nonlocal count
        count += 1
        return page(tool(f"t{count}"), cursor=str(count))

    assert len((await fetch_tools(ask)).tools) <= 1_000


async def test_a_tool_that_cannot_be_read_hides_no_other() -> None:
    async def ask(_members: bytes) -> Raw:
        odd = ({"description": "nameless"}, 7, None, {"name": ["x"]})
        return page(tool("first"), *odd, tool("last"), tool("first"))

    listing = await fetch_tools(ask)
    assert list(listing.tools) == ["first", "last"]
    assert listing.malformed == (1, 2, 3, 4)


@pytest.mark.parametrize("result", ['{"tools":7}', "[]", '"tools"', '{"nextCursor":7}'])
async def test_a_listing_that_makes_no_sense_is_the_childs_fault(
    result: str, tmp_path: Path
) -> None:
    async with nursery(tmp_path) as some:
        said = '{"jsonrpc":"2.0","id":$id,"result":%s}\n' % result  # noqa: UP031 - JSON has braces
        child = some.scripted({"tools/list": [said]})
        with pytest.raises(Fault) as caught:
            await child.tools()
        assert (caught.value.code, caught.value.reason) == (
            FaultCode.INTERNAL,
            "listing-malformed",
        )
        assert "child" in caught.value.message


async def test_the_listing_is_asked_for_once_until_the_child_says_that_it_changed(
    tmp_path: Path,
) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving("changing-tools", **HANDSHAKE)
        changes = 0

        def changed(kind: str) -> None:
            assert kind == "tools"
            nonlocal changes
            changes += 1

        child.listings.on_changed = changed
        first = await child.tools()
        assert await child.tools() is first is child.listings.known_tools
        await child.call("grow", arguments(name="leaf"))
        assert changes == 1
        assert "leaf" in (await child.tools()).tools
        await child.call("shrink", arguments(name="leaf"))
        assert "leaf" not in (await child.tools()).tools
        assert (await json_from(child, "history"))["received"].count("tools/list") == 3


async def test_what_differs_after_an_idle_child_came_back_is_told(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving("changing-tools", limits=ChildLimits(idle_s=0.2), **HANDSHAKE)
        changed = asyncio.Queue[str]()
        await child.call("grow", arguments(name="leaf"))
        assert "leaf" in (await child.tools()).tools
        child.listings.on_changed = changed.put_nowait
        await some.events.wait_for(ChildExited)
        await child.call("history", arguments())
        async with asyncio.timeout(5):
            assert await changed.get() == "tools"
        assert "leaf" not in (await child.tools()).tools


async def test_what_could_not_be_compared_at_one_start_is_at_the_next() -> None:
    told, now = ToolListing(entries={"old": Raw(b"{}")}), ToolListing()
    answers: list[Listing | Fault] = [told, Fault(FaultCode.UNAVAILABLE, "x", "gone"), now]

    async def fetch(_: Kind) -> tuple[Listing, bool]:
        answer = answers.pop(0)
        if isinstance(answer, Fault):
            raise answer
        return answer, True

    async with TaskSet() as tasks:
        listings, announced = Listings(fetch, tasks), list[str]()
        listings.on_changed = announced.append
        await listings.get("tools")
        for expected in ([], ["tools"], ["tools"]):
            answers.append(now)
            await listings.begin()
            assert announced == expected


async def test_several_who_ask_at_once_share_one_listing(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.child("echo_child")
        listings = await asyncio.gather(*(child.tools() for _ in range(20)))
        assert all(listing is listings[0] for listing in listings)
        assert (await json_from(child, "history"))["received"].count("tools/list") == 1


async def test_a_change_right_behind_the_answer_is_not_missed(tmp_path: Path) -> None:
    """The news comes in the same bytes as the listing that it makes stale."""
    answer = '{"jsonrpc":"2.0","id":$id,"result":{"tools":[{"name":"old"}]}}\n'
    async with nursery(tmp_path) as some:
        child = some.scripted({"tools/list": [answer, CHANGED]})
        stale = await child.tools()
        assert child.listings.known_tools is None
        assert await child.tools() is not stale


async def test_who_asks_after_a_change_is_not_given_the_listing_that_it_came_into() -> None:
    """Who is told of a change asks at once, while the pages from before it still come."""
    old, new = ToolListing(), ToolListing()
    begun, pages = asyncio.Semaphore(0), (asyncio.Event(), asyncio.Event())
    fetches = iter(((old, pages[0]), (new, pages[1])))

    async def fetch(_: Kind) -> tuple[Listing, bool]:
        listing, page = next(fetches)
        begun.release()
        await page.wait()
        return listing, True

    async with asyncio.timeout(5), TaskSet() as tasks:
        listings = Listings(fetch, tasks)
        before = tasks.start(listings.get("tools"))
        await begun.acquire()
        listings.changed("tools")
        after = tasks.start(listings.get("tools"))
        await begun.acquire()
        pages[0].set()
        assert await before is old
        # The end of the first does not hide the second from those who come now.
        later = tasks.start(listings.get("tools"))
        await asyncio.sleep(0)
        pages[1].set()
        assert await after is new
        assert await later is new
        assert listings.known("tools") is new


async def test_what_changed_behind_a_modern_child_is_heard_by_listening(tmp_path: Path) -> None:
    hello = {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": True}},
    }
    script = {
        "server/discover": [
            '{"jsonrpc":"2.0","id":$id,"result":',
            json.dumps(hello),
            "}\n",
        ],
        "subscriptions/listen": ["hush"],
        "tools/list": [
            '{"jsonrpc":"2.0","id":$id,"result":{"resultType":"complete","tools":[]}}\n'
        ],
        "tools/call": [CHANGED, '{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}\n'],
    }
    notes = tmp_path / "notes"
    async with nursery(tmp_path) as some:
        child = some.scripted(script, str(notes), protocol="auto")
        first = await child.tools()
        await child.call("any", arguments())
        assert child.listings.known_tools is None
        assert await child.tools() is not first
    methods = [json.loads(line)["method"] for line in notes.read_text().splitlines()]
    assert methods.count("subscriptions/listen") == 1
    assert methods.count("tools/list") == 2
