"""A session that another process goes on with: what it has to know, and how it begins."""

import msgspec
from msgspec import Struct

from switchboard.surface.stdio import StreamClient
from switchboard.wire.frames import FrameStyle
from switchboard.wire.messages import MessageId, encode, read_envelope

# What nobody waits for is asked under this.
_NOBODY = b"null"


class SessionCheckpoint(Struct, frozen=True, kw_only=True):
    """How a session stands. A shim reads it, too: `shim.aftermath`."""

    framing: FrameStyle | None = None
    # The requests that say who the client is and what it follows, as it would send them.
    introduction: tuple[str, ...] = ()
    # Those that stay open and are to be asked again.
    listening: tuple[str, ...] = ()
    # The ids of requests that are still to be answered.
    open: tuple[MessageId, ...] = ()
    # The ids of questions to the client, and the id of the next one.
    asked: tuple[MessageId, ...] = ()
    next_id: int = 1


_read_checkpoint = msgspec.json.Decoder(SessionCheckpoint).decode


def checkpoint_from(text: bytes) -> SessionCheckpoint:
    """A checkpoint as it was written; that of a session that has not begun is empty."""
    return _read_checkpoint(text) if text else SessionCheckpoint()


def checkpoint_of(client: StreamClient) -> bytes:
    """How the session of a client stands now."""
    peer, endpoint = client.peer, client.endpoint
    under_way = peer.under_way()
    listening = endpoint.listening()
    return encode(
        SessionCheckpoint(
            framing=client.pipe.framing,
            introduction=tuple(
                _request_text(method, params) for method, params in endpoint.introduction()
            ),
            listening=tuple(
                _request_text("subscriptions/listen", listening[each], encode(each))
                for each in under_way
                if each in listening
            ),
            open=tuple(each for each in under_way if each not in listening),
            asked=peer.pending.ids,
            next_id=peer.pending.next_id,
        )
    )


def resume(client: StreamClient, checkpoint: SessionCheckpoint) -> None:
    """Let a client go on where it was. It is told that its listings may be others now."""
    client.peer.pending.next_id = checkpoint.next_id
    for text in checkpoint.introduction:
        client.introduce(text.encode())
    if checkpoint.introduction:
        client.endpoint.changed_all()
    for text in checkpoint.listening:
        message = text.encode()
        client.endpoint.renew(read_envelope(message).id)
        client.peer.receive(message)


def _request_text(method: str, params: bytes, message_id: bytes = _NOBODY) -> str:
    head = b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":' % (message_id, encode(method))
    return b"".join((head, bytes(params) or b"{}", b"}")).decode()
