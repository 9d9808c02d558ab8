"""Gives servers their secrets: those of the session's environment and those of the vault.

A reference alone gives nothing. A server of the user's own files may have what lies under its own
name; one of a workspace, an agent or a skill may have what was given to exactly what it runs.
"""

import shlex
from collections.abc import Callable, Iterable, Mapping

from switchboard.children.schema import ServerEntry
from switchboard.core.audit import new_record
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import AuditStore, VaultStore
from switchboard.daemon.board.vaults import Vaults
from switchboard.vault.options import VaultOptions
from switchboard.vault.references import of_person, parse_reference

_OPTIONS = VaultOptions()


class VaultSecrets:
    """The secrets of one environment. `use` says where the vault is."""

    def __init__(
        self,
        environ: Mapping[str, str],
        vaults: Vaults,
        audit: Callable[[], AuditStore | None],
    ) -> None:
        self._environ = environ
        self._vaults = vaults
        self._audit = audit
        self._home = ""
        self._options = _OPTIONS
        self._store: VaultStore | None = None

    def use(self, home: str, options: VaultOptions) -> None:
        """From now on this is the vault."""
        if (home, options) != (self._home, self._options):
            self._home, self._options, self._store = home, options, None

    def private_files(self) -> tuple[str, ...]:
        """The files that open the vault, wherever the user keeps them."""
        return self._options.private_files

    def resolve(self, entry: ServerEntry, reference: str, /) -> str | None:
        if not _may_have(entry, reference):
            raise Fault(
                FaultCode.UNAUTHENTICATED,
                "secret-not-granted",
                f"`{reference}` was not given to this server",
                hint="look at it with `switchboard trust`, then"
                f" `switchboard trust {shlex.quote(entry.name)}`",
            )
        kind, _, name = reference.partition(":")
        if kind == "env":
            return self._environ.get(name) or None
        named = parse_reference(name)
        if entry.person and named.kind != "client-secret":
            # Their own or none: that of the team would have them act as somebody else.
            return self._vault().get(of_person(entry.person, named.text))
        return self._vault().get(named.text)

    def mark(self) -> object:
        store = self._store
        return None if store is None else (id(store), store.mark(), self._vaults.turns)

    def handed_out(self, entry: ServerEntry, references: Iterable[str], /) -> None:
        audit = self._audit()
        if audit is not None:
            for reference in references:
                audit.post(
                    new_record(
                        "secret.resolved",
                        server=entry.name,
                        account=entry.account,
                        person=entry.person_subject,
                        launch_fingerprint=entry.fingerprint,
                        note=reference,
                    )
                )

    def _vault(self) -> VaultStore:
        if self._store is None:
            self._store = self._vaults.of(self._home, self._options, self._environ)
        return self._store


def _may_have(entry: ServerEntry, reference: str) -> bool:
    """Whether a server may have a secret, whatever it is called."""
    is_env = reference.startswith("env:")
    # Checked where files are read, too; this is the last place before the value.
    if not is_env:
        named = parse_reference(reference)
        if named.server != entry.name:
            return False
        # The client secret of one account is not that of another.
        if named.kind == "client-secret" and named.key not in ("", entry.account):
            return False
    if not entry.fingerprint or reference in entry.grants:
        return True
    # Who trusts a whole workspace lets its programs run, and they run in this environment.
    return is_env and entry.seal is not None and not entry.seal.binding
