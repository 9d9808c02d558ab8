"""Which tools exist for clients. Deny wins."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from switchboard.core.calls import Call, Outcome
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Next


class Visibility:
    """Global allow and deny lists over tool names; `*` stands for any characters."""

    def __init__(self, *, allow: Sequence[str] | None = None, deny: Sequence[str] = ()) -> None:
        self._allow = None if allow is None else tuple(allow)
        self._deny = tuple(deny)
        self._is_open = allow is None and not deny

    def shows(self, name: str) -> bool:
        """Whether a tool of this name is shown."""
        if any(fnmatchcase(name, pattern) for pattern in self._deny):
            return False
        return self._allow is None or any(fnmatchcase(name, pattern) for pattern in self._allow)

    async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
        if not self._is_open and not self.shows(call.tool.name):
            raise Fault(FaultCode.NOT_FOUND, "unknown-tool", f"no tool `{call.tool.name}`")
        return await proceed(call)
