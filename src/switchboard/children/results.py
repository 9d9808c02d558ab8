"""A child's result of a tool, passed on as it is."""

from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from switchboard.children.inbound.sizes import MOST_META_BYTES, too_much_meta
from switchboard.core.calls.call import Outcome
from switchboard.core.catalog.names import is_in_our_name
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sessions import ChosenTree
from switchboard.wire.messages import encode

_RESULT_TYPE = "resultType"
ROOT_KEY = "switchboard/root"


class _Flags(Struct, rename="camel"):
    is_error: Any = False
    result_type: Any = None
    meta: Raw = msgspec.field(name="_meta", default=Raw(b""))


_read_flags = msgspec.json.Decoder(_Flags).decode
_read_members = msgspec.json.Decoder(dict[str, Raw]).decode


def passed_through(result: Raw, *, is_modern: bool) -> Outcome:
    """The outcome of a request whose result nobody opens. Raises a fault."""
    try:
        flags = _read_flags(result)
        if flags.result_type is not None and not is_modern:
            # Its era has no such member; in the other one it can make a question of a result.
            result = _without_result_type(result)
        if flags.meta:
            result = _without_our_name(result, flags.meta)
    except msgspec.MsgspecError as error:
        # Not even an object: no client could read it.
        raise malformed_result(error) from None
    if is_modern and flags.result_type == "input_required":
        # Who answers questions saw none, so this one would reach a person unmarked.
        raise malformed_result(ValueError("a result that is complete and asks"))
    return Outcome(
        raw=result,
        is_error=flags.is_error is True,
        # Some servers of the modern era forget to say what kind of result it is.
        is_modern=is_modern and flags.result_type is not None,
    )


def with_root(outcome: Outcome, tree: ChosenTree) -> Outcome:
    """The outcome with the folder that its server looked at, for programs that read it."""
    about = {ROOT_KEY: tree.root}
    if outcome.raw is None:
        return replace(outcome, meta={**outcome.meta, **about})
    try:
        members: dict[str, Any] = dict(_read_members(outcome.raw))
        meta = meta_of(members.get("_meta", Raw(b"{}")))
    except msgspec.MsgspecError as error:
        raise malformed_result(error) from None
    return replace(outcome, raw=Raw(encode({**members, "_meta": {**meta, **about}})))


def _without_result_type(result: Raw) -> Raw:
    members = _read_members(result)
    members.pop(_RESULT_TYPE, None)
    return Raw(encode(members))


def _without_our_name(result: Raw, said: Raw) -> Raw:
    """Nothing that a child says of a call is our word about it."""
    meta = meta_of(said)
    foreign = {key: value for key, value in meta.items() if not is_in_our_name(key)}
    if len(foreign) == len(meta):
        return result
    members: dict[str, Any] = dict(_read_members(result))
    members["_meta"] = foreign
    return Raw(encode(members))


def meta_of(said: Raw) -> dict[str, Raw]:
    """The members of a result's `_meta`; none if it is no object. Raises a fault."""
    if len(memoryview(said)) > MOST_META_BYTES:
        raise too_much_meta()
    try:
        return _read_members(said)
    except msgspec.ValidationError:
        return {}


def malformed_result(error: Exception) -> Fault:
    """It answered with something that is no result."""
    return Fault(
        FaultCode.INTERNAL,
        "result-malformed",
        "the server's result makes no sense",
        private=str(error),
    )
