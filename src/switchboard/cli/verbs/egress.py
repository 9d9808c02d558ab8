"""`switchboard egress`: what a server with chosen hosts reached, and what it was refused."""

from collections.abc import Iterator

from msgspec import Struct

from switchboard.cli.render import columns, hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.egress.findings import egress_rows
from switchboard.core.audit import stamped
from switchboard.core.faults import Fault, FaultCode
from switchboard.egress.decisions import EgressDecisions
from switchboard.ipc.paths import places_from
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, Word

USAGE = Usage(
    verb="egress",
    summary="Show what a server with chosen hosts reached, and what it was refused.",
    words=(Word(name="NAME", about="a server or a command tool", optional=True, is_name=True),),
    options=(
        Option(name="forget", value="HOST", about="ask again about a host that was decided on"),
    ),
    details="The daemon remembers it as long as it runs, and a bounded number of hosts.",
    examples=("switchboard egress github", "switchboard egress github --json"),
)


class ReachedHost(Struct, frozen=True, kw_only=True):
    """One host and port, and what became of the wish for it."""

    server: str
    host: str
    port: int
    outcome: str
    why: str = ""
    times: int
    bytes_up: int
    bytes_down: int
    last_at: str


class DecidedHost(Struct, frozen=True, kw_only=True):
    """What a person decided for good about a host that is not on the list."""

    server: str
    where: str
    allowed: bool


class EgressReport(Report, frozen=True, kw_only=True, tag="switchboard.egress/1"):
    """Hosts, the latest last, and what was decided for good."""

    hosts: tuple[ReachedHost, ...]
    decided: tuple[DecidedHost, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        if self.hosts:
            heads = ("SERVER", "HOST", "OUTCOME", "TIMES", "SENT", "RECEIVED", "WHY")
            rows = [
                (
                    each.server,
                    f"{each.host}:{each.port}" if each.host else "-",
                    each.outcome,
                    str(each.times),
                    str(each.bytes_up),
                    str(each.bytes_down),
                    each.why or "-",
                )
                for each in self.hosts
            ]
            yield from columns(heads, rows, style, elastic=(1,))
        for each in self.decided:
            yield f"decided: {each.server} may {'' if each.allowed else 'never '}reach {each.where}"

    def notes(self, style: Style) -> Iterator[str]:
        if not self.hosts:
            yield "nothing was reached or refused since the daemon began"
            yield hint(style, "switchboard events --follow")


def run(request: CommandRequest) -> Report:
    name = request.arguments.word(0)
    decisions = EgressDecisions(places_from(dict(request.environ)).home)
    if where := request.arguments.one("forget"):
        _forget(decisions, name, where)
    return EgressReport(
        hosts=tuple(
            ReachedHost(
                server=each.server,
                host=each.host,
                port=each.port,
                outcome=each.outcome,
                why=each.why,
                times=each.times,
                bytes_up=each.bytes_up,
                bytes_down=each.bytes_down,
                last_at=stamped(each.last_at),
            )
            for each in egress_rows(request, name)
        ),
        decided=tuple(
            DecidedHost(server=server, where=where, allowed=allowed)
            for server, each in decisions.all().items()
            if name in ("", server)
            for where, allowed in each.hosts.items()
        ),
    )


def names(request: CommandRequest) -> Iterator[str]:
    """What a shell may complete."""
    yield from dict.fromkeys(each.server for each in egress_rows(request))


def _forget(decisions: EgressDecisions, name: str, where: str) -> None:
    if not decisions.forget(name, where):
        raise Fault(
            FaultCode.NOT_FOUND,
            "nothing-decided",
            f"nothing was decided for good about `{where}` and `{name}`",
            hint=f"switchboard egress {name}".rstrip(),
        )
