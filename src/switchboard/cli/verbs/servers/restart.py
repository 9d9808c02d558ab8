"""`switchboard restart`: the processes of one server end, and new ones take their place."""

from collections.abc import Iterable, Iterator

from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer
from switchboard.cli.verbs.parts.loading import usable_for
from switchboard.cli.verbs.servers.naming import no_daemon, server_for
from switchboard.control.answers import Changed
from switchboard.control.requests import ChildRequest
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, Word

USAGE = Usage(
    verb="restart",
    summary="Start an MCP server of the daemon anew.",
    words=(Word(name="NAME", about="the name of the server", is_name=True),),
    options=(Option(name="force", about="also while it works on calls, which then fail"),),
    details="Clients stay connected. Restarted is what serves this workspace.",
    examples=("switchboard restart time",),
)


class RestartReport(Report, frozen=True, kw_only=True, tag="switchboard.restart/1"):
    """How many processes, or connections, were made anew."""

    name: str
    count: int

    def lines(self, style: Style) -> Iterator[str]:
        often = "" if self.count == 1 else f", {self.count} times"
        yield f"{style.bold(self.name)} has been started anew{often}"


def run(request: CommandRequest) -> Report:
    settings = usable_for(request)
    name = server_for(settings, request.arguments.word(0))
    request.talk.progress(f"starting {name} anew …")
    wanted = ChildRequest(
        action="restart",
        name=name,
        workspace=settings.workspace,
        only_unused=not request.arguments.has("force"),
    )
    answer = daemon_answer(request, wanted, Changed)
    if answer is None:
        raise no_daemon("so the server does not run")
    return RestartReport(name=name, count=answer.count)


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    return (entry.name for entry in usable_for(request).servers)
