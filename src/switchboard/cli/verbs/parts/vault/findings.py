"""What the doctor has to say of the vault, and of the servers that want something of it."""

import shlex

from switchboard.children.secrets.texts import references_of
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer
from switchboard.cli.verbs.parts.vault.state import state_of
from switchboard.control.requests import StatusRequest
from switchboard.control.status import DaemonStatus
from switchboard.core.faults import Fault
from switchboard.providers.source import Finding
from switchboard.settings.sections import Settings
from switchboard.vault.opening import open_vault


def vault_findings(settings: Settings, request: CommandRequest) -> tuple[str, list[Finding]]:
    """The vault in one line, and what is wrong with it."""
    try:
        store = open_vault(settings.home, settings.vault, request.environ)
    except Fault as fault:
        found = Finding(severity="error", subject="vault", message=fault.message, hint=fault.hint)
        return settings.vault.engine, [found]
    # Nobody is asked for a passphrase here.
    is_asking = state_of(settings, store, deep=False).key_kind == "passphrase"
    state = state_of(settings, store, deep=not is_asking)
    findings = [
        Finding(severity="error", subject="vault", message=problem, hint=fix)
        for problem, fix in state.problems
    ]
    if not findings:
        known = {entry.reference for entry in store.entries()}
        findings += [
            Finding(
                severity="error",
                subject=entry.name,
                message=f"the secret `{reference}` is not in the vault",
                hint=f"switchboard vault put {shlex.quote(reference.removeprefix('vault:'))}",
            )
            for entry in settings.servers
            for reference in references_of(entry)
            if reference.startswith("vault:") and reference.removeprefix("vault:") not in known
        ]
    if is_asking and not _is_unlocked(request):
        findings.append(
            Finding(
                severity="warning",
                subject="vault",
                message="it is locked: the daemon has to be told its passphrase after each start",
                hint="switchboard vault unlock",
            )
        )
    store.close()
    return state.in_one_line(), findings


def _is_unlocked(request: CommandRequest) -> bool:
    status = daemon_answer(request, StatusRequest(), DaemonStatus)
    return status is not None and status.vault == "unlocked"
