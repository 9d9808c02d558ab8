"""Streams that break and are taken up again, and what is done for a client that stays away."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2
import pytest
from edges.asking import Asking, asking, progress, said, tool
from edges.board import TOKEN, Json, notification
from edges.proxy import cutting_proxy
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from support.processes import until_true
from switchboard.surface.sink import Sink

OLDER = ["2025-03-26", "2025-06-18"]


class Worker:
    """A tool that tells one thing, then waits until the test lets it go on."""

    def __init__(self) -> None:
        self.started = 0
        self.cancelled = 0
        self.go_on = asyncio.Event()
        self.told = asyncio.Event()
        self.end = asyncio.Event()
        self.answer = "done"

    async def __call__(self, sink: Sink) -> str:
        self.started += 1
        try:
            progress(sink, 1)
            await self.go_on.wait()
            progress(sink, 2)
            self.told.set()
            await self.end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return self.answer


@asynccontextmanager
async def working(
    monkeypatch: pytest.MonkeyPatch, version: str = "2025-11-25"
) -> AsyncGenerator[tuple[Worker, Asking, httpx2.AsyncClient]]:
    worker = Worker()
    async with asking(monkeypatch, work=worker) as board, board.session(version) as http:
        yield worker, board, http


async def leave_after_the_first(board: Asking, http: httpx2.AsyncClient) -> str:
    """Begin a call, read one notification and go; give the id of the last event."""
    async with board.post(http, tool("work")) as reading:
        assert (await reading.message())["params"]["progress"] == 1
    return reading.last_id


def numbers(messages: list[Json]) -> list[int]:
    return [m["params"]["progress"] for m in messages if m.get("method")]


def text_of(message: Json) -> str:
    return message["result"]["content"][0]["text"]


async def test_a_stream_begins_by_saying_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async with working(monkeypatch) as (worker, board, http):
        async with board.post(http, tool("work")) as reading:
            first = await reading.event()
            assert (first.data, bool(first.id), first.retry_ms) == (b"", True, 1000)
            second = await reading.event()
            assert second.id not in {"", first.id}
            worker.go_on.set()
            worker.end.set()
            await reading.messages()
        async with board.get(http) as reading:
            primed = await reading.event()
            assert (primed.data, bool(primed.id)) == (b"", True)


@pytest.mark.parametrize("version", OLDER)
async def test_older_clients_get_no_event_without_data(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    async with working(monkeypatch, version) as (worker, board, http):
        worker.go_on.set()
        worker.end.set()
        async with board.post(http, tool("work")) as reading:
            assert (await reading.event()).data
            await reading.messages()
            assert reading.last_id == ""


async def test_an_answer_that_comes_soon_and_alone_is_no_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def quick(_: Sink) -> str:
        return "quick"

    async with asking(monkeypatch, quick=quick) as board, board.session() as http:
        response = await http.post(board.url, json=tool("quick"))
        assert response.headers["content-type"] == "application/json"


async def test_a_client_that_comes_back_gets_what_it_missed_and_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with working(monkeypatch) as (worker, board, http):
        last = await leave_after_the_first(board, http)
        worker.go_on.set()
        await worker.told.wait()
        async with board.get(http, last) as reading:
            assert (await reading.message())["params"]["progress"] == 2
            worker.end.set()
            [answer] = await reading.messages()
            assert text_of(answer) == "done"
        assert (worker.started, worker.cancelled) == (1, 0)


async def test_an_answer_waits_for_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    async with working(monkeypatch) as (worker, board, http):
        worker.answer = "x" * 3_000_000
        last = await leave_after_the_first(board, http)
        worker.go_on.set()
        worker.end.set()
        await worker.told.wait()
        async with board.get(http, last) as reading:
            told, answer = await reading.messages()
            assert told["params"]["progress"] == 2
            assert text_of(answer) == worker.answer


async def test_what_got_lost_at_the_very_end_can_be_had_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with working(monkeypatch) as (worker, board, http):
        worker.go_on.set()
        worker.end.set()
        async with board.post(http, tool("work")) as reading:
            primed = (await reading.event()).id
            whole = await reading.messages()
        async with board.get(http, primed) as reading:
            assert await reading.messages() == whole
        async with board.get(http, reading.last_id) as reading:
            assert await reading.messages() == []


async def test_a_newer_connection_takes_the_stream_over(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        working(monkeypatch) as (worker, board, http),
        board.post(http, tool("work")) as older,
    ):
        await older.message()
        async with board.get(http, older.last_id) as newer:
            assert await older.messages() == []
            worker.go_on.set()
            worker.end.set()
            told, answer = await newer.messages()
            assert (told["params"]["progress"], text_of(answer)) == (2, "done")


async def test_nothing_is_done_for_a_client_that_does_not_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("switchboard.surface.http.sessions.RESUME_S", 0.1)
    async with working(monkeypatch) as (worker, board, http):
        last = await leave_after_the_first(board, http)
        await until_true(lambda: worker.cancelled == 1)
        assert (await http.get(board.url, headers={"last-event-id": last})).status_code == 400


async def test_a_session_that_ends_ends_what_waits_for_its_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with working(monkeypatch) as (worker, board, http):
        last = await leave_after_the_first(board, http)
        await http.delete(board.url)
        await until_true(lambda: worker.cancelled == 1)
        assert (await http.get(board.url, headers={"last-event-id": last})).status_code == 404


@pytest.mark.parametrize("version", OLDER)
async def test_an_older_client_that_leaves_has_cancelled(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    async with working(monkeypatch, version) as (worker, board, http):
        await leave_after_the_first(board, http)
        await until_true(lambda: worker.cancelled == 1)


async def test_a_client_that_takes_json_alone_and_leaves_has_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with working(monkeypatch) as (worker, board, http):
        http.headers["accept"] = "application/json"
        asked = asyncio.ensure_future(http.post(board.url, json=tool("work")))
        await until_true(lambda: worker.started == 1)
        asked.cancel()
        await until_true(lambda: worker.cancelled == 1)


async def test_a_cancelled_call_cannot_be_taken_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with working(monkeypatch) as (worker, board, http):
        last = await leave_after_the_first(board, http)
        await http.post(board.url, json=notification("notifications/cancelled", {"requestId": 1}))
        await until_true(lambda: worker.cancelled == 1)
        async with board.get(http, last) as reading:
            assert await reading.messages() == []
        assert (await http.get(board.url, headers={"last-event-id": last})).status_code == 400


async def test_nobody_takes_up_the_stream_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        working(monkeypatch) as (worker, board, http),
        board.session() as stranger,
    ):
        last = await leave_after_the_first(board, http)
        assert await _status(stranger, board, last) == 400
        worker.go_on.set()
        worker.end.set()
        async with board.get(http, last) as reading:
            assert text_of((await reading.messages())[-1]) == "done"


@pytest.mark.parametrize(
    "unknown", ["x", "-", "77-1", "0-x", "0", "-1", "0-" + "9" * 5000, "0-²", "../1-1"]
)
async def test_an_unknown_event_is_refused(monkeypatch: pytest.MonkeyPatch, unknown: str) -> None:
    async with asking(monkeypatch) as board, board.session() as http:
        headers = [(b"last-event-id", unknown.encode("latin-1"))]
        response = await http.get(board.url, headers=headers)
        assert response.status_code == 400


async def test_the_stream_of_a_session_goes_on_where_it_broke(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def updated(number: int) -> None:
        board.sink.notify("notifications/resources/updated", said({"uri": f"x:{number}"}))

    async with working(monkeypatch) as (worker, board, http):
        async with board.get(http) as reading:
            updated(1)
            await reading.message()
            seen = reading.last_id
            updated(2)
            await reading.message()
        await leave_after_the_first(board, http)
        updated(3)
        async with board.get(http, seen) as reading:
            # What broke with the response of the call is not told here.
            for number in (2, 3):
                assert (await reading.message())["params"] == {"uri": f"x:{number}"}
            updated(4)
            assert (await reading.message())["params"] == {"uri": "x:4"}
        assert worker.cancelled == 0


async def test_a_question_survives_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    asks = asyncio.Event()

    async def ask(sink: Sink) -> str:
        progress(sink)
        await asks.wait()
        return str(json.loads(bytes(await sink.request("roots/list", said({})))))

    async with asking(monkeypatch, ask=ask) as board, board.session() as http:
        async with board.post(http, tool("ask")) as reading:
            await reading.message()
        asks.set()
        async with board.get(http, reading.last_id) as reading:
            question = await reading.message()
        # Seen, but lost again before it was answered: it may be answered all the same.
        await board.answer(http, question["id"], {"roots": [7]})
        async with board.get(http, reading.last_id) as reading:
            assert text_of((await reading.messages())[0]) == "{'roots': [7]}"


async def test_what_is_left_behind_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("switchboard.surface.http.sessions.MOST_LEFT", 2)

    async def tell(sink: Sink) -> str:
        progress(sink)
        return "told"

    async with asking(monkeypatch, tell=tell) as board, board.session() as http:
        ids: list[str] = []
        for number in range(4):
            async with board.post(http, tool("tell", number)) as reading:
                ids.append((await reading.event()).id)
                await reading.messages()
        found = [await _status(http, board, last) for last in ids]
        assert found == [400, 400, 200, 200]


async def _status(http: httpx2.AsyncClient, board: Asking, last: str) -> int:
    return (await http.get(board.url, headers={"last-event-id": last})).status_code


async def test_the_sdk_client_gets_its_answer_over_a_connection_that_breaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = Worker()
    bearer = {"authorization": f"Bearer {TOKEN}"}
    async with (
        asking(monkeypatch, work=worker) as board,
        cutting_proxy(board.url) as proxy,
        httpx2.AsyncClient(headers=bearer, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(proxy.url, http_client=http), mode="legacy") as client,
    ):
        called = asyncio.ensure_future(client.call_tool("work", {}))
        await until_true(lambda: proxy.has_passed(b"notifications/progress"))
        proxy.cut()
        worker.go_on.set()
        worker.end.set()
        async with asyncio.timeout(15):
            [block] = (await called).content
        assert isinstance(block, TextContent)
        assert block.text == "done"
        assert (worker.started, worker.cancelled) == (1, 0)
