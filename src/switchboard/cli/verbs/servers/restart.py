"""`switchboard restart`: the processes of one server end, and new ones take their place."""

from collections.abc import Iterable, Iterator

from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer, older_answers
from switchboard.cli.verbs.parts.loading import usable_for
from switchboard.cli.verbs.servers.naming import no_daemon, server_for
from switchboard.control.answers import UNKNOWN_CHILD, Changed
from switchboard.control.requests import ChildRequest
from switchboard.core.faults import Fault
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, Word

USAGE = Usage(
    verb="restart",
    summary="Restart an MCP server of the daemon.",
    words=(Word(name="NAME", about="the name of the server", is_name=True),),
    options=(Option(name="force", about="also while it works on calls, which then fail"),),
    details="Clients stay connected. Restarted is what serves this workspace.",
    examples=("switchboard restart time",),
)


class RestartReport(Report, frozen=True, kw_only=True, tag="switchboard.restart/1"):
    """How many processes, or connections, were begun again."""

    name: str
    count: int

    def lines(self, style: Style) -> Iterator[str]:
        often = "" if self.count == 1 else f" ({self.count} processes or connections of it)"
        yield f"restarted {style.bold(self.name)}{often}"


def run(request: CommandRequest) -> Report:
    settings = usable_for(request)
    name = server_for(settings, request.arguments.word(0))
    request.talk.progress(f"restarting {name} …")
    wanted = ChildRequest(
        action="restart",
        name=name,
        workspace=settings.workspace,
        only_unused=not request.arguments.has("force"),
    )
    older = older_answers(request, wanted, Changed, but_for=UNKNOWN_CHILD)
    count = sum(each.count for each in older)
    try:
        answer = daemon_answer(request, wanted, Changed)
    except Fault as fault:
        if not count or fault.reason != UNKNOWN_CHILD:
            raise
        answer = Changed(0)
    if answer is None and not count:
        raise no_daemon("so the server does not run")
    return RestartReport(name=name, count=count + (answer.count if answer is not None else 0))


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    return (entry.name for entry in usable_for(request).servers)
