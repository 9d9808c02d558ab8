"""One message, or a batch: nothing is raised, answers are JSON, and the next one is answered."""

import asyncio
import json

from msgspec import Raw

from switchboard.wire.messages import MessageId, Parts, RpcError
from switchboard.wire.peer import Peer

SEEDS = (
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"},1,{"id":2}]',
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    b'{"id":1,"error":{"code":-32000,"message":"\\ud83c"}}',
    b'\xef\xbb\xbf{"id":NaN}',
    b'{"method":"\xff"}',
)
_PING = b'{"jsonrpc":"2.0","id":77,"method":"ping"}'


class _Pipe:
    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def send(self, parts: Parts) -> None:
        self.sent.append(b"".join(bytes(part) for part in parts))

    def close(self) -> None:
        pass


def _answer(method: str, params: Raw, message_id: MessageId) -> Parts:
    del params, message_id
    if method == "ping":
        return (b"{}",)
    raise RpcError(-32601, "no such method")


async def _receive(data: bytes) -> None:
    pipe = _Pipe()
    peer = Peer(pipe, on_request=_answer)  # pyright: ignore[reportArgumentType] - all that it uses
    peer.receive(data)
    peer.receive(_PING)
    for each in pipe.sent:
        json.loads(each)
    assert json.loads(pipe.sent[-1])["id"] == 77


_loop = asyncio.new_event_loop()


def check(data: bytes) -> None:
    """Give one message to a peer."""
    _loop.run_until_complete(_receive(data))
