"""Which server a word means, and what to say when it means none that can be used."""

import shlex
from collections.abc import Iterable

from switchboard.config.problems import place
from switchboard.core.faults import Fault, FaultCode
from switchboard.settings.sections import BrokenFile, Settings
from switchboard.settings.validate import RENAME, shown_name
from switchkit.suggest import did_you_mean, suggestion


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
            changed = settings.changed.get(entry.name, "")
            why = f"waits for trust again: {changed}" if changed else "is not trusted yet"
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "server-not-trusted",
                f"the server `{entry.name}` of this workspace {why}",
                hint=f"look at what it runs, then: switchboard trust {shlex.quote(entry.name)}",
            )
    for omission in settings.omitted:
        if wanted in {omission.entry.name, shown_name(omission.entry, settings.suites)}:
            if omission.is_off:
                raise Fault(
                    FaultCode.FAILED_PRECONDITION,
                    "server-off",
                    f"the server `{omission.entry.name}` is switched off",
                    hint=f"switchboard enable {shlex.quote(omission.entry.name)}",
                )
            raise server_left_out(omission.entry.name, omission.reason, omission.hint)
    if settings.broken:
        raise _may_be_in(settings.broken, wanted, settings)
    waiting = (entry.name for entry in settings.untrusted)
    omitted = (omission.entry.name for omission in settings.omitted)
    servers = (*suites.values(), *waiting, *omitted)
    # A suite is its server by another name: both are meant, one of them is listed.
    raise no_server(wanted, (*suites, *servers) if did_you_mean(wanted, suites) else servers)


def _may_be_in(broken: Iterable[BrokenFile], wanted: str, settings: Settings) -> Fault:
    """It is not known, and a file that may declare it cannot be used."""
    problems = [problem for file in broken for problem in file.problems]
    where = place(problems[0], workspace=settings.workspace, user_home=settings.user_home)
    key = f" {problems[0].key}" if problems[0].key else ""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "unknown-server",
        f"no server and no suite is named `{wanted}`, and a file that may declare one cannot be"
        f" used: {where}{key}: {problems[0].message}",
        hint="switchboard config check",
    )


def server_left_out(name: str, reason: str, hint: str = "") -> Fault:
    """The server is configured, and cannot be used as it is."""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "server-left-out",
        f"the server `{name}` is left out: {reason}",
        hint=hint or RENAME,
    )


def no_server(
    wanted: str, known: Iterable[str], otherwise: str = "switchboard add NAME -- COMMAND"
) -> Fault:
    """Nothing is configured under this name; `otherwise` is the hint where there is none at all."""
    return Fault(
        FaultCode.NOT_FOUND,
        "unknown-server",
        f"no server and no suite is named `{wanted}`",
        hint=suggestion(wanted, set(known)) or otherwise,
    )
