"""What goes wrong with logins, as faults. No word of a token endpoint or a page is passed on."""

import shlex
from collections.abc import Callable

from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault, FaultCode, ScopeMissing
from switchkit.files import NotPrivate

# What an authorization server may answer, by RFC 6749, 7009, 7591, 8628 and 8707. Whatever else
# stands in its place may be anything, and is not repeated.
KNOWN_ERRORS = frozenset(
    {
        *("access_denied", "invalid_client", "invalid_grant", "invalid_request", "invalid_scope"),
        *("invalid_target", "server_error", "temporarily_unavailable", "unauthorized_client"),
        *("unsupported_grant_type", "unsupported_response_type", "unsupported_token_type"),
        *("invalid_redirect_uri", "invalid_client_metadata", "expired_token", "slow_down"),
        *("authorization_pending", "login_required", "consent_required", "interaction_required"),
        *("invalid_software_statement", "unapproved_software_statement"),
    }
)


def login_command(entry: ServerEntry, *more: str) -> str:
    """What to type to log in."""
    account = ("--account", entry.account) if entry.account else ()
    return f"switchboard mcp auth login {shlex.join((entry.name, *account, *more))}"


def named_error(error: str) -> str:
    """The error of an authorization server in words that we know."""
    return f"`{error}`" if error in KNOWN_ERRORS else "an error that it does not explain"


def login_required(entry: ServerEntry, why: str = "nobody is logged in") -> Fault:
    """There is no token, or none that can be used any more."""
    return Fault(
        FaultCode.UNAUTHENTICATED,
        "login-required",
        f"`{entry.label}` wants a login: {why}",
        hint=login_command(entry),
    )


def scope_missing(
    entry: ServerEntry,
    scopes: tuple[str, ...],
    *,
    configured: bool,
    still_holds: Callable[[], bool],
) -> ScopeMissing:
    """The token is good, and does not reach as far as this call.

    `still_holds` says whether it is still the token that we have.
    """
    asked = ", ".join(f"`{scope}`" for scope in scopes) or "more than we were granted"
    more = tuple(word for scope in scopes for word in ("--scope", scope))
    command = login_command(entry, *(() if configured else more))
    first = "add them to `auth.scopes` of this server, then: " if configured else ""
    return ScopeMissing(
        FaultCode.PERMISSION_DENIED,
        "scope-missing",
        f"`{entry.label}` wants scopes for this that our login does not have: {asked}",
        hint=first + command,
        still_holds=still_holds,
    )


def renewal_failed(name: str, why: str, wait_s: float) -> Fault:
    """The login is kept, and cannot be used just now."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "login-not-renewed",
        f"the login of `{name}` could not be renewed: {why}",
        hint=f"the login is kept, and tried again in {max(1, round(wait_s))} s",
    )


def url_refused(what: str, why: str, *, hint: str = "") -> Fault:
    """An address that must not be asked or shown."""
    return Fault(
        FaultCode.PERMISSION_DENIED, "login-url-refused", f"{what} is refused: {why}", hint=hint
    )


def unreachable(what: str, why: str) -> Fault:
    """An authorization server that does not answer."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "login-unreachable",
        f"{what} {why}",
        hint="see that its address is right and that the network is up, then try again",
    )


def login_busy() -> Fault:
    """Another process has held a login for too long."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "login-busy",
        "another process holds this login and does not let go of it",
        hint="try again; if it stays so: switchboard daemon restart",
    )


def logins_unusable(error: OSError) -> Fault:
    """What processes tell each other of logins by cannot be read or written."""
    why = error.why if isinstance(error, NotPrivate) else error.strerror or "the disk failed"
    return Fault(
        FaultCode.UNAVAILABLE,
        "logins-unusable",
        f"the folder of logins cannot be used: {why}",
        hint="see that `state/logins` in the home of Switchboard is yours, and that the disk"
        " has room",
        private=str(error),
    )


def login_failed(error: Exception) -> Fault:
    """A login that ended with something unforeseen."""
    return Fault(
        FaultCode.INTERNAL,
        "login-failed",
        # Its words may be anything; the kind is ours to tell.
        f"the login failed in an unforeseen way ({type(error).__name__})",
        hint="try again",
        private=f"{type(error).__name__}: {error}",
    )


def login_given_up() -> Fault:
    """A login that was under way when the process that served ended."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "login-given-up",
        "the login was given up before it was finished",
        hint="call again",
    )


def metadata_invalid(why: str, *, hint: str = "") -> Fault:
    """What a server says of its logins makes no sense, or is not safe."""
    return Fault(FaultCode.FAILED_PRECONDITION, "login-metadata-invalid", why, hint=hint)


def login_refused(why: str, *, hint: str = "") -> Fault:
    """The authorization server, or its user, said no; or what came back was not for us."""
    return Fault(FaultCode.UNAUTHENTICATED, "login-refused", why, hint=hint)
