"""`switchboard result`: the outcome of a call that its client has not got."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Raw

from switchboard.cli.moments import took
from switchboard.cli.render import hint
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.calling.calls import ListedCall
from switchboard.cli.verbs.parts.calls.asked_calls import ask_calls, ask_result
from switchboard.cli.verbs.parts.calls.result_text import NULL, read_result
from switchboard.cli.verbs.parts.trusting.consent import check_reader
from switchboard.control.call_desk import CallStatus
from switchboard.control.requests import CallsRequest, ResultRequest
from switchkit.cli.style import Style
from switchkit.cli.usage import Usage, Word

USAGE = Usage(
    verb="result",
    summary="Show what became of a call whose client gave up, or never read the answer.",
    words=(Word(name="ID", about="the id of a call", is_name=True),),
    details=(
        "Only outcomes that nobody got are kept, for as long as `results.keep` says, without the\n"
        "secrets that Switchboard looked up. The exit code is 1 when the call failed.\n"
        "It is refused where a client or an agent of Switchboard has started it."
    ),
    examples=("switchboard calls --undelivered", "switchboard result 3f9c2a71be-12"),
)


class ResultReport(Report, frozen=True, kw_only=True, tag="switchboard.result/1"):
    """What a tool answered, or how it failed."""

    is_data: ClassVar[bool] = True

    call: ListedCall
    is_error: bool
    # `null` where it failed, or answered with more than is kept.
    result: Raw
    # How many bytes it answered with.
    size: int = 0
    # How it failed.
    failure: dict[str, Any]
    # Whether it came after the call had run out of time.
    is_late: bool = False

    def exit_code(self) -> int:
        return FAILED if self.is_error else DONE

    def lines(self, style: Style) -> Iterator[str]:
        if self.result != NULL:
            yield from read_result(self.result).lines(style)

    def notes(self, style: Style) -> Iterator[str]:
        call = self.call
        if self.failure:
            yield f"{style.red('error:')} {self.failure['code']}: {self.failure['message']}"
            if said := self.failure.get("hint"):
                yield hint(style, str(said))
        elif self.result == NULL:
            yield f"it answered with {self.size:,} bytes, which is more than is kept"
        spans = f"queue {took(call.queue_s)}, work {took(call.work_s)}, human {took(call.human_s)}"
        late = ", and answered after its time was over" if self.is_late else ""
        yield f"{style.dim(f'`{call.name}` ended with {call.state}: {spans}{late}')}"


def run(request: CommandRequest) -> Report:
    check_reader(request)
    found = ask_result(request, ResultRequest(id=request.arguments.word(0)))
    is_error = bool(found.failure) or (found.result != NULL and read_result(found.result).is_error)
    return ResultReport(
        call=ListedCall.of(found.call),
        is_error=is_error,
        result=found.result,
        size=found.size,
        failure=found.failure,
        is_late=found.is_late,
    )


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    check_reader(request)
    calls: tuple[CallStatus, ...] = ask_calls(request, CallsRequest(undelivered=True, last=0)).calls
    return (each.id for each in calls)
