"""What goes over the socket during a call, beside the request and its answer."""

from typing import Literal

import msgspec
from msgspec import Struct

from switchboard.control.tools import Failure
from switchboard.core.calls.call_steps import CallStep
from switchboard.core.events import ApprovalAsked
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import Question


class Aside(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the daemon that is not the answer itself."""

    # Put this to whoever makes the call, who answers with an `ApprovalReply`; or no longer.
    ask: Question | None = None
    withdrawn: str = ""
    # Somebody else is asked.
    asked: ApprovalAsked | None = None
    # What goes on meanwhile.
    step: CallStep | None = None
    # Why there is no answer: a fault, or that the line was no request.
    fault: Failure | None = None
    error: str = ""


class ApprovalReply(Struct, frozen=True, kw_only=True):
    """What the person who makes a call answered."""

    id: str
    verdict: Literal["approved", "denied"]


def fault_line(fault: Fault) -> bytes:
    """A fault instead of an answer."""
    return line_of(Aside(fault=Failure.of(fault)))


def unexpected() -> Fault:
    """What a caller is told of a failure that nobody foresaw; the log tells the rest."""
    return Fault(
        FaultCode.INTERNAL,
        "unexpected",
        "something went wrong inside the daemon; its log says what",
        hint="switchboard daemon logs",
    )


def line_of(value: Struct) -> bytes:
    """A value as one line of JSON; what came from elsewhere may have been written on several."""
    text = msgspec.json.encode(value)
    return (msgspec.json.format(text, indent=-1) if b"\n" in text else text) + b"\n"
