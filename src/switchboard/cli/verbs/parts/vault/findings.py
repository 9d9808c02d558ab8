"""What the doctor has to say of the vault, and of the servers that want something of it."""

from collections.abc import Mapping

from switchboard.children.secrets.texts import references_of
from switchboard.cli.verbs.parts.vault.state import state_of
from switchboard.core.faults import Fault
from switchboard.providers.source import Finding
from switchboard.settings.sections import Settings
from switchboard.vault.opening import open_vault


def vault_findings(settings: Settings, environ: Mapping[str, str]) -> tuple[str, list[Finding]]:
    """The vault in one line, and what is wrong with it."""
    try:
        store = open_vault(settings.home, settings.vault, environ)
    except Fault as fault:
        found = Finding(severity="error", subject="vault", message=fault.message, hint=fault.hint)
        return settings.vault.engine, [found]
    state = state_of(settings, store, deep=True)
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
                hint=f"switchboard vault put {reference.removeprefix('vault:')}",
            )
            for entry in settings.servers
            for reference in references_of(entry)
            if reference.startswith("vault:") and reference.removeprefix("vault:") not in known
        ]
    store.close()
    return state.in_one_line(), findings
