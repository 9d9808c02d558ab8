"""What a peer asks: ids, answers in any order, errors, cancellation, and the end of the other."""

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from fakes.pipes import FakePipe
from support.requirements import requirement
from switchboard.wire.messages import METHOD_NOT_FOUND, MessageId, Parts, RpcError
from switchboard.wire.peer import Peer
from switchboard.wire.pending import PeerLost
from switchboard.wire.pipes import Loss


def refuse(method: str, _params: Raw, _id: MessageId) -> Parts:
    raise RpcError(METHOD_NOT_FOUND, method)


def make_peer(**more: Any) -> tuple[Peer, FakePipe]:
    pipe = FakePipe()
    return Peer(pipe, on_request=refuse, **more), pipe


async def asked(peer: Peer, method: str, count: int = 1) -> list[asyncio.Task[Raw]]:
    """Start requests and let them reach the pipe."""
    tasks = [asyncio.create_task(peer.request(method)) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


@requirement("S2.60", "S2.61")
async def test_every_request_is_json_rpc_2_with_an_id_of_its_own() -> None:
    peer, pipe = make_peer()
    tasks = await asked(peer, "tools/list", 3)
    assert [sorted(message) for message in pipe.messages] == [
        ["id", "jsonrpc", "method", "params"]
    ] * 3
    assert {message["jsonrpc"] for message in pipe.messages} == {"2.0"}
    assert len({message["id"] for message in pipe.messages}) == 3
    for message in pipe.messages:
        peer.receive(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % message["id"])
    await asyncio.gather(*tasks)


@requirement("S2.64")
async def test_answers_that_come_in_another_order_reach_whom_they_belong_to() -> None:
    peer, pipe = make_peer()
    tasks = await asked(peer, "tools/call", 3)
    for message in reversed(pipe.messages):
        peer.receive(b'{"id":%d,"result":[%d]}' % (message["id"], message["id"]))
    ids = [message["id"] for message in pipe.messages]
    assert [bytes(await task) for task in tasks] == [b"[%d]" % id_ for id_ in ids]
    assert len(peer.pending) == 0


async def test_an_answer_to_nobody_is_ignored() -> None:
    peer, pipe = make_peer()
    [task] = await asked(peer, "tools/call")
    peer.receive(b'{"id":"nobody","result":1}')
    peer.receive(b'{"id":999,"error":{"code":1,"message":"x"}}')
    peer.receive(b'{"id":null,"result":1}')
    assert not task.done()
    [message] = pipe.messages
    peer.receive(b'{"id":%d,"result":2}' % message["id"])
    assert bytes(await task) == b"2"


@requirement("S2.81")
async def test_an_error_answer_is_raised_with_code_message_and_data() -> None:
    peer, pipe = make_peer()
    [task] = await asked(peer, "tools/call")
    error = b'{"code":-32602,"message":"no such tool","data":{"name":"x"}}'
    peer.receive(b'{"id":%d,"error":%b}' % (pipe.messages[0]["id"], error))
    with pytest.raises(RpcError) as caught:
        await task
    assert (caught.value.code, caught.value.message) == (-32602, "no such tool")
    assert caught.value.data == {"name": "x"}


@pytest.mark.parametrize("error", [b'"broken"', b'{"code":"x"}', b"[]", b'{"message":7}'])
async def test_an_error_of_a_wrong_shape_is_still_an_error(error: bytes) -> None:
    peer, pipe = make_peer()
    [task] = await asked(peer, "tools/call")
    peer.receive(b'{"id":%d,"error":%b}' % (pipe.messages[0]["id"], error))
    with pytest.raises(RpcError):
        await task


async def test_a_request_that_is_given_up_is_cancelled_at_the_other_side() -> None:
    peer, pipe = make_peer()
    [task] = await asked(peer, "tools/call")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    request, cancelled = pipe.messages
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == request["id"]
    peer.receive(b'{"id":%d,"result":{}}' % request["id"])
    assert len(peer.pending) == 0


async def test_everybody_who_waits_hears_that_the_other_side_is_gone() -> None:
    losses: list[Loss] = []
    peer, _ = make_peer(on_lost=losses.append)
    tasks = await asked(peer, "tools/call", 5)
    loss = Loss(reason="broken", message="pipe")
    peer.lose(loss)
    peer.lose(Loss())
    for task in tasks:
        with pytest.raises(PeerLost) as caught:
            await task
        assert caught.value.loss is loss
    assert losses == [loss]
    with pytest.raises(PeerLost):
        await peer.request("tools/list")


async def test_a_payload_is_sent_and_received_byte_for_byte() -> None:
    odd = b'{"b":1,"a":2,"b":3,"n":12345678901234567890123,"u":"\\u00e9\\ud83d\\ude00","f":1.0e+2}'
    peer, pipe = make_peer()
    task = asyncio.create_task(peer.request("tools/call", (Raw(odd),)))
    await asyncio.sleep(0)
    assert odd in pipe.sent[0]
    peer.receive(b'{"result": %b ,"id":%d}' % (odd, pipe.messages[0]["id"]))
    assert bytes(await task) == odd


async def test_a_notification_is_handed_on_with_its_raw_parameters() -> None:
    heard: list[tuple[str, bytes]] = []

    def hear(method: str, params: Raw) -> None:
        heard.append((method, bytes(params)))

    peer, pipe = make_peer(on_notification=hear)
    peer.receive(b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"a": 1}}')
    assert heard == [("notifications/progress", b'{"a": 1}')]
    assert pipe.sent == []


async def test_closing_a_peer_ends_what_waits_and_closes_the_pipe() -> None:
    peer, pipe = make_peer()
    [task] = await asked(peer, "tools/call")
    await peer.aclose()
    with pytest.raises(PeerLost):
        await task
    assert pipe.closed
