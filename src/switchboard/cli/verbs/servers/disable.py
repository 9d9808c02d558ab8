"""`switchboard disable`: a server stays configured and is neither shown nor started."""

import shlex
from collections.abc import Iterable, Iterator

from switchboard.cli.render import hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.home_check import check_home
from switchboard.cli.verbs.parts.loading import usable_for
from switchboard.cli.verbs.parts.servers import entries
from switchboard.cli.verbs.servers.naming import Switched, server_names, tell_daemon
from switchboard.settings.consent.switched_off import changing, save
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, Word

USAGE = Usage(
    verb="disable",
    summary="Switch an MCP server off, without removing it.",
    words=(Word(name="NAME", about="the name of the server", is_name=True, many=True),),
    options=(Option(name="here", about="a server of your home: in this workspace only"),),
    details=(
        "It is noted in your home, never in a file of the workspace. A server of the workspace is"
        " off there, one of your home everywhere. Calls that are under way are answered first."
    ),
    examples=("switchboard disable time", "switchboard disable --here github"),
)


class DisableReport(Report, frozen=True, kw_only=True, tag="switchboard.disable/1"):
    """What is off now."""

    servers: tuple[Switched, ...]

    def lines(self, style: Style) -> Iterator[str]:
        for each in self.servers:
            where = "in this workspace" if each.where == "here" else "everywhere"
            state = "is off" if each.is_new else "was off already"
            yield f"{style.bold(each.name)} {state} {where}"

    def notes(self, style: Style) -> Iterator[str]:
        names = shlex.join(each.name for each in self.servers)
        yield hint(style, f"switchboard enable {names}")


def run(request: CommandRequest) -> Report:
    check_home(request)
    settings = usable_for(request)
    wanted = dict(server_names(settings, request.arguments.words))
    done: list[Switched] = []
    with changing(settings.home) as before:
        record = before
        for name, is_theirs in wanted.items():
            is_here = is_theirs or request.arguments.has("here")
            was_off = record.holds(settings.workspace, name)
            record = record.with_off(settings.workspace if is_here else "", name)
            where = "here" if is_here else "everywhere"
            done.append(Switched(name=name, where=where, is_new=not was_off))
        save(settings.home, record)
    tell_daemon(request)
    return DisableReport(servers=tuple(done))


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    settings = usable_for(request)
    off = {omission.entry.name for omission in settings.omitted if omission.is_off}
    return (entry.name for entry in entries(settings) if entry.name not in off)
