"""What is wrong with logins, for the doctor."""

from collections.abc import Iterator, Mapping

from switchboard.children.schema import ServerEntry, by_account
from switchboard.core.faults import Fault
from switchboard.daemon.board.open_logins import grant_store, login_status
from switchboard.oauth.faults import login_command
from switchboard.oauth.grant import entry_reference
from switchboard.providers.source import Finding
from switchboard.settings.sections import Settings


def login_findings(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    """What will keep remote servers from being used."""
    store = grant_store(settings, environ)
    for entry in (each for server in settings.servers for each in by_account(server)):
        if entry.transport == "stdio":
            continue
        command = login_command(entry)
        try:
            grant = store.find(entry_reference(entry))
        except Fault as fault:
            if fault.reason == "vault-locked":
                # It is told once, of the vault.
                continue
            yield _finding(entry, f"its login cannot be read: {fault.message}", fault.hint)
            continue
        if grant is None:
            if entry.auth is not None or entry.account:
                yield _finding(entry, "nobody is logged in", command)
            continue
        login = login_status(entry.name, grant)
        if login.state == "over":
            yield _finding(entry, "its login is over and cannot be renewed", command)
        elif login.last_error:
            yield _finding(entry, f"its login could not be renewed: {login.last_error}", "")


def _finding(entry: ServerEntry, message: str, hint: str) -> Finding:
    return Finding(severity="warning", subject=entry.label, message=message, hint=hint)
