"""What comes back over HTTP, as messages or as errors of the protocol."""

import httpx2
import msgspec

from switchboard.wire.http_headers import JSON_TYPE, media_type
from switchboard.wire.messages import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    RpcError,
    error_from_raw,
    read_envelope,
)

_NOT_FOUND = 404
_BREAKS_TO_BLANKS = bytes.maketrans(b"\r\n", b"  ")


def refusal(response: httpx2.Response, body: bytes) -> RpcError:
    """The error that a status of 400 or more stands for; the one in the body where there is one."""
    if media_type(response.headers.get("content-type", "")) == JSON_TYPE:
        try:
            error = read_envelope(body).error
        except msgspec.MsgspecError:
            error = b""
        if error:
            return error_from_raw(msgspec.Raw(error))
    status = response.status_code
    # A server that does not know a method has no other way to say so without JSON-RPC.
    code = METHOD_NOT_FOUND if status == _NOT_FOUND else INTERNAL_ERROR
    return RpcError(code, f"HTTP status {status}")


def as_line(message: bytes) -> bytes:
    """The message without line breaks, so that it can be passed on as a line or an event."""
    if b"\n" in message or b"\r" in message:
        return message.translate(_BREAKS_TO_BLANKS)
    return message
