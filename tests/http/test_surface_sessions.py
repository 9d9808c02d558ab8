"""Sessions on the raw wire: how they begin and end, batches, cancellation, and clients that go."""

import asyncio
import json
from pathlib import Path

import httpx2
import pytest
from edges.board import (
    MODERN,
    Json,
    Served,
    call,
    initialize,
    modern,
    notification,
    request,
    served_board,
)

from support.processes import until_true
from switchboard.core.events import CallStarted, SessionClosed, SessionOpened


async def history(board: Served, http: httpx2.AsyncClient) -> Json:
    response = await http.post(board.url, json=call("history", id_="history"))
    return json.loads(response.json()["result"]["content"][0]["text"])


async def until_called(board: Served, http: httpx2.AsyncClient) -> None:
    """Wait until the child has got the one call that is under way (which starts it)."""
    await until_true(lambda: any(isinstance(e, CallStarted) for e in board.events))
    async with asyncio.timeout(30):
        asked = 1
        # It tells what it has got only when it is asked, and each question is a call, too.
        while (await history(board, http))["received"].count("tools/call") <= asked:
            asked += 1
            await asyncio.sleep(0.05)


async def test_a_session_begins_with_initialize_and_ends_with_delete(served: Served) -> None:
    async with served.client() as http:
        session_id = await served.session(http)
        assert len(session_id) >= 32
        response = await http.post(served.url, json=request("ping"))
        assert response.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert response.headers["content-type"] == "application/json"
        assert (await http.delete(served.url)).status_code == 204
        assert (await http.post(served.url, json=request("ping"))).status_code == 404
    assert [type(e) for e in served.events if isinstance(e, SessionOpened | SessionClosed)] == [
        SessionOpened,
        SessionClosed,
    ]


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25", "2019-01-01"])
async def test_the_version_is_agreed_on(served: Served, version: str) -> None:
    async with served.client() as http:
        answer = (await http.post(served.url, json=initialize(version))).json()
    known = version if version != "2019-01-01" else "2025-11-25"
    assert answer["result"]["protocolVersion"] == known


async def test_a_refused_initialize_leaves_no_session(served: Served) -> None:
    async with served.client() as http:
        response = await http.post(served.url, json=request("initialize", {"nonsense": 1}))
    assert response.json()["error"]["code"] == -32602
    assert "mcp-session-id" not in response.headers


async def test_notifications_and_answers_are_accepted_without_a_word(served: Served) -> None:
    async with served.client() as http:
        await served.session(http)
        answer: Json = {"jsonrpc": "2.0", "id": 7, "result": {}}
        for message in (notification("notifications/initialized"), answer):
            response = await http.post(served.url, json=message)
            assert (response.status_code, response.content) == (202, b"")
        http.headers["mcp-protocol-version"] = MODERN
        response = await http.post(served.url, json=notification("notifications/whatever"))
        assert response.status_code == 202


async def test_a_batch_is_answered_as_one(served: Served) -> None:
    async with served.client() as http:
        await served.session(http, "2025-03-26")
        batch = [
            call("echo", {"text": "a"}, 1),
            notification("notifications/whatever"),
            request("ping", id_="two"),
            request("nonsense", id_=3),
        ]
        answers = (await http.post(served.url, json=batch)).json()
        assert [answer["id"] for answer in answers] == [1, "two", 3]
        assert answers[0]["result"]["content"][0]["text"] == "echo: a"
        assert answers[2]["error"]["code"] == -32601
        quiet = await http.post(served.url, json=[notification("notifications/whatever")])
        assert quiet.status_code == 202
        assert (await http.post(served.url, json=[])).status_code == 400
        assert (await http.post(served.url, json=[initialize()])).status_code == 400


async def test_other_versions_have_no_batches(served: Served) -> None:
    async with served.client() as http:
        await served.session(http)
        assert (await http.post(served.url, json=[request("ping")])).status_code == 400
        http.headers["mcp-protocol-version"] = MODERN
        assert (await http.post(served.url, json=[request("ping")])).status_code == 400


async def test_a_cancelled_call_ends_without_an_answer(served: Served) -> None:
    async with served.client() as http:
        await served.session(http)
        stalled = asyncio.ensure_future(http.post(served.url, json=call("stall", id_=5)))
        await until_called(served, http)
        cancel = notification("notifications/cancelled", {"requestId": 5})
        assert (await http.post(served.url, json=cancel)).status_code == 202
        response = await stalled
        assert response.headers["content-type"] == "text/event-stream"
        assert b"data:" not in response.content
        assert len((await history(served, http))["cancelled"]) == 1


@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_a_client_that_leaves_in_the_middle_cancels_its_call(
    served: Served, era: str
) -> None:
    async with served.client() as http:
        await served.session(http)
        body, headers = call("stall"), dict[str, str]()
        if era == "modern":
            body, headers = modern(body)
        async with served.client(**headers) as leaving:
            if era == "handshake":
                leaving.headers["mcp-session-id"] = http.headers["mcp-session-id"]
            stalled = asyncio.ensure_future(leaving.post(served.url, json=body))
            await until_called(served, http)
            stalled.cancel()
        async with asyncio.timeout(10):
            # The child tells what it has got only when it is asked.
            while not (await history(served, http))["cancelled"]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)


async def test_one_client_cannot_cancel_the_call_of_another(served: Served) -> None:
    async with served.client() as one, served.client() as other:
        await served.session(one)
        await served.session(other)
        stalled = asyncio.ensure_future(one.post(served.url, json=call("stall", id_=5)))
        await until_called(served, one)
        cancel = notification("notifications/cancelled", {"requestId": 5})
        assert (await other.post(served.url, json=cancel)).status_code == 202
        assert (await history(served, other))["cancelled"] == []
        assert not stalled.done()
        stalled.cancel()


async def test_an_id_can_be_used_by_one_call_at_a_time(served: Served) -> None:
    async with served.client() as http:
        await served.session(http)
        stalled = asyncio.ensure_future(http.post(served.url, json=call("stall", id_=5)))
        await until_called(served, http)
        again = await http.post(served.url, json=call("echo", {"text": "x"}, 5))
        assert again.status_code == 400
        stalled.cancel()


async def test_an_idle_session_is_forgotten(tmp_path: Path) -> None:
    async with served_board(tmp_path, idle_s=0.2) as board, board.client() as http:
        await board.session(http)
        await until_true(lambda: any(isinstance(e, SessionClosed) for e in board.events))
        assert (await http.post(board.url, json=request("ping"))).status_code == 404


async def test_a_session_with_an_open_stream_is_kept(tmp_path: Path) -> None:
    async with served_board(tmp_path, idle_s=0.2) as board, board.client() as http:
        await board.session(http)
        async with http.stream("GET", board.url) as stream:
            assert stream.status_code == 200
            await asyncio.sleep(0.6)
            assert (await http.post(board.url, json=request("ping"))).status_code == 200


async def test_a_newer_stream_takes_the_place_of_an_older(served: Served) -> None:
    async with served.client() as http:
        await served.session(http)
        async with (
            asyncio.timeout(5),
            http.stream("GET", served.url) as older,
            http.stream("GET", served.url) as newer,
        ):
            async for _ in older.aiter_bytes():
                pass
            served.surface.changed("tools", "")
            async for chunk in newer.aiter_bytes():
                if b"list_changed" in chunk:
                    break


async def test_what_was_said_while_nobody_listened_is_said_later(served: Served) -> None:
    async with served.client() as http:
        await served.session(http)
        served.surface.changed("tools", "")
        served.surface.changed("tools", "")
        seen = b""
        async with http.stream("GET", served.url) as stream, asyncio.timeout(5):
            async for chunk in stream.aiter_bytes():
                seen += chunk
                if b"list_changed" in seen:
                    break
        assert seen.count(b"list_changed") == 1


async def test_a_large_result_arrives_whole(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine it would become a stream.
    monkeypatch.setattr("switchboard.surface.http.delivery.PRIME_S", 60)
    text = "ä\n" * 1_000_000
    async with served.client() as http:
        await served.session(http)
        response = await http.post(served.url, json=call("echo", {"text": text}))
    assert response.json()["result"]["content"][0]["text"] == f"echo: {text}"


async def test_a_long_silence_turns_the_answer_into_a_stream(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard.surface.http.delivery.KEEP_ALIVE_S", 0.05)
    async with served.client() as http:
        await served.session(http)
        async with http.stream("POST", served.url, json=call("stall", id_=5)) as response:
            assert response.headers["content-type"] == "text/event-stream"
            async with asyncio.timeout(5):
                async for chunk in response.aiter_bytes():
                    assert chunk.startswith(b":")
                    break


async def test_an_answer_leaves_nothing_running_while_its_connection_stays_open(
    served: Served,
) -> None:
    async with served.client() as http:
        await served.session(http)
        await http.post(served.url, json=call("echo", {"text": "x"}))
        before = len(asyncio.all_tasks())
        for id_ in range(5):
            await http.post(served.url, json=call("echo", {"text": "x"}, id_=id_))
            body, headers = modern(call("echo", {"text": "x"}, id_=id_))
            await http.post(served.url, json=body, headers=headers)
        await until_true(lambda: len(asyncio.all_tasks()) <= before)


async def test_the_longest_idle_session_makes_room_for_a_new_one(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard.surface.http.sessions.MOST_SESSIONS", 2)
    async with served.client() as one, served.client() as two, served.client() as three:
        await served.session(one)
        await served.session(two)
        await one.post(served.url, json=request("ping"))
        await served.session(three)
        answers = [await each.post(served.url, json=request("ping")) for each in (one, two, three)]
        assert [answer.status_code for answer in answers] == [200, 404, 200]


async def test_nobody_is_pushed_out_while_busy(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard.surface.http.sessions.MOST_SESSIONS", 1)
    async with served.client() as http, served.client() as late:
        await served.session(http)
        async with http.stream("GET", served.url):
            refused = await late.post(served.url, json=initialize())
        assert refused.status_code == 503
