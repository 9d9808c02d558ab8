"""What servers publish of themselves: a protected resource, and an authorization server."""

from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from switchboard.oauth.addresses import AddressRules
from switchboard.oauth.faults import metadata_invalid
from switchboard.oauth.urls import checked_url

AuthMethod = Literal["none", "client_secret_basic", "client_secret_post"]
# The one that is wanted most comes first.
AUTH_METHODS: tuple[AuthMethod, ...] = ("none", "client_secret_basic", "client_secret_post")
_S256 = "S256"


class ResourceMetadata(Struct, frozen=True):
    """RFC 9728: which resource it is, and who gives tokens for it."""

    resource: str
    authorization_servers: list[str] | None = None
    scopes_supported: list[str] | None = None


class ServerMetadata(Struct, frozen=True):
    """RFC 8414, as far as it is used."""

    issuer: str
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    device_authorization_endpoint: str | None = None
    scopes_supported: list[str] | None = None
    code_challenge_methods_supported: list[str] | None = None
    token_endpoint_auth_methods_supported: list[str] | None = None
    authorization_response_iss_parameter_supported: bool | None = None
    client_id_metadata_document_supported: bool | None = None


class AuthorizationServer(Struct, frozen=True, kw_only=True):
    """Where to log in. Every address in it has been checked."""

    # Empty where the configuration names endpoints alone.
    issuer: str
    authorization_url: str
    token_url: str
    registration_url: str = ""
    revocation_url: str = ""
    device_url: str = ""
    # None where it does not say.
    auth_methods: tuple[str, ...] | None = None
    scopes: tuple[str, ...] = ()
    # It promises to name itself in its answers, so that nobody can answer in its place.
    names_itself: bool = False
    takes_metadata_documents: bool = False


T = TypeVar("T")


def read_metadata(kind: type[T], body: bytes, what: str) -> T:
    """What a document says. Raises a fault when it makes no sense."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, RecursionError):
        raise metadata_invalid(f"{what} is not what it should be: JSON of that kind") from None


def checked_server(found: ServerMetadata, rules: AddressRules) -> AuthorizationServer:
    """What metadata says, if every address in it may be used. Raises a fault."""
    if _S256 not in (found.code_challenge_methods_supported or ()):
        raise metadata_invalid(
            "the authorization server does not say that it checks PKCE with S256",
            hint="without that a login could be stolen on its way; ask its operator to offer it",
        )
    if not found.authorization_endpoint or not found.token_endpoint:
        raise metadata_invalid("the authorization server names no place to log in")

    def checked(url: str | None, what: str) -> str:
        return checked_url(url, f"the {what} endpoint", rules) if url else ""

    return AuthorizationServer(
        issuer=found.issuer,
        authorization_url=checked(found.authorization_endpoint, "authorization"),
        token_url=checked(found.token_endpoint, "token"),
        registration_url=checked(found.registration_endpoint, "registration"),
        revocation_url=checked(found.revocation_endpoint, "revocation"),
        device_url=checked(found.device_authorization_endpoint, "device authorization"),
        auth_methods=None
        if found.token_endpoint_auth_methods_supported is None
        else tuple(found.token_endpoint_auth_methods_supported),
        scopes=tuple(found.scopes_supported or ()),
        names_itself=bool(found.authorization_response_iss_parameter_supported),
        takes_metadata_documents=bool(found.client_id_metadata_document_supported),
    )
