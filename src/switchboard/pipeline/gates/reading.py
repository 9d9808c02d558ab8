"""What is called as something that only reads does only read."""

from collections.abc import Awaitable

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Next


class ReadingGate:
    """Hosts let such calls pass unseen, so that nothing may write by this way."""

    def __call__(self, call: Call, proceed: Next, /) -> Awaitable[Outcome]:
        if call.writing_face and not _only_reads(call):
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "may-write",
                f"`{call.tool.name}` is not known to only read",
                hint=f"call it by `{call.writing_face}`",
            )
        return proceed(call)


def _only_reads(call: Call) -> bool:
    launch = call.launch
    return call.tool.effects.only_reads if launch is None else launch.only_reads
