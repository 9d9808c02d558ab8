"""Where the logins of a home are, for whoever serves and for whoever logs in."""

import shlex
import time
from collections.abc import Callable, Mapping

from switchboard.children.schema import ServerEntry
from switchboard.control.status import LoginStatus
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Events
from switchboard.core.stores import AuditStore
from switchboard.daemon.board.vault_secrets import VaultSecrets
from switchboard.daemon.board.vaults import Vaults
from switchboard.oauth.grant import Grant
from switchboard.oauth.grant_store import GrantStore
from switchboard.oauth.login_place import LoginPlace
from switchboard.oauth.login_trail import LoginTrail
from switchboard.oauth.logins import Logins
from switchboard.settings.sections import Settings


def grant_store(
    settings: Settings,
    environ: Mapping[str, str],
    vaults: Vaults | None = None,
    *,
    place: LoginPlace | None = None,
) -> GrantStore:
    """The logins of the home of these settings, or of the team. Nothing is opened yet."""
    opened = Vaults() if vaults is None else vaults
    return GrantStore(
        settings.home, lambda: opened.of(settings.home, settings.vault, environ), place=place
    )


def open_logins(
    settings: Settings,
    environ: Mapping[str, str],
    events: Events,
    vaults: Vaults,
    *,
    audit: Callable[[], AuditStore],
    document_url: Callable[[], str],
    place: LoginPlace | None = None,
) -> Logins:
    """The logins that a process uses. `document_url` says where our description is now."""
    store = grant_store(settings, environ, vaults, place=place)
    return Logins(store, events, LoginTrail(audit), document_url)


def client_secret(
    entry: ServerEntry,
    settings: Settings,
    environ: Mapping[str, str],
    vaults: Vaults | None = None,
) -> str:
    """The secret of the configured client; empty where it has none. Raises a fault."""
    reference = entry.auth.client_secret_ref if entry.auth is not None else ""
    if not reference:
        return ""
    secrets = VaultSecrets(environ, vaults or Vaults(), lambda: None)
    secrets.use(settings.home, settings.vault)
    value = secrets.resolve(entry, reference)
    if not value:
        raise Fault(
            FaultCode.UNAUTHENTICATED,
            "secret-missing",
            f"the client secret of `{entry.name}` has no value",
            hint=f"switchboard vault put {shlex.quote(reference.removeprefix('vault:'))}"
            if reference.startswith("vault:")
            else f"set `{reference.removeprefix('env:')}`",
        )
    return value


def login_status(server: str, grant: Grant, now: Callable[[], float] = time.time) -> LoginStatus:
    """What may be told of a login: everything but its tokens."""
    is_expired = bool(grant.expires_at) and grant.expires_at <= now()
    return LoginStatus(
        server=server,
        account=grant.key.account,
        issuer=grant.key.issuer,
        resource=grant.key.resource,
        client_id=grant.key.client_id,
        client_auth=grant.method,
        scopes=grant.scopes,
        state="over"
        if grant.is_spent or (is_expired and not grant.refresh_token)
        else "expired"
        if is_expired
        else "valid",
        expires_at=grant.expires_at,
        renews=bool(grant.refresh_token) and not grant.is_spent,
        logged_in_at=grant.logged_in_at,
        refreshed_at=grant.refreshed_at,
        last_error=grant.last_error,
        failed_at=grant.failed_at,
    )
