"""Which server a word means, and what to say when it means none that can be used."""

import shlex
from collections.abc import Iterable

from switchboard.core.faults import Fault, FaultCode
from switchboard.settings.sections import Settings
from switchboard.settings.validate import RENAME, shown_name
from switchkit.suggest import did_you_mean


def suite_for(settings: Settings, wanted: str) -> str:
    """The suite that a word means: its own name, or the name of its server.

    Raises a fault when there is none, or when its server may not run yet.
    """
    suites = {shown_name(entry, settings.suites): entry.name for entry in settings.servers}
    if wanted in suites:
        return wanted
    for suite, server in suites.items():
        if server == wanted:
            return suite
    for entry in settings.untrusted:
        if wanted in {entry.name, shown_name(entry, settings.suites)}:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "server-not-trusted",
                f"the server `{entry.name}` of this workspace is not trusted yet",
                hint=f"look at what it runs, then: switchboard trust {shlex.quote(entry.name)}",
            )
    for omission in settings.omitted:
        if wanted in {omission.entry.name, shown_name(omission.entry, settings.suites)}:
            raise server_left_out(omission.entry.name, omission.reason)
    raise no_server(wanted, (*suites, *suites.values()))


def server_left_out(name: str, reason: str) -> Fault:
    """The server is configured, and cannot be used as it is."""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "server-left-out",
        f"the server `{name}` is left out: {reason}",
        hint=RENAME,
    )


def no_server(wanted: str, known: Iterable[str]) -> Fault:
    """Nothing is configured under this name."""
    known = set(known)
    meant = did_you_mean(wanted, known)
    return Fault(
        FaultCode.NOT_FOUND,
        "unknown-server",
        f"no server and no suite is named `{wanted}`",
        hint=f"did you mean `{meant}`?"
        if meant
        else ("switchboard list" if known else "switchboard add NAME -- COMMAND"),
    )
