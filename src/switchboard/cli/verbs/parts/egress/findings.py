"""What `doctor` says of hosts that servers were refused, as far as the daemon remembers."""

from collections.abc import Iterator

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer
from switchboard.control.answers import EgressRows
from switchboard.control.requests import EgressRequest
from switchboard.core.faults import Fault
from switchboard.core.network.egress import EgressRow, shown_host
from switchboard.providers.source import Finding
from switchkit.cli.columns import counted

# Of one server; `switchboard egress` has all of them.
_MOST = 5


def egress_answer(
    request: CommandRequest, name: str = "", *, forget: str = ""
) -> EgressRows | None:
    """What the daemon remembers; nothing where none runs, or where it is too old to know."""
    try:
        return daemon_answer(request, EgressRequest(name=name, forget=forget), EgressRows)
    except Fault:
        return None


def egress_rows(request: CommandRequest) -> tuple[EgressRow, ...]:
    """What the daemon remembers of all servers."""
    found = egress_answer(request)
    return () if found is None else found.rows


def egress_findings(request: CommandRequest) -> Iterator[Finding]:
    """A warning for each host that was refused."""
    told: dict[str, int] = {}
    for row in reversed(egress_rows(request)):
        if row.outcome != "refused" or not row.host or told.get(row.server, 0) >= _MOST:
            continue
        told[row.server] = told.get(row.server, 0) + 1
        yield Finding(
            severity="warning",
            subject=row.server,
            message=f"egress-refused: it wanted {shown_host(row.host, row.port)} "
            f"{counted(row.times, 'time')} ({row.why})",
            hint=f'if it may, add "{shown_host(row.address or row.host, row.port)}"'
            " to its `egress` in your home",
        )
