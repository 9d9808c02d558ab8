"""What happens, as pages hear of it: numbered, resumed, bounded, and nobody waits for a page."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from cli.commands import switchboard
from page.visiting import PATIENCE, Visitor, visitor, waiting_call
from support.daemons import shim
from support.requirements import attack
from support.workspace import Workspace
from switchboard.web.stream import EventStream


class Heard:
    """One stream, message by message."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines
        self._told: list[Any] = []
        self.last = ""

    async def next(self) -> Any:
        async with asyncio.timeout(PATIENCE):
            async for line in self._lines:
                if line.startswith("id: "):
                    self.last = line.removeprefix("id: ")
                elif line.startswith("data: "):
                    return json.loads(line.removeprefix("data: "))
        raise AssertionError("the stream has ended")

    async def until(self, event: str) -> Any:
        """The next event of that name. One message may tell of several."""
        while True:
            while self._told:
                told = self._told.pop(0)
                if told["event"] == event:
                    return told
            message = await self.next()
            self._told = [] if message == "anew" else message


@asynccontextmanager
async def hearing(visiting: Visitor, last: str = "") -> AsyncGenerator[Heard]:
    headers = {**visiting.headers, "accept": "text/event-stream", "last-event-id": last}
    url = f"{visiting.url}page/events"
    async with visiting.http.stream("GET", url, headers=headers, timeout=PATIENCE) as answer:
        assert answer.status_code == 200
        yield Heard(answer.aiter_lines())


async def test_a_page_that_comes_back_hears_what_it_missed(workspace: Workspace) -> None:
    async with visitor(workspace) as (visiting, _), shim(workspace) as client:
        async with hearing(visiting) as heard:
            assert await heard.next() == "anew"
            await client.call_subtool("echo_suite", "echo", {"text": "one"})
            began = await heard.until("CallStarted")
            await heard.until("CallFinished")
            place = heard.last
        await client.call_subtool("echo_suite", "echo", {"text": "two"})
        async with hearing(visiting, place) as heard:
            missed = await heard.until("CallStarted")
            assert missed["call_id"] != began["call_id"]
        era = place.partition("-")[0]
        for nowhere in ("", "x", "0-0", place + "9", f"{era}--1", f"{era}-{'9' * 5_000}"):
            async with hearing(visiting, nowhere) as heard:
                assert await heard.next() == "anew"


async def test_a_question_is_told_of_at_once_whoever_asks(workspace: Workspace) -> None:
    async with visitor(workspace) as (visiting, _), hearing(visiting) as heard:
        await heard.next()
        async with waiting_call(workspace) as (question, _process):
            await heard.until("QueueChanged")
            await visiting.ask("decide", id=question, approves=False)


async def test_a_new_daemon_serves_the_page_on(workspace: Workspace) -> None:
    async with visitor(workspace) as (visiting, _):
        before = (await visiting.ask("status")).json()["pid"]
        async with hearing(visiting) as heard:
            assert await heard.next() == "anew"
            await asyncio.to_thread(switchboard, workspace, "daemon", "restart")
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    answer = await visiting.ask("status")
                except httpx2.TransportError:
                    continue
                if answer.status_code == 200 and answer.json()["pid"] != before:
                    break
        async with hearing(visiting, heard.last) as heard:
            assert await heard.next() == "anew"


@attack("P8")
async def test_a_page_that_does_not_read_holds_nobody_up(workspace: Workspace) -> None:
    async with visitor(workspace) as (visiting, _), shim(workspace) as client:
        port = int(visiting.origin.rpartition(":")[2])
        lines = [
            "GET /page/events HTTP/1.1",
            f"host: 127.0.0.1:{port}",
            *(f"{name}: {value}" for name, value in visiting.headers.items()),
        ]
        asleep = [socket.create_connection(("127.0.0.1", port)) for _ in range(10)]
        for each in asleep:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            each.sendall("\r\n".join([*lines, "", ""]).encode())
        async with hearing(visiting) as heard:
            assert await heard.next() == "anew"
            calls = [client.call_subtool("echo_suite", "echo", {"text": "x"}) for _ in range(300)]
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*calls)
            began = time.monotonic()
            assert (await visiting.ask("status")).status_code == 200
            assert time.monotonic() - began < 5
            seen = 0
            while seen < 300:
                told = await heard.next()
                seen += sum(each["event"] == "CallFinished" for each in told)
        for each in asleep:
            each.close()


async def test_too_many_pages_are_refused_and_make_room_again(workspace: Workspace) -> None:
    async with visitor(workspace) as (visiting, _):
        headers = {**visiting.headers, "accept": "text/event-stream"}
        url = f"{visiting.url}page/events"
        port = int(visiting.origin.rpartition(":")[2])
        lines = ["GET /page/events HTTP/1.1", f"host: 127.0.0.1:{port}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        pages = [await asyncio.open_connection("127.0.0.1", port) for _ in range(64)]
        for reader, writer in pages:
            writer.write("\r\n".join([*lines, "", ""]).encode())
            async with asyncio.timeout(PATIENCE):
                assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        assert (await visiting.http.get(url, headers=headers)).status_code == 503
        pages[0][1].close()
        async with asyncio.timeout(PATIENCE):
            while True:
                async with visiting.http.stream("GET", url, headers=headers) as answer:
                    if answer.status_code == 200:
                        break
        for _, writer in pages[1:]:
            writer.close()


def _followed() -> tuple[EventStream, list[Callable[[str], None]]]:
    tellers: list[Callable[[str], None]] = []

    def follow(tell: Callable[[str], None]) -> Callable[[], None]:
        tellers.append(tell)
        return lambda: tellers.remove(tell)

    return EventStream(follow), tellers


async def test_events_are_told_together_and_forgotten_when_there_are_too_many() -> None:
    stream, tellers = _followed()
    with stream.reading():
        place = stream.now()
        for number in range(500):
            tellers[0](str(number))
        batch = await stream.after(place)
        assert batch is not None
        assert json.loads(batch.body) == list(range(500))
        assert (await stream.after(place)) is batch, "made once for all pages"
        assert stream.found(stream.name_of(place)) == place
        for number in range(2_000):
            tellers[0](str(number))
        assert await stream.after(place) is None
        assert stream.found(stream.name_of(place)) is None
    stream.close()


async def test_nobody_is_listened_to_for_nobody() -> None:
    stream, tellers = _followed()
    with stream.reading(), stream.reading():
        assert len(tellers) == 1
        name = stream.name_of(stream.now())
    assert len(tellers) == 1, "a page that is loaded again finds its place"
    stream.close()
    assert tellers == []
    with stream.reading():
        assert stream.found(name) is None, "what happened meanwhile is not known"
    stream.close()
