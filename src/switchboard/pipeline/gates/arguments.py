"""The arguments have the shape that the tool asks for."""

from collections.abc import Awaitable

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.catalog.tools import ArgumentsCheck, ToolSpec
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Next
from switchboard.core.text.decoded_size import MOST_DECODED, SURELY_LITTLE, decoded_size
from switchboard.pipeline.schemas import check_for


class ArgumentsGate:
    """Checks against a tool's own check, else against its JSON Schema (compiled once)."""

    def __init__(self) -> None:
        self._checks: dict[ToolSpec, ArgumentsCheck] = {}

    def __call__(self, call: Call, proceed: Next, /) -> Awaitable[Outcome]:
        if len(memoryview(call.arguments)) > SURELY_LITTLE:
            _refuse_too_many(bytes(call.arguments))
        check = call.tool.check or self._checks.get(call.tool)
        if check is None:
            check = self._checks[call.tool] = check_for(call.tool)
        check(call.arguments)
        return proceed(call)


def _refuse_too_many(arguments: bytes) -> None:
    """Before anybody reads them: everybody waits for that, and has less memory after it."""
    if decoded_size(arguments) > MOST_DECODED:
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            "arguments-too-large",
            f"the arguments have too many values in {len(arguments):,} bytes",
            hint="make several calls, or send them as one text",
        )
