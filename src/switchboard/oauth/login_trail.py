"""Writes down what becomes of logins. A record holds no token, no code and no word of a server."""

from collections.abc import Callable

from switchboard.children.schema import ServerEntry
from switchboard.core.audit import new_record
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import AuditStore
from switchboard.oauth.grant import Grant


class LoginTrail:
    """The audit records of logins. `audit` opens the log with the first of them."""

    def __init__(self, audit: Callable[[], AuditStore]) -> None:
        self._audit = audit

    def made(self, entry: ServerEntry, grant: Grant) -> None:
        """Somebody has logged in."""
        self._write("login.made", entry, "ok", note=_about(grant))

    def failed(self, entry: ServerEntry, fault: Fault) -> None:
        """A login came to nothing."""
        self._write("login.failed", entry, fault.code, fault.reason, fault.message)

    def renewed(self, entry: ServerEntry, grant: Grant) -> None:
        """The tokens of a login were exchanged for new ones."""
        self._write("login.renewed", entry, "ok", note=_about(grant))

    def not_renewed(self, entry: ServerEntry, why: str, *, is_final: bool) -> None:
        """They were not; finally, if only another login helps."""
        if is_final:
            self._write(
                "login.renewal_failed", entry, FaultCode.UNAUTHENTICATED, "login-required", why
            )
        else:
            self._write(
                "login.renewal_failed", entry, FaultCode.UNAVAILABLE, "login-not-renewed", why
            )

    def ended(self, entry: ServerEntry, grant: Grant, revoked: str) -> None:
        """Somebody has logged out; `revoked` says whether the server has ended the tokens, too."""
        self._write("login.ended", entry, "ok", note=f"{_about(grant)}; revoked: {revoked}")

    def _write(
        self, event: str, entry: ServerEntry, status: str, reason: str = "", note: str = ""
    ) -> None:
        self._audit().post(
            new_record(
                event,
                server=entry.name,
                account=entry.account,
                person=entry.person_subject,
                status=status,
                reason=reason,
                note=note,
            )
        )


def _about(grant: Grant) -> str:
    parts = [f"issuer {grant.key.issuer}", f"client {grant.key.client_id}"]
    parts += [f"scopes {' '.join(grant.scopes)}"] if grant.scopes else []
    return "; ".join(parts)
