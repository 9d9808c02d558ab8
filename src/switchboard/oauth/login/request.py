"""What somebody wants to log in to, and what is asked of the authorization server for it."""

from msgspec import Struct

from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault, FaultCode
from switchboard.oauth.challenge import Challenge
from switchboard.oauth.discovery import Found

_OFFLINE = "offline_access"


class LoginRequest(Struct, frozen=True, kw_only=True):
    """One login that is wanted."""

    entry: ServerEntry
    # Beyond what the server asks for by itself.
    more_scopes: tuple[str, ...] = ()
    # What earlier logins had; kept when more is asked for.
    former_scopes: tuple[str, ...] = ()
    # The secret of a configured client.
    client_secret: str = ""
    # Where our own description is published, for servers that register clients by it.
    document_url: str = ""
    # What the server said when it refused a request.
    challenge: Challenge | None = None

    def __repr__(self) -> str:
        # As that of a grant.
        return f"LoginRequest({self.entry.name})"


def wanted_scopes(request: LoginRequest, found: Found) -> tuple[str, ...]:
    """The scopes to ask for. Raises a fault when more is wanted than the configuration allows.

    Configured scopes are all that is asked for, whatever a server says that it wants. To them, or
    to what it wants, only the one is added that lets a login last.
    """
    auth = request.entry.auth
    if auth is not None and auth.scopes:
        beyond = [scope for scope in request.more_scopes if scope not in auth.scopes]
        if beyond:
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "scope-not-configured",
                f"`auth.scopes` of `{request.entry.name}` does not name"
                f" {', '.join(f'`{scope}`' for scope in beyond)}",
                hint="add it there first, if this server should have it",
            )
        asked = auth.scopes
    else:
        former = request.former_scopes if request.more_scopes else ()
        asked = (*former, *(found.scopes or ()), *request.more_scopes)
    if asked and _OFFLINE in found.server.scopes:
        asked = (*asked, _OFFLINE)
    return tuple(dict.fromkeys(asked))


def asks_consent(scopes: tuple[str, ...]) -> bool:
    """Whether a person has to agree anew: OpenID Connect wants that for logins that last."""
    return _OFFLINE in scopes
