"""Who we are to an authorization server: registered by hand, by a document, or just now."""

import base64
from urllib.parse import quote

import msgspec
from msgspec import Struct

from switchboard.oauth.faults import login_refused, metadata_invalid, named_error
from switchboard.oauth.http.guarded_web import GuardedWeb
from switchboard.oauth.metadata import AUTH_METHODS, AuthMethod, AuthorizationServer
from switchboard.oauth.urls import origin_of

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_CREATED = (200, 201)
_WHAT = "the registration endpoint"


class ClientRegistration(Struct, frozen=True, kw_only=True):
    """Where a client that we registered can be taken back, and what proves that it is ours."""

    url: str
    token: str

    def __repr__(self) -> str:
        # As that of a grant.
        return f"ClientRegistration({self.url})"


class ClientIdentity(Struct, frozen=True, kw_only=True):
    """A client, and how it proves to be it."""

    client_id: str
    secret: str = ""
    method: AuthMethod = "none"
    # Of one that was registered just now, where its server lets us take it back.
    registration: ClientRegistration | None = None

    def __repr__(self) -> str:
        # As that of a grant.
        return f"ClientIdentity({self.client_id})"

    def prove(self, form: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """The form and the headers of a request in its name."""
        if self.method == "client_secret_basic":
            # Each half is encoded as in a form before the two are joined, by RFC 6749.
            pair = f"{quote(self.client_id, safe='')}:{quote(self.secret, safe='')}"
            encoded = base64.b64encode(pair.encode()).decode("ascii")
            return form, {"authorization": f"Basic {encoded}"}
        if self.method == "client_secret_post":
            return {**form, "client_id": self.client_id, "client_secret": self.secret}, {}
        return {**form, "client_id": self.client_id}, {}


class _Registered(Struct):
    client_id: str
    client_secret: str | None = None
    token_endpoint_auth_method: str | None = None
    registration_client_uri: str | None = None
    registration_access_token: str | None = None


class _Refused(Struct):
    error: str = ""


def configured_client(client_id: str, secret: str, server: AuthorizationServer) -> ClientIdentity:
    """The client that the configuration names."""
    return ClientIdentity(
        client_id=client_id, secret=secret, method=_method(server, has_secret=bool(secret))
    )


def _method(server: AuthorizationServer, *, has_secret: bool) -> AuthMethod:
    if not has_secret:
        return "none"
    offered = server.auth_methods
    # By RFC 8414 a server that does not say takes this one.
    if offered is None or "client_secret_basic" in offered:
        return "client_secret_basic"
    if "client_secret_post" in offered:
        return "client_secret_post"
    raise metadata_invalid("the authorization server takes a client secret in no way that we know")


async def introduced_client(
    server: AuthorizationServer,
    web: GuardedWeb,
    *,
    redirect_uri: str,
    scopes: tuple[str, ...],
    document_url: str = "",
    with_device: bool = False,
) -> ClientIdentity:
    """The client that we are where nobody has registered one by hand. Raises a fault."""
    # By a document we are the same client everywhere. A server could send its user to another one,
    # where this client was let in before, and be handed the code: only `iss` tells them apart.
    if server.takes_metadata_documents and document_url and server.names_itself:
        return ClientIdentity(client_id=document_url)
    if not server.registration_url:
        raise metadata_invalid(
            "the authorization server registers no clients by itself",
            hint="register one there by hand, and name it with `auth.client_id`",
        )
    wanted = _wanted(server, redirect_uri, scopes, with_device=with_device)
    answer = await web.post_json(server.registration_url, _WHAT, msgspec.json.encode(wanted))
    if answer.status not in _CREATED:
        raise login_refused(f"{_WHAT} answered with {named_error(error_in(answer.body))}")
    try:
        made = msgspec.json.decode(answer.body, type=_Registered)
    except (msgspec.MsgspecError, RecursionError):
        raise metadata_invalid(f"{_WHAT} answered with something that is no client") from None
    secret = made.client_secret or ""
    method = _registered_method(made, server)
    if not made.client_id.isprintable() or not secret.isprintable():
        raise metadata_invalid(f"{_WHAT} answered with something that is no client")
    return ClientIdentity(
        client_id=made.client_id,
        secret="" if method == "none" else secret,
        method=method,
        registration=_registration(made, server),
    )


def _registration(made: _Registered, server: AuthorizationServer) -> ClientRegistration | None:
    url, token = made.registration_client_uri or "", made.registration_access_token or ""
    if not token or not (token.isascii() and token.isprintable()):
        return None
    # The token is for where it came from, and for nowhere else.
    if not url or origin_of(url) != origin_of(server.registration_url):
        return None
    return ClientRegistration(url=url, token=token)


def _registered_method(made: _Registered, server: AuthorizationServer) -> AuthMethod:
    """How a client proves who it is that was registered just now."""
    for method in AUTH_METHODS:
        if made.token_endpoint_auth_method == method and (made.client_secret or method == "none"):
            return method
    # Some hand a secret out and take none.
    takes_secrets = server.auth_methods is None or set(server.auth_methods) & {*AUTH_METHODS[1:]}
    return _method(server, has_secret=bool(made.client_secret and takes_secrets))


def _wanted(
    server: AuthorizationServer, redirect_uri: str, scopes: tuple[str, ...], *, with_device: bool
) -> dict[str, object]:
    offered = server.auth_methods or ("client_secret_basic",)
    # Nothing that is kept on this machine is a secret that identifies a program.
    method = next((each for each in AUTH_METHODS if each in offered), "none")
    grants = ["authorization_code", "refresh_token", *([DEVICE_GRANT] if with_device else [])]
    return {
        "client_name": "Switchboard",
        "application_type": "native",
        "redirect_uris": [redirect_uri],
        "grant_types": grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        **({"scope": " ".join(scopes)} if scopes else {}),
    }


def error_in(body: bytes) -> str:
    """The error code in an answer, if there is one."""
    try:
        return msgspec.json.decode(body, type=_Refused).error
    except (msgspec.MsgspecError, RecursionError):
        return ""
