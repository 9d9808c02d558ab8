"""What a peer is asked: answers, errors, cancellation, batches, junk, and ids used twice."""

import asyncio
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from fakes.pipes import FakePipe
from support.requirements import attack
from switchboard.wire.messages import MessageId, Parts, RpcError
from switchboard.wire.peer import Answer, Peer
from switchboard.wire.pipes import Loss

ODD_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)
METHODS = st.sampled_from(["now", "refuse", "wait", "burst-now", "notifications/cancelled"])
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | ODD_VALUES,
        "id": ODD_VALUES,
        "method": METHODS | ODD_VALUES,
        "params": ODD_VALUES,
        "result": ODD_VALUES,
        "error": ODD_VALUES,
    },
).map(lambda value: json.dumps(value).encode())


class Desk:
    """Answers requests: some at once, some when they are let go, some badly."""

    def __init__(self) -> None:
        self.begun: list[MessageId] = []
        self.cancelled: list[MessageId] = []
        self.gate = asyncio.Event()
        self._news = asyncio.Event()

    def request(self, method: str, params: Raw, message_id: MessageId) -> "Parts | Answer":
        self.begun.append(message_id)
        match method:
            case "now":
                return (b"[", params or b"null", b"]")
            case "burst-now":
                raise RuntimeError("/secret/path went wrong")
            case "refuse":
                raise RpcError(-32601, "not here", {"method": method})
            case _:
                return self._later(method, message_id)

    async def _later(self, method: str, message_id: MessageId) -> Parts:
        if method == "refuse-later":
            raise RpcError(-32000, "later")
        if method == "burst":
            raise RuntimeError("/secret/path went wrong")
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(message_id)
            self._news.set()
            raise
        return (b'"late"',)

    async def has_cancelled(self) -> None:
        """Wait until the first request was cancelled here."""
        async with asyncio.timeout(5):
            await self._news.wait()
        assert self.cancelled == [1]


@pytest.fixture
async def desk() -> Desk:
    return Desk()


def make_peer(desk: Desk, **more: Any) -> tuple[Peer, FakePipe]:
    pipe = FakePipe()
    return Peer(pipe, on_request=desk.request, **more), pipe


def message(method: str, message_id: str = "1", params: str = "{}") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{message_id},"method":"{method}","params":{params}}}'.encode()


async def test_an_answer_carries_the_id_of_the_request_in_its_own_type(desk: Desk) -> None:
    peer, pipe = make_peer(desk)
    for message_id in ("7", '"seven"', "1.5"):
        peer.receive(message("now", message_id))
    assert [sent["id"] for sent in pipe.messages] == [7, "seven", 1.5]
    assert all(sent["result"] == [{}] and sent["jsonrpc"] == "2.0" for sent in pipe.messages)


async def test_a_slow_request_does_not_hold_up_a_fast_one(desk: Desk) -> None:
    peer, pipe = make_peer(desk)
    peer.receive(message("wait", "1"))
    peer.receive(message("now", "2"))
    assert [sent["id"] for sent in pipe.messages] == [2]
    desk.gate.set()
    assert [sent["id"] for sent in await pipe.has_sent(2)] == [2, 1]


async def test_errors_are_answered_with_their_code_and_data(desk: Desk) -> None:
    peer, pipe = make_peer(desk)
    peer.receive(message("refuse", "1"))
    peer.receive(message("refuse-later", "2"))
    first, second = await pipe.has_sent(2)
    assert first["error"] == {"code": -32601, "message": "not here", "data": {"method": "refuse"}}
    assert second["error"] == {"code": -32000, "message": "later"}


DEEP = '{"a":' * 5_000 + '"id":9' + "}" * 5_000


@attack("T59")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'{{"jsonrpc":"2.0","id":7,"method":"now","params":{DEEP}}}', 7),
        (f'{{ "method" : "now", "id": "a b", "params": {DEEP} }}', "a b"),
        (f'{{"method":"now","params":{DEEP},"jsonrpc":"2.0","id":8}}', 8),
        (f'{{"method":"now","params":{DEEP},"id":8,"jsonrpc":"2.0"}} ', 8),
        # Whose it is cannot be told, or it is nobody's: an answer has an id of ours.
        (f'{{"jsonrpc":"2.0","id":7,"result":{DEEP}}}', None),
        (f'{{"jsonrpc":"2.0","method":"now","params":{DEEP}}}', None),
        (f'{{"jsonrpc":"2.0","params":{DEEP},"method":"now"}}', None),
        (f'{{"params":{DEEP},"id":7.5,"method":"now"}}', None),
        (f'[{{"jsonrpc":"2.0","id":7,"method":"now","params":{DEEP}}}]', None),
        # One of that id is under way, and gets its own answer.
        (f'{{"jsonrpc":"2.0","id":1,"method":"now","params":{DEEP}}}', None),
    ],
)
async def test_a_request_that_is_nested_too_deeply_is_answered_to_who_asked(
    text: str, told: MessageId, desk: Desk
) -> None:
    peer, pipe = make_peer(desk)
    peer.receive(message("wait", "1"))
    peer.receive(text.encode())
    [answer] = await pipe.has_sent(1)
    assert answer["id"] == told
    assert answer["error"]["code"] in (-32600, -32700)
    assert desk.begun == [1]


@pytest.mark.parametrize("method", ["burst", "burst-now"])
async def test_what_nobody_foresaw_is_an_internal_error_without_its_text(
    method: str, desk: Desk
) -> None:
    peer, pipe = make_peer(desk)
    peer.receive(message(method))
    [answer] = await pipe.has_sent(1)
    assert answer["error"]["code"] == -32603
    assert b"/secret/path" not in pipe.sent[0]


async def test_a_cancelled_request_is_ended_and_never_answered(desk: Desk) -> None:
    peer, pipe = make_peer(desk)
    peer.receive(message("wait", "1"))
    peer.receive(message("wait", "2"))
    await asyncio.sleep(0)
    peer.receive(b'{"method":"notifications/cancelled","params":{"requestId":1}}')
    await desk.has_cancelled()
    desk.gate.set()
    assert [sent["id"] for sent in await pipe.has_sent(1)] == [2]
    peer.receive(message("now", "3"))
    assert [sent["id"] for sent in pipe.messages] == [2, 3]


async def test_a_request_cancelled_before_it_began_leaves_its_id_free(desk: Desk) -> None:
    """Both come in the same bytes."""
    peer, pipe = make_peer(desk)
    peer.receive(message("wait", "1"))
    peer.receive(b'{"method":"notifications/cancelled","params":{"requestId":1}}')
    for _ in range(3):
        await asyncio.sleep(0)
    assert desk.cancelled == []
    peer.receive(message("now", "1"))
    [answer] = pipe.messages
    assert answer["result"] == [{}]


@pytest.mark.parametrize("params", ['{"requestId":9}', "{}", '{"requestId":[]}', "[]", "7"])
async def test_a_cancellation_of_nothing_disturbs_nothing(desk: Desk, params: str) -> None:
    peer, pipe = make_peer(desk)
    peer.receive(message("wait", "1"))
    peer.receive(f'{{"method":"notifications/cancelled","params":{params}}}'.encode())
    desk.gate.set()
    assert [sent["id"] for sent in await pipe.has_sent(1)] == [1]


async def test_an_id_that_is_still_under_way_is_refused_and_the_first_goes_on(desk: Desk) -> None:
    peer, pipe = make_peer(desk)
    peer.receive(message("wait", "1"))
    peer.receive(message("wait", "1"))
    assert pipe.messages[0]["error"]["code"] == -32600
    assert len(desk.begun) == 1
    desk.gate.set()
    await pipe.has_sent(2)
    peer.receive(message("now", "1"))
    assert [sent.get("result") for sent in pipe.messages] == [None, "late", [{}]]


async def test_every_part_of_a_batch_is_answered(desk: Desk) -> None:
    peer, pipe = make_peer(desk)
    peer.receive(b"[%b,%b,7]" % (message("now", "1"), message("refuse", "2")))
    assert [sent["id"] for sent in pipe.messages] == [1, 2, None]
    assert pipe.messages[2]["error"]["code"] == -32600


@pytest.mark.parametrize(
    "batch",
    [
        b"[" + b"1," * 7_800_000 + b"1]",
        b"[" + b",".join([b'{"method":"notifications/x"}'] * 257) + b"]",
        b"[" + b",".join([b'{"method":"notifications/x"}'] * 100_000) + b"]",
    ],
    ids=["of numbers", "of one too many", "of a hundred thousand"],
)
@attack("D2")
async def test_a_batch_beyond_measure_is_refused_whole_at_once(desk: Desk, batch: bytes) -> None:
    noted: list[str] = []
    pipe = FakePipe()
    peer = Peer(pipe, on_request=desk.request, on_notification=lambda name, _: noted.append(name))
    began = time.process_time()
    peer.receive(batch)
    # A tenth of what it took when each part was looked at, on a slow machine.
    assert time.process_time() - began < 1
    [answer] = pipe.messages
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert noted == []


@pytest.mark.parametrize("junk", [b"{not json", b"hello", b'{"id":', b"\xff\xfe", b"[" * 5000])
async def test_what_is_not_json_is_a_parse_error_with_the_id_null(desk: Desk, junk: bytes) -> None:
    peer, pipe = make_peer(desk)
    peer.receive(junk)
    [answer] = pipe.messages
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)


@pytest.mark.parametrize(
    "odd", [b"{}", b"7", b"null", b"[]", b'"text"', b'{"method":7,"id":1}', b'{"id":{}}']
)
async def test_json_that_is_no_message_is_an_invalid_request(desk: Desk, odd: bytes) -> None:
    peer, pipe = make_peer(desk)
    peer.receive(odd)
    [answer] = pipe.messages
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


async def test_junk_is_handed_on_without_an_answer_where_it_is_expected(desk: Desk) -> None:
    heard: list[bytes] = []
    peer, pipe = make_peer(desk, on_junk=heard.append)
    for junk in (b"Starting up...", b"null", b"{}"):
        peer.receive(junk)
    assert heard == [b"Starting up...", b"null", b"{}"]
    assert pipe.sent == []


async def test_what_is_under_way_ends_with_the_other_side(desk: Desk) -> None:
    peer, pipe = make_peer(desk)
    peer.receive(message("wait", "1"))
    await asyncio.sleep(0)
    peer.lose(Loss())
    await desk.has_cancelled()
    assert pipe.sent == []


@given(st.binary(max_size=60) | MESSAGES)
def test_no_message_whatever_is_in_it_gets_the_peer_into_trouble(odd: bytes) -> None:
    async def check() -> None:
        desk = Desk()
        peer, pipe = make_peer(desk)
        peer.receive(odd)
        peer.receive(message("now", '"last"'))
        assert pipe.messages[-1]["id"] == "last"
        await peer.aclose()

    asyncio.run(check())


async def test_only_a_throttled_peer_stops_reading_under_pressure(desk: Desk) -> None:
    client, client_pipe = make_peer(desk, throttled=True)
    child, child_pipe = make_peer(desk)
    for peer in (client, child):
        peer.press(on=True)
    assert (client_pipe.reading, child_pipe.reading) == (False, True)
    client.press(on=False)
    assert client_pipe.reading


async def test_a_batch_in_a_batch_is_no_message() -> None:
    pipe = FakePipe()
    Peer(pipe, on_request=Desk().request).receive(b"[" * 495 + b"]" * 495)
    [answer] = pipe.messages
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
