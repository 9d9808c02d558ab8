"""What a stream holds for a client that does not read, or does not read any more."""

import asyncio
import json

import pytest
from edges.asking import asking, progress, said, tool

from switchboard.surface.http.exchange import HttpReply
from switchboard.surface.http.sessions import MOST_QUESTIONS
from switchboard.surface.http.streams import (
    MOST_KEPT,
    MOST_KEPT_BYTES,
    MOST_WAITING,
    MOST_WAITING_BYTES,
    Stream,
)
from switchboard.surface.sink import Sink
from switchboard.wire.messages import RpcError
from switchboard.wire.pending import Pending

KILOBYTE = "x" * 1000


def a_stream(**more: object) -> Stream:
    return Stream("1", accepts_events=True, has_ids=True, **more)  # type: ignore[arg-type]


def drained(stream: Stream) -> list[bytes]:
    found: list[bytes] = []
    while not stream.is_empty:
        found.append(b"".join(map(bytes, stream.take().parts)))
    return found


def test_a_flood_keeps_the_newest_and_never_more_than_the_bound() -> None:
    stream = a_stream()
    for number in range(3 * MOST_WAITING):
        progress(stream, number)
        assert stream.held_bytes <= MOST_WAITING_BYTES
    kept = drained(stream)
    assert len(kept) == MOST_WAITING
    assert f'"progress": {3 * MOST_WAITING - 1}'.encode() in kept[-1]


def test_a_flood_of_large_messages_is_bounded_in_bytes() -> None:
    stream = a_stream()
    for number in range(100):
        progress(stream, number, message=KILOBYTE * 200)
        assert stream.held_bytes <= MOST_WAITING_BYTES
    assert len(drained(stream)) < 100


def test_one_message_may_be_larger_than_the_bound() -> None:
    stream = a_stream()
    progress(stream, message=KILOBYTE * 10_000)
    assert len(drained(stream)) == 1


def test_progress_and_log_messages_go_first_and_what_must_arrive_stays() -> None:
    stream = a_stream(most_waiting=10)
    stream.notify("notifications/tools/list_changed", said({}))
    stream.say((b"question",))
    for number in range(100):
        stream.notify("notifications/message", said({"data": number}))
        progress(stream, number)
    stream.end(HttpReply(200, (b"answer",)))
    kept = drained(stream)
    assert len(kept) == 10
    assert b"list_changed" in kept[0]
    assert (kept[1], kept[-1]) == (b"question", b"answer")


def test_other_notifications_go_next_the_oldest_first() -> None:
    stream = a_stream(most_waiting=3)
    stream.say((b"question",))
    for number in range(10):
        stream.notify("notifications/resources/updated", said({"uri": f"x:{number}"}))
    kept = drained(stream)
    assert kept[0] == b"question"
    assert [b"x:8" in kept[1], b"x:9" in kept[2]] == [True, True]


def test_what_was_sent_is_kept_within_bounds() -> None:
    stream = a_stream()
    for number in range(2 * MOST_KEPT):
        progress(stream, number, message=KILOBYTE)
        stream.take()
    assert stream.held_bytes <= MOST_KEPT_BYTES
    stream.rewind(0)
    again = drained(stream)
    assert len(again) == MOST_KEPT
    assert f'"progress": {2 * MOST_KEPT - 1}'.encode() in again[-1]


def test_a_stream_that_nobody_can_resume_keeps_nothing() -> None:
    stream = Stream(accepts_events=True)
    progress(stream)
    stream.take()
    assert stream.held_bytes == 0


def test_a_client_without_events_costs_nothing() -> None:
    stream = Stream(accepts_events=False)
    progress(stream)
    assert stream.is_empty


async def test_questions_are_bounded() -> None:
    questions = Pending(most=MOST_QUESTIONS)
    asked: list[bytes] = []

    def ask() -> "asyncio.Task[object]":
        say = asked.append
        return asyncio.create_task(questions.ask(say, "roots/list", (b"{}",)))  # type: ignore[arg-type]

    waiting = [ask() for _ in range(MOST_QUESTIONS)]
    await asyncio.sleep(0)
    with pytest.raises(RpcError, match="too many questions"):
        await ask()
    assert len(asked) == MOST_QUESTIONS
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    late = ask()
    await asyncio.sleep(0)
    assert not late.done()
    late.cancel()


async def test_a_client_that_does_not_read_loses_progress_but_no_question_and_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flooded = asyncio.Event()
    held: list[int] = []
    count = 30_000

    async def flood(sink: Sink) -> str:
        assert isinstance(sink, Stream)
        asked = asyncio.ensure_future(sink.request("roots/list", said({})))
        for number in range(count):
            progress(sink, number, message=KILOBYTE)
            if number % 100 == 0:
                held.append(sink.held_bytes)
                await asyncio.sleep(0)
        flooded.set()
        return str(json.loads(bytes(await asked)))

    async with (
        asking(monkeypatch, flood=flood) as board,
        board.session() as http,
        # Until it is read the response stays where it is: in the buffers of the connection.
        board.post(http, tool("flood")) as reading,
    ):
        async with asyncio.timeout(30):
            await flooded.wait()
        assert max(held) <= MOST_WAITING_BYTES + MOST_KEPT_BYTES + 2 * len(KILOBYTE)
        told = [await reading.message()]
        while told[-1]["method"] != "roots/list":
            told.append(await reading.message())
        await board.answer(http, told.pop()["id"], {"roots": []})
        *rest, answer = await reading.messages()
        told += rest
    numbers = [message["params"]["progress"] for message in told]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == count - 1
    assert len(numbers) < count
    assert answer["result"]["content"][0]["text"] == "{'roots': []}"
