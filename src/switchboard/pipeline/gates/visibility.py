"""A tool that is not shown does not exist."""

from collections.abc import Awaitable

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Next


class VisibilityGate:
    """The global allow and deny lists. The catalog is filtered by them too; this is the lock."""

    def __init__(self, lists: Visibility) -> None:
        self._lists = lists

    def __call__(self, call: Call, proceed: Next, /) -> Awaitable[Outcome]:
        tool = call.tool
        if tool.is_tool and not self._lists.shows(tool.name):
            raise Fault(FaultCode.NOT_FOUND, "unknown-tool", f"no tool `{tool.name}`")
        return proceed(call)
