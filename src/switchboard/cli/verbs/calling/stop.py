"""`switchboard stop --all-calls`: end everything that goes on, at once."""

from collections.abc import Iterator

from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer, older_answers
from switchboard.control.answers import StoppedCalls
from switchboard.control.requests import StopCallsRequest
from switchkit.cli.columns import counted
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError

USAGE = Usage(
    verb="stop",
    summary="End every call, run of an agent and question at once.",
    options=(
        Option(name="all-calls", about="yes, every one of every client"),
        Option(name="servers", about="end the servers as well; the next call starts them"),
    ),
    details=(
        "No server has to answer for it. Clients stay connected, and are told that a person has"
        " stopped the call. What waits for an answer is refused. To end the daemon itself:"
        " `switchboard daemon stop`."
    ),
    examples=("switchboard stop --all-calls", "switchboard stop --all-calls --servers"),
)


class StopReport(Report, frozen=True, kw_only=True, tag="switchboard.stop/1"):
    """How much was ended."""

    calls: int = 0
    runs: int = 0
    questions: int = 0
    servers: int = 0
    # Whether a daemon runs, which has calls.
    is_running: bool = True

    def lines(self, style: Style) -> Iterator[str]:
        del style
        if not self.is_running:
            yield "no daemon is running, so nothing goes on in one"
            return
        ended = [
            counted(self.calls, "call"),
            counted(self.runs, "run"),
            counted(self.questions, "question"),
        ]
        yield f"ended: {', '.join(ended)}" + (
            f", {counted(self.servers, 'server')}" if self.servers else ""
        )


def run(request: CommandRequest) -> Report:
    if not request.arguments.has("all-calls"):
        raise UsageError(
            "`stop` ends the calls of every client, and wants to be told so",
            "switchboard stop --all-calls",
        )
    wanted = StopCallsRequest(servers=request.arguments.has("servers"))
    answer = daemon_answer(request, wanted, StoppedCalls)
    # After an upgrade it is older ones who have the clients.
    found = [answer] if answer is not None else []
    found += older_answers(request, wanted, StoppedCalls, but_for="")
    return StopReport(
        calls=sum(each.calls for each in found),
        runs=sum(each.runs for each in found),
        questions=sum(each.questions for each in found),
        servers=sum(each.servers for each in found),
        is_running=bool(found),
    )
