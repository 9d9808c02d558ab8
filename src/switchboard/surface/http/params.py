"""Headers that repeat arguments of a call: they say what the body says, or the call is refused.

What stands in front of us may have let a call pass because of such a header.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw, Struct

from switchboard.core.calls.call import EMPTY_OBJECT
from switchboard.core.people import Person
from switchboard.surface.http.exchange import Exchange
from switchboard.surface.params import capabilities_from
from switchboard.wire.eras import CLIENT_CAPABILITIES_KEY, HEADER_MISMATCH
from switchboard.wire.http_headers import text_of
from switchboard.wire.messages import RpcError
from switchboard.wire.param_headers import MARK, Mark, agree, are_valid, marks, rendered

# The input schema of a tool, for a client with such capabilities and whose it is: a child may
# start for it.
SchemaOf = Callable[[str, Callable[[], dict[str, Any]], Person | None], Awaitable[Raw | None]]

# By the identity of a schema that is kept here, too.
_marked: dict[int, tuple[Raw, bool]] = {}
_MOST_KNOWN = 256


class _Meta(Struct):
    capabilities: Raw = msgspec.field(name=CLIENT_CAPABILITIES_KEY, default=EMPTY_OBJECT)


class _Said(Struct):
    meta: _Meta = msgspec.field(name="_meta", default_factory=_Meta)


def _capabilities_in(params: Raw) -> dict[str, Any]:
    try:
        return capabilities_from(msgspec.json.decode(params, type=_Said).meta.capabilities)
    except (msgspec.MsgspecError, RecursionError, RpcError):
        # Whoever answers the call says what is wrong with it.
        return {}


class _Call(Struct):
    arguments: Any = None


async def check_params(exchange: Exchange, params: Raw, name: str, schema_of: SchemaOf) -> None:
    """The headers of a `tools/call` agree with the arguments of this tool. Raises RpcError."""
    schema = await schema_of(name, partial(_capabilities_in, params), exchange.person)
    # Hardly any tool has marks: only for one that has are the arguments read.
    if schema is None or not _has_marks(schema):
        return
    try:
        read = msgspec.json.decode(schema)
        arguments = msgspec.json.decode(params, type=_Call).arguments
        # A client passes over a tool whose marks are not valid, and sends no headers for it.
        found = list(marks(read)) if are_valid(read) else []
    except (msgspec.MsgspecError, RecursionError):
        return
    for mark in found:
        _check(exchange, mark, mark.value_in(arguments))


def _has_marks(schema: Raw) -> bool:
    # A schema is the same object as long as it is the same schema, and may be long.
    known, found = _marked.get(id(schema), (None, False))
    if known is not schema:
        if len(_marked) >= _MOST_KNOWN:
            _marked.clear()
        found = MARK in bytes(schema)
        _marked[id(schema)] = (schema, found)
    return found


def _check(exchange: Exchange, mark: Mark, value: Any) -> None:
    given = exchange.header(mark.header)
    if rendered(value) is None:
        if given is not None:
            raise RpcError(HEADER_MISMATCH, f"`{mark.header}` repeats nothing of the arguments")
        return
    if given is None:
        raise RpcError(HEADER_MISMATCH, f"`{mark.header}` is missing")
    if mark.header in exchange.repeated:
        raise RpcError(HEADER_MISMATCH, f"the header `{mark.header}` appears more than once")
    text = text_of(given)
    if text is None or not agree(mark, value, text):
        raise RpcError(HEADER_MISMATCH, f"`{mark.header}` and the arguments do not agree")
