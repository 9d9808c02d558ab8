"""The JSON-RPC envelope. Payloads stay raw bytes until somebody needs them."""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

MessageId = int | str | float | None

# One message as the pieces of its text. A large payload is never copied into a larger whole.
Parts = tuple["bytes | Raw", ...]

ABSENT = Raw(b"")

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

MAX_BATCH_BYTES = 1024 * 1024
MAX_BATCH_PARTS = 256
MAX_ERROR_BYTES = 256 * 1024
MAX_ERROR_MESSAGE = 64 * 1024

CANCELLED = "notifications/cancelled"


class Envelope(Struct):
    """A request, notification or response; which one shows in what is there."""

    id: MessageId | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw = ABSENT
    result: Raw = ABSENT
    error: Raw = ABSENT


class RpcError(Exception):
    """An answer that is an error of the protocol."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class _ErrorBody(Struct):
    code: int = INTERNAL_ERROR
    message: str = ""
    data: Any = None


class _ErrorHead(Struct):
    code: int = INTERNAL_ERROR
    message: str = ""


class _CancelParams(Struct):
    request_id: MessageId = msgspec.field(name="requestId", default=None)
    reason: Any = None


read_envelope = msgspec.json.Decoder(Envelope).decode
_read_batch = msgspec.json.Decoder(list[Raw]).decode
_read_cancel = msgspec.json.Decoder(_CancelParams).decode
_read_error = msgspec.json.Decoder(_ErrorBody).decode
_read_error_head = msgspec.json.Decoder(_ErrorHead).decode
encode = msgspec.json.encode


def read_batch(message: bytes) -> list[Raw]:
    """The messages of a batch. Raises `MsgspecError`, also where it is larger than anybody needs.

    It is read and answered in one go, and meanwhile everybody else waits.
    """
    if len(message) > MAX_BATCH_BYTES:
        raise msgspec.ValidationError(f"a batch may have {MAX_BATCH_BYTES} bytes")
    batch = _read_batch(message)
    if len(batch) > MAX_BATCH_PARTS:
        raise msgspec.ValidationError(f"a batch may have {MAX_BATCH_PARTS} parts")
    return batch


def cancelled_id(params: Raw) -> MessageId:
    """Which request a `notifications/cancelled` means; None, which no request has, if none."""
    try:
        return _read_cancel(params).request_id
    except msgspec.MsgspecError:
        return None


def cancelled_reason(params: Raw) -> str:
    """Why, in the words of whoever cancels; empty where it says nothing."""
    try:
        reason = _read_cancel(params).reason
    except msgspec.MsgspecError:
        return ""
    return reason if isinstance(reason, str) else ""


def error_from_raw(raw: Raw) -> RpcError:
    """The error that a peer answered with, however badly it spelled it.

    Its data is read by whoever passes it on, so of more than anybody needs nothing is.
    """
    try:
        if len(memoryview(raw)) > MAX_ERROR_BYTES:
            head = _read_error_head(raw)
            return RpcError(head.code, head.message[:MAX_ERROR_MESSAGE])
        body = _read_error(raw)
    except msgspec.MsgspecError:
        return RpcError(INTERNAL_ERROR, "the peer answered with a malformed error")
    return RpcError(body.code, body.message, body.data)


def request_parts(message_id: int, method: str, params: Parts) -> Parts:
    """A request."""
    head = b'{"jsonrpc":"2.0","id":%d,"method":%b,"params":' % (message_id, encode(method))
    return (head, *params, b"}")


def notification_parts(method: str, params: Parts) -> Parts:
    """A notification."""
    return (b'{"jsonrpc":"2.0","method":%b,"params":' % encode(method), *params, b"}")


def result_parts(message_id: MessageId, result: Parts) -> Parts:
    """A response with a result."""
    return (b'{"jsonrpc":"2.0","id":%b,"result":' % encode(message_id), *result, b"}")


def error_parts(message_id: MessageId, error: RpcError) -> Parts:
    """A response with an error."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return (b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (encode(message_id), encode(body)),)
