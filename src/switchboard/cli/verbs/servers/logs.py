"""`switchboard logs`: what one server printed on stderr, and what it prints now."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from msgspec import Struct

from switchboard.cli.moments import local_time
from switchboard.cli.render import hint
from switchboard.cli.report import Report, Silent
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer, older_answers
from switchboard.cli.verbs.parts.loading import usable_for
from switchboard.cli.verbs.parts.servers import entries
from switchboard.cli.verbs.servers.naming import no_daemon, server_names
from switchboard.control.answers import ServerLogLines
from switchboard.control.requests import LogsRequest
from switchboard.core.text.log_lines import LogLine
from switchboard.core.text.stamps import stamped
from switchboard.ipc.paths import places_from
from switchkit.cli.columns import visible
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError, Word

_LINES = 200
_WAIT_S = 15.0

USAGE = Usage(
    verb="logs",
    summary="Show what an MCP server prints on stderr.",
    words=(Word(name="NAME", about="the name of the server", is_name=True),),
    options=(
        Option(name="follow", short="-f", about="stay, and show each line when it comes"),
        Option(name="lines", short="-n", value="N", about=f"how many lines ({_LINES})"),
    ),
    details=(
        "The daemon keeps the end of it in memory, without secrets, until it ends itself. With"
        " --json, --follow prints one line of JSON for each line."
    ),
    examples=("switchboard logs time", "switchboard logs -f time"),
)


class ShownLogLine(Struct, frozen=True, kw_only=True):
    """One line; `is_ours` is not the server's own: it has started or ended."""

    time: str
    pid: int
    text: str
    is_ours: bool = False

    @classmethod
    def of(cls, line: LogLine) -> "ShownLogLine":
        return cls(time=stamped(line.at), pid=line.pid, text=line.text, is_ours=line.is_ours)


class ServerLogReport(Report, frozen=True, kw_only=True, tag="switchboard.logs/1"):
    """The end of what a server printed, oldest first."""

    name: str
    log: tuple[ShownLogLine, ...]
    # How many lines are, or may be, about other workspaces that use the same process.
    withheld: int = 0
    # Since when the daemon runs, and where it writes what it does with servers; empty if not known.
    since: str = ""
    daemon_log: str = ""

    def lines(self, style: Style) -> Iterator[str]:
        yield from (_shown(line, style) for line in self.log)

    def notes(self, style: Style) -> Iterator[str]:
        if self.withheld:
            lines = "1 line is" if self.withheld == 1 else f"{self.withheld} lines are"
            yield (
                f"{lines} not shown: all workspaces share one process of `{self.name}`, and what it"
                " prints for another, or for nobody in particular, is not for this one"
            )
        elif not self.log:
            yield f"the daemon has not started `{self.name}` yet"
            if self.since:
                yield (
                    f"it has been running since {local_time(self.since)}; what servers printed"
                    f" before is not kept, and how they ended is in {style.paths(self.daemon_log)}"
                )
            yield hint(style, f"switchboard introspect {self.name}")


class ServerLogLineReport(Report, frozen=True, kw_only=True, tag="switchboard.logs-line/1"):
    """One line, when it comes."""

    one_of_many: ClassVar[bool] = True
    name: str
    line: ShownLogLine

    def lines(self, style: Style) -> Iterator[str]:
        yield _shown(self.line, style)


def run(request: CommandRequest) -> Report:
    settings = usable_for(request)
    [(name, _)] = server_names(settings, request.arguments.words)
    given = request.arguments.one("lines") or str(_LINES)
    if not given.isdigit():
        raise UsageError("`--lines` must be a whole number")
    wanted = LogsRequest(name=name, workspace=settings.workspace)
    answer = daemon_answer(request, wanted, ServerLogLines)
    if answer is None:
        raise no_daemon("and it alone keeps what servers print")
    if not answer.is_known:
        # After a restart the lines are with the daemon before, for as long as it has work to do.
        older = older_answers(request, wanted, ServerLogLines, but_for="")
        answer = next((each for each in older if each.is_known), answer)
    kept = answer.lines[max(0, len(answer.lines) - int(given)) :]
    if not request.arguments.has("follow"):
        return ServerLogReport(
            name=name,
            log=tuple(map(ShownLogLine.of, kept)),
            withheld=answer.withheld,
            since=stamped(answer.since),
            daemon_log=places_from(dict(request.environ)).log,
        )
    while answer is not None:
        for line in kept:
            request.show(ServerLogLineReport(name=name, line=ShownLogLine.of(line)))
        wanted = LogsRequest(
            name=name, workspace=settings.workspace, after=answer.last, wait_s=_WAIT_S
        )
        answer = daemon_answer(request, wanted, ServerLogLines)
        kept = answer.lines if answer is not None else ()
    return Silent()


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    return (entry.name for entry in entries(usable_for(request)))


def _shown(line: ShownLogLine, style: Style) -> str:
    at = style.dim(local_time(line.time))
    return f"{at} {style.dim(line.text) if line.is_ours else visible(line.text)}"
