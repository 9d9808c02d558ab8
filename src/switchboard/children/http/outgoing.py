"""What HTTP has to know of a message that we send: who it is for, not what it says."""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from switchboard.wire.eras import PROTOCOL_VERSION_KEY
from switchboard.wire.http_headers import (
    JSON_TYPE,
    METHOD,
    NAME,
    NAMED_BY,
    PROTOCOL_VERSION,
    SSE_TYPE,
    header_value,
)
from switchboard.wire.messages import MessageId

ACCEPT_EVENTS = {"accept": SSE_TYPE}
_ALWAYS = {"accept": f"{JSON_TYPE}, {SSE_TYPE}", "content-type": JSON_TYPE}


class _Meta(Struct, frozen=True):
    version: Any = msgspec.field(name=PROTOCOL_VERSION_KEY, default=None)


class _Params(Struct, frozen=True):
    meta: _Meta | None = msgspec.field(name="_meta", default=None)
    name: str | None = None
    uri: str | None = None
    request_id: MessageId = msgspec.field(name="requestId", default=None)


class Outgoing(Struct, frozen=True):
    """The envelope of a message of ours, with the few parameters that headers repeat."""

    id: MessageId | UnsetType = UNSET
    method: str = ""
    params: _Params = _Params()

    @property
    def is_request(self) -> bool:
        """Whether an answer is due."""
        return self.id is not UNSET and bool(self.method)

    @property
    def modern_version(self) -> str:
        """The version that a request of the modern era names."""
        meta = self.params.meta
        return meta.version if meta is not None and isinstance(meta.version, str) else ""

    @property
    def cancels(self) -> MessageId:
        """The request that `notifications/cancelled` is about."""
        return self.params.request_id

    def headers(self) -> dict[str, str]:
        """The headers that follow from the message alone."""
        version = self.modern_version
        if not version:
            return dict(_ALWAYS)
        headers = {**_ALWAYS, PROTOCOL_VERSION: version, METHOD: self.method}
        name = getattr(self.params, NAMED_BY.get(self.method, ""), None)
        if name is not None:
            headers[NAME] = header_value(name)
        return headers


class _RawMeta(Struct, frozen=True):
    meta: Raw = msgspec.field(name="_meta", default=Raw(b"{}"))


class _WithMeta(Struct, frozen=True):
    params: _RawMeta


def meta_of(body: bytes) -> Raw:
    """The `_meta` of a message, unopened."""
    return msgspec.json.decode(body, type=_WithMeta).params.meta


read_outgoing = msgspec.json.Decoder(Outgoing).decode
