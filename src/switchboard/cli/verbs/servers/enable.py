"""`switchboard enable`: a server that was switched off is used again."""

import shlex
from collections.abc import Iterable, Iterator

from switchboard.cli.render import hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.home_check import check_home
from switchboard.cli.verbs.parts.loading import usable_for
from switchboard.cli.verbs.parts.trusting.consent import why_no_consent
from switchboard.cli.verbs.servers.naming import Switched, server_names, tell_daemon
from switchboard.core.faults import Fault, FaultCode
from switchboard.settings.consent.switched_off import changing, save
from switchkit.cli.style import Style
from switchkit.cli.usage import Usage, Word

USAGE = Usage(
    verb="enable",
    summary="Switch an MCP server on again.",
    words=(Word(name="NAME", about="the name of the server", is_name=True, many=True),),
    details="One that was off everywhere is on everywhere again.",
    examples=("switchboard enable time",),
)


class EnableReport(Report, frozen=True, kw_only=True, tag="switchboard.enable/1"):
    """What is on again."""

    servers: tuple[Switched, ...]
    # Those that nobody has trusted yet, so that they are still not used.
    waiting: tuple[str, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        for each in self.servers:
            where = " in this workspace" if each.where == "here" else ""
            yield f"{style.bold(each.name)} {'is on' if each.is_new else 'was on already'}{where}"

    def notes(self, style: Style) -> Iterator[str]:
        if self.waiting:
            yield hint(style, f"switchboard trust {shlex.join(self.waiting)}")


def run(request: CommandRequest) -> Report:
    check_home(request)
    settings = usable_for(request)
    wanted = [name for name, _ in server_names(settings, request.arguments.words)]
    workspace = settings.workspace
    if why_no_consent(request):
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "presence-unproven",
            "a client of Switchboard cannot switch on what its user has switched off",
            hint=f"in a terminal of your own: switchboard enable {shlex.join(wanted)}",
        )
    done: list[Switched] = []
    with changing(settings.home) as before:
        record = before
        for name in dict.fromkeys(wanted):
            was_off = record.holds(workspace, name)
            where = "everywhere" if name in record.everywhere else "here"
            record = record.with_on(workspace, name)
            done.append(Switched(name=name, where=where, is_new=was_off))
        if any(each.is_new for each in done):
            save(settings.home, record)
    tell_daemon(request)
    untrusted = {entry.name for entry in settings.untrusted}
    untrusted |= {each.entry.name for each in settings.omitted if each.is_off and each.waits}
    waiting = tuple(each.name for each in done if each.name in untrusted)
    return EnableReport(servers=tuple(done), waiting=waiting)


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    return (each.entry.name for each in usable_for(request).omitted if each.is_off)
