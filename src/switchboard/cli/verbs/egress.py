"""`switchboard egress`: what a server with chosen hosts reached, and what it was refused."""

from collections.abc import Iterator

from msgspec import Struct

from switchboard.cli.render import columns, hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.egress.findings import egress_answer, egress_rows
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.network.egress import shown_host, split_host
from switchboard.core.text.stamps import stamped
from switchboard.egress.answers.decisions import EgressDecisions
from switchboard.ipc.paths import places_from
from switchboard.providers.table import configured
from switchboard.settings.server_names import no_server
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError, Word

_HTTPS = 443

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
    # What may be asked about again, by `--forget`.
    forgotten: str = ""
    # Whether a daemon runs, which remembers.
    is_running: bool = True

    def lines(self, style: Style) -> Iterator[str]:
        if self.hosts:
            heads = ("SERVER", "HOST", "OUTCOME", "TIMES", "SENT", "RECEIVED", "WHY")
            rows = [
                (
                    each.server,
                    shown_host(each.host, each.port) if each.host else "-",
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
        if self.forgotten:
            yield f"forgotten: {self.forgotten} is asked about again"
        elif not self.is_running:
            yield "no daemon runs, so nothing is known of what was reached or refused"
        elif not self.hosts:
            yield "nothing was reached or refused since the daemon began"
            yield hint(style, "switchboard events --follow")


def run(request: CommandRequest) -> Report:
    name = request.arguments.word(0)
    decisions = EgressDecisions(places_from(dict(request.environ)).home)
    where = request.arguments.one("forget") or ""
    if where:
        if not name:
            raise UsageError(
                "`--forget` needs a server", f"switchboard egress NAME --forget {where}"
            )
        where = _written(where)
    found = egress_answer(request, name, forget=where)
    rows = found.rows if found is not None else ()
    decided = decisions.hosts()
    if name and name not in decided and not rows:
        _check_name(request, name)
    if where and not decisions.forget(name, where) and not (found and found.forgotten):
        raise _nothing_decided(name, where)
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
            for each in rows
        ),
        decided=tuple(
            DecidedHost(server=server, where=each, allowed=allowed)
            for server, hosts in decisions.hosts().items()
            if name in ("", server)
            for each, allowed in hosts.items()
        ),
        forgotten=where,
        is_running=found is not None,
    )


def names(request: CommandRequest) -> Iterator[str]:
    """What a shell may complete."""
    yield from dict.fromkeys(each.server for each in egress_rows(request))


def _check_name(request: CommandRequest, name: str) -> None:
    """A word that is no server and no tool is a slip. Raises a fault."""
    settings = settings_for(request)
    omitted = (each.entry.name for each in settings.omitted)
    known = {each.name for each in (*settings.servers, *settings.untrusted)} | set(omitted)
    rows = (source.rows(settings, request.environ) for source in configured(settings))
    tools = {item.name for each in rows for item in each}
    if name not in known | tools:
        raise no_server(name, known | tools)


def _written(where: str) -> str:
    """A host and port as decisions write them; port 443 where none is said."""
    try:
        host, port = split_host(where, _HTTPS)
    except ValueError:
        raise UsageError(f"`{where}` is no host and port", "--forget example.com:443") from None
    return shown_host(host, port)


def _nothing_decided(name: str, where: str) -> Fault:
    return Fault(
        FaultCode.NOT_FOUND,
        "nothing-decided",
        f"nothing was decided about `{where}` and `{name}`",
        hint=f"switchboard egress {name}",
    )
