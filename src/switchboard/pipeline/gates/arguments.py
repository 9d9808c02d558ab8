"""The arguments have the shape that the tool asks for."""

from collections.abc import Awaitable

from switchboard.core.calls import Call, Outcome
from switchboard.core.ports import Next
from switchboard.core.tools import ArgumentsCheck, ToolSpec
from switchboard.pipeline.schemas import check_for


class ArgumentsGate:
    """Checks against a tool's own check, else against its JSON Schema (compiled once)."""

    def __init__(self) -> None:
        self._checks: dict[ToolSpec, ArgumentsCheck] = {}

    def __call__(self, call: Call, proceed: Next, /) -> Awaitable[Outcome]:
        check = call.tool.check or self._checks.get(call.tool)
        if check is None:
            check = self._checks[call.tool] = check_for(call.tool)
        check(call.arguments)
        return proceed(call)
