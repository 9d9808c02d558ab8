"""Clients over HTTP are told and asked things: on the response of a request, or on their stream."""

import asyncio
import contextlib
import json
from typing import Any

import httpx2
import pytest
from edges.asking import asking, progress, said, tool
from edges.board import TOKEN, Json, modern, notification
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult, TextContent

from switchboard.surface.sink import Sink
from switchboard.wire.messages import RpcError
from switchboard.wire.pending import PeerLost

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
QUESTION: Json = {"message": "your name?", "requestedSchema": {"type": "object", "properties": {}}}


async def ask(sink: Sink) -> str:
    """Ask on the request's own response, and answer with the answer."""
    progress(sink)
    try:
        answer = await sink.request("elicitation/create", said(QUESTION))
    except RpcError as error:
        return f"refused: {error.code} {error.message}"
    return f"told: {json.loads(bytes(answer))}"


def text_of(message: Json) -> str:
    return message["result"]["content"][0]["text"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_question_goes_out_on_the_response_and_its_answer_comes_by_post(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    async with (
        asking(monkeypatch, ask=ask) as board,
        board.session(version) as http,
        board.post(http, tool("ask", "mine")) as reading,
    ):
        assert (await reading.message())["method"] == "notifications/progress"
        question = await reading.message()
        assert (question["method"], question["params"]) == ("elicitation/create", QUESTION)
        assert await board.answer(http, question["id"], {"action": "accept"}) == 202
        [answer] = await reading.messages()
        assert answer["id"] == "mine"
        assert text_of(answer) == "told: {'action': 'accept'}"


async def test_an_error_is_an_answer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        asking(monkeypatch, ask=ask) as board,
        board.session() as http,
        board.post(http, tool("ask")) as reading,
    ):
        await reading.message()
        question = await reading.message()
        error = {"code": -1, "message": "no"}
        await http.post(board.url, json={"jsonrpc": "2.0", "id": question["id"], "error": error})
        assert text_of((await reading.messages())[0]) == "refused: -1 no"


async def test_answers_to_nothing_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        asking(monkeypatch, ask=ask) as board,
        board.session() as http,
        board.session() as stranger,
        board.post(http, tool("ask")) as reading,
    ):
        await reading.message()
        question = await reading.message()
        # Another session's answer with the same id answers nothing here.
        for id_ in (question["id"], 999, "x", None, 1.5):
            assert await board.answer(stranger, id_, {"action": "stolen"}) == 202
        for id_ in (999, "x", None):
            assert await board.answer(http, id_, {"action": "guessed"}) == 202
        assert await board.answer(http, question["id"], {"action": "accept"}) == 202
        assert await board.answer(http, question["id"], {"action": "twice"}) == 202
        assert text_of((await reading.messages())[0]) == "told: {'action': 'accept'}"


async def test_many_questions_each_get_their_own_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask_many(sink: Sink) -> str:
        numbers = range(20)
        answers = await asyncio.gather(
            *(sink.request("sampling/createMessage", said({"number": n})) for n in numbers)
        )
        return str([json.loads(bytes(answer))["number"] for answer in answers] == list(numbers))

    async with (
        asking(monkeypatch, many=ask_many) as board,
        board.session() as http,
        board.post(http, tool("many")) as reading,
    ):
        questions = [await reading.message() for _ in range(20)]
        assert len({question["id"] for question in questions}) == 20
        for question in reversed(questions):
            await board.answer(http, question["id"], question["params"])
        assert text_of((await reading.messages())[0]) == "True"


async def test_a_client_without_events_cannot_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with asking(monkeypatch, ask=ask) as board, board.session() as http:
        http.headers["accept"] = "application/json"
        response = await http.post(board.url, json=tool("ask"))
        assert text_of(response.json()) == (
            "refused: -32601 `elicitation/create` cannot be asked: "
            "the client accepts no event stream"
        )


async def test_a_client_of_the_modern_era_is_told_but_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body, headers = modern(tool("ask"))
    async with (
        asking(monkeypatch, ask=ask) as board,
        board.client(**headers) as http,
        board.post(http, body) as reading,
    ):
        told, answer = await reading.messages()
        assert told["method"] == "notifications/progress"
        assert text_of(answer).startswith("refused: -32601 `elicitation/create` cannot be asked")
        assert reading.last_id == ""


async def test_a_question_that_nobody_waits_for_is_withdrawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def ask_briefly(sink: Sink) -> str:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await sink.request("elicitation/create", said(QUESTION))
        return "gave up"

    async with (
        asking(monkeypatch, ask=ask_briefly) as board,
        board.session() as http,
        board.post(http, tool("ask")) as reading,
    ):
        question, withdrawn, answer = await reading.messages()
        assert withdrawn["method"] == "notifications/cancelled"
        assert withdrawn["params"] == {"requestId": question["id"]}
        assert text_of(answer) == "gave up"


async def test_a_cancelled_call_withdraws_its_question(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        asking(monkeypatch, ask=ask) as board,
        board.session() as http,
        board.post(http, tool("ask", 5)) as reading,
    ):
        await reading.message()
        question = await reading.message()
        cancel = notification("notifications/cancelled", {"requestId": 5})
        await http.post(board.url, json=cancel)
        [withdrawn] = await reading.messages()
        assert withdrawn["params"] == {"requestId": question["id"]}


async def test_a_session_that_ends_fails_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async with asking(monkeypatch) as board, board.session() as http:
        async with board.get(http) as reading:
            asked = asyncio.ensure_future(board.sink.request("roots/list", said({})))
            assert (await reading.message())["method"] == "roots/list"
            await http.delete(board.url)
            with pytest.raises(PeerLost, match="session has ended"):
                await asked
            with pytest.raises(StopAsyncIteration):
                await reading.message()
        with pytest.raises((PeerLost, RpcError)):
            await board.sink.request("roots/list", said({}))


async def test_a_session_is_asked_on_its_stream_else_on_a_response_else_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def stall(_: Sink) -> str:
        started.set()
        await ended.wait()
        return "done"

    async with asking(monkeypatch, stall=stall) as board, board.session() as http:
        with pytest.raises(RpcError, match="no stream open"):
            await board.sink.request("roots/list", said({}))

        async def ask_the_session(where: str) -> Json:
            await started.wait()
            return json.loads(bytes(await board.sink.request("roots/list", said({"on": where}))))

        asked = asyncio.ensure_future(ask_the_session("response"))
        async with board.post(http, tool("stall")) as response:
            question = await response.message()
            assert question["params"] == {"on": "response"}
            await board.answer(http, question["id"], {"roots": []})
            assert await asked == {"roots": []}
            async with board.get(http) as reading:
                asked = asyncio.ensure_future(ask_the_session("stream"))
                question = await reading.message()
                assert question["params"] == {"on": "stream"}
                await board.answer(http, question["id"], {"roots": [1]})
                assert await asked == {"roots": [1]}
            ended.set()
            assert text_of((await response.messages())[0]) == "done"


async def test_a_batch_shares_one_response(monkeypatch: pytest.MonkeyPatch) -> None:
    async with asking(monkeypatch, ask=ask) as board, board.session("2025-03-26") as http:
        batch = [tool("ask", 1), tool("ask", 2)]
        async with http.stream("POST", board.url, json=batch) as response:
            assert response.headers["content-type"] == "text/event-stream"
            answers: Json = {}
            async for line in response.aiter_lines():
                if "elicitation/create" in line:
                    asked = json.loads(line.removeprefix("data: "))["id"]
                    await board.answer(http, asked, {"n": asked})
                elif line.startswith("data: ["):
                    answers = {each["id"]: text_of(each) for each in json.loads(line[6:])}
        assert answers == {1: "told: {'n': 1}", 2: "told: {'n': 2}"}


@pytest.mark.parametrize(
    ("mode", "answer"), [("legacy", "'name': 'Ada'"), ("auto", "cannot be asked")]
)
async def test_the_sdk_client_is_told_and_if_it_can_be_asked(
    monkeypatch: pytest.MonkeyPatch, mode: str, answer: str
) -> None:
    seen: list[float] = []

    async def elicit(context: object, params: Any) -> ElicitResult:
        del context
        assert params.message == "your name?"
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def count(progress: float, total: float | None, message: str | None) -> None:
        del total, message
        seen.append(progress)

    async def ask_with_tokens(sink: Sink) -> str:
        # The SDK's token of progress is the id of its request, which is a small number.
        for token in range(1, 8):
            sink.notify("notifications/progress", said({"progressToken": token, "progress": 1}))
        return await ask(sink)

    async with (
        asking(monkeypatch, ask=ask_with_tokens) as board,
        httpx2.AsyncClient(
            headers={"authorization": f"Bearer {TOKEN}"}, timeout=60, trust_env=False
        ) as http,
        Client(
            streamable_http_client(board.url, http_client=http),
            mode=mode,
            elicitation_callback=elicit,
        ) as client,
    ):
        result = await client.call_tool("ask", {}, progress_callback=count)
    [block] = result.content
    assert isinstance(block, TextContent)
    assert answer in block.text
    assert set(seen) == {1.0}
