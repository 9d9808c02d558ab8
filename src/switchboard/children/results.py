"""A child's result of a tool, passed on as it is."""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from switchboard.core.calls import Outcome
from switchboard.core.faults import Fault, FaultCode


class _Flags(Struct, rename="camel"):
    is_error: Any = False
    result_type: Any = None


_read_flags = msgspec.json.Decoder(_Flags).decode


def passed_through(result: Raw, *, is_modern: bool) -> Outcome:
    """The outcome of a call whose result nobody opens. Raises a fault."""
    try:
        flags = _read_flags(result)
    except msgspec.MsgspecError as error:
        # Not even an object: no client could read it.
        raise malformed_result(error) from None
    return Outcome(
        raw=result,
        is_error=flags.is_error is True,
        # Some servers of the modern era forget to say what kind of result it is.
        is_modern=is_modern and flags.result_type is not None,
    )


def malformed_result(error: Exception) -> Fault:
    """It answered with something that is no result."""
    return Fault(
        FaultCode.INTERNAL,
        "result-malformed",
        "the server's result makes no sense",
        private=str(error),
    )
